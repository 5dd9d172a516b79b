#pragma once
// Stages of kinds 0 to 3 of the mixed work: how the groups of one place walk along a column of cells. Included by
// mixed_cuda.cu only.
#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_view.cuh"

namespace amrbench::kernels::detail {

/// The columns of cells of a thread block along Axis, and its places in the groups. Places are beside one another in
/// memory, so they go first.
template <int Axis>
struct Columns {
  int na, nb, places, first_place, columns, first_column;  ///< cells across, `na` of them along the first axis

  __device__ Columns(const MixedParameters& p, const BlockView& block)
      : na(block.cells(Axis == 0 ? 1 : 0)), nb(block.cells(Axis == 2 ? 1 : 2)), places(p.places), columns(p.columns) {
    const int part = static_cast<int>(blockIdx.x) % p.parts, parts = (p.m + places - 1) / places;
    first_place = part % parts * places;
    first_column = part / parts * columns;
  }
  [[nodiscard]] __device__ int x(int column) const { return Axis == 0 ? 0 : column % na; }
  [[nodiscard]] __device__ int y(int column) const { return Axis == 1 ? 0 : Axis == 0 ? column % na : column / na; }
  [[nodiscard]] __device__ int z(int column) const { return Axis == 2 ? 0 : column / na; }
};

/// Kind 0 in a column: cells and places do not depend on one another.
class Reaction {
 public:
  __device__ Reaction(const MixedParameters& p, const BlockView& block, int place, int x, int y, int z)
      : a1_(p.constants[0]),
        a0_first_(p.constants[1]),
        a0_(p.constants[1 + place]),
        has_first_(place > 1),
        is_second_(p.m + place == 1),
        step_(block.step<2>()),
        column_(block, p.m, place, x, y, z),
        cells_(block.cells(2)),
        from_(column_.old),
        to_(column_.fresh) {
    load();
  }

  /// What the next cell needs is asked for a cell ahead.
  __device__ void next(double p0, double p1) {
    const double u0 = u_[0], u1 = u_[1], u2 = u_[2], u3 = u_[3];
    from_ += step_;
    if (--cells_ > 0) load();
    if (has_first_) to_[column_.group[0]] = ranged(reaction0(u0, p0, p1, a1_));
    const double v1 = is_second_ ? p1 : ranged(reaction1(u1, p0, p1, u2, u3, a1_));
    const double v2 = ranged(reaction2(u2, p0, p1, v1, u3, a1_, a0_));
    const double v3 = ranged(reaction3(u3, p0, p1, v1, v2, a1_, a0_));
    to_[column_.group[1]] = v1;
    to_[column_.group[2]] = v2;
    to_[column_.group[3]] = v3;
    to_ += step_;
  }
  __device__ void finish() {}

 private:
  __device__ void load() {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) u_[g] = __ldg(from_ + column_.group[g]);
  }
  [[nodiscard]] __device__ double ranged(double value) const {
    return Range{a1_, a0_first_}(value);
  }
  double a1_, a0_first_, a0_;
  bool has_first_, is_second_;
  int step_;
  OwnColumn column_;
  int cells_;  ///< left
  const double* from_;
  double* to_;
  double u_[kGroups];
};

/// Kinds 1 to 3 in a column along the axis of transport. Groups 2 and 3 look at the new values of group 1 before and
/// behind a cell, so they follow a cell later. What the next cell needs is asked for a cell ahead.
template <int Axis>
class Transport {
 public:
  __device__ Transport(const MixedParameters& p, const BlockView& block, int place, int x, int y, int z)
      : a1_(p.constants[0]),
        a0_first_(p.constants[1]),
        a0_(p.constants[1 + place]),
        has_first_(place > 1),
        is_second_(p.m + place == 1),
        cells_(block.cells(Axis)),
        step_(block.step<Axis>()),
        column_(block, p.m, place, x, y, z),
        from_(column_.old),
        to_(column_.fresh) {
    const auto outside = [&](int group, int c) {
      const Place v = block.place(group * p.m + place);
      return *block.old(v, Axis == 0 ? c : x, Axis == 1 ? c : y, Axis == 2 ? c : z);
    };
#pragma unroll
    for (int g = 1; g < kGroups; ++g) {
      behind_last_[g] = outside(g, cells_);
      u_[g] = {outside(g, -1), 0.0, from_[column_.group[g]]};
    }
    driver_ = {0.0, 0.0, u_[1].before};
    cell_ = load();
    behind2_ = u_[2].behind;
    behind3_ = u_[3].behind;
  }

  __device__ void next(double p0, double p1) {
    const Cell cell = cell_;
    double* const here = to_;
    from_ += step_;
    to_ += step_;
    ++c_;
    if (c_ < cells_) cell_ = load();
    driver_.before = driver_.here;
    driver_.here = driver_.behind;
    if (has_first_) here[column_.group[0]] = ranged(transport0(cell.u0, p0, p1, a1_, a0_));
    u_[1].here = u_[1].behind;
    u_[1].behind = cell.behind[1];
    const double value = limited(u_[1], u_[1], p1) / weight1(u_[1], a1_ + a0_, p0, p1);
    driver_.behind = is_second_ ? p1 : ranged(value);
    here[column_.group[1]] = driver_.behind;
    u_[1].before = value;
    if (c_ > 1) follow(here - step_);
    behind2_ = cell.behind[2];
    behind3_ = cell.behind[3];
    p1_before_ = p1;
  }
  __device__ void finish() {
    driver_.before = driver_.here;
    driver_.here = driver_.behind;
    driver_.behind = behind_last_[1];
    follow(to_ - step_);
  }

 private:
  /// Of a cell: group 0, and of the others the value behind it.
  struct Cell {
    double u0, behind[kGroups];
  };
  [[nodiscard]] __device__ Cell load() const {
    Cell cell;
    cell.u0 = __ldg(from_ + column_.group[0]);
#pragma unroll
    for (int g = 1; g < kGroups; ++g)
      cell.behind[g] = c_ + 1 < cells_ ? __ldg(from_ + column_.group[g] + step_) : behind_last_[g];
    return cell;
  }
  /// Groups 2 and 3 of the cell before.
  __device__ void follow(double* at) {
    const double weight = a1_ + a0_;
    u_[2].here = u_[2].behind;
    u_[2].behind = behind2_;
    u_[3].here = u_[3].behind;
    u_[3].behind = behind3_;
    const double v2 = limited(u_[2], driver_, p1_before_) / weight23(u_[2], weight, driver_.here, u_[3].here);
    const double ranged2 = ranged(v2);
    const double v3 = limited(u_[3], driver_, p1_before_) / weight23(u_[3], weight, ranged2, driver_.here);
    u_[2].before = v2;
    u_[3].before = v3;
    at[column_.group[2]] = ranged2;
    at[column_.group[3]] = ranged(v3);
  }
  [[nodiscard]] __device__ double ranged(double value) const {
    return Range{a1_, a0_first_}(value);
  }

  double a1_, a0_first_, a0_;
  bool has_first_, is_second_;
  int cells_, step_, c_ = 0;
  OwnColumn column_;
  const double* from_;
  double* to_;
  double behind_last_[kGroups];
  Triple u_[kGroups], driver_;
  Cell cell_;
  double p1_before_ = 0.0, behind2_, behind3_;  ///< of groups 2 and 3, a cell late
};

}  // namespace amrbench::kernels::detail
