#pragma once
// Stages of kinds 0 to 3 of the mixed work: how the groups of one place walk along a column of cells. Included by
// mixed_cuda.cu only.
#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_view.cuh"

namespace amrbench::kernels::detail {

/// Kind 0 in a column: cells and places do not depend on one another.
class Reaction {
 public:
  __device__ Reaction(const MixedParameters& p, const BlockView& block, int place, const OwnColumn& column, int, int,
                      int)
      : a1_(p.constants[0]),
        a0_first_(p.constants[1]),
        a0_(p.constants[1 + place]),
        has_first_(place > 1),
        is_second_(p.m + place == 1),
        column_(column),
        cells_(block.cells(2)),
        ahead_(p.cells_ahead) {
    load();
  }

  /// What the next cell needs is asked for a cell ahead.
  __device__ void next(double p0, double p1) {
    const double u0 = u_[0], u1 = u_[1], u2 = u_[2], u3 = u_[3];
    column_.old += column_.cell;
    if (--cells_ > 0) load();
    double* const to = column_.fresh;
    if (has_first_) to[0] = ranged(reaction0(u0, p0, p1, a1_));
    const double v1 = is_second_ ? p1 : ranged(reaction1(u1, p0, p1, u2, u3, a1_));
    const double v2 = ranged(reaction2(u2, p0, p1, v1, u3, a1_, a0_));
    const double v3 = ranged(reaction3(u3, p0, p1, v1, v2, a1_, a0_));
    to[column_.group] = v1;
    to[2 * column_.group] = v2;
    to[3 * column_.group] = v3;
    column_.fresh += column_.cell;
  }
  __device__ void finish() {}

 private:
  __device__ void load() {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const double* const at = column_.old + g * column_.group;
      u_[g] = __ldg(at);
      if (cells_ > ahead_) support::prefetch_value(at + ahead_ * column_.cell);
    }
  }
  [[nodiscard]] __device__ double ranged(double value) const {
    return Range{a1_, a0_first_}(value);
  }
  double a1_, a0_first_, a0_;
  bool has_first_, is_second_;
  OwnColumn column_;  ///< from the next cell on
  int cells_;         ///< left
  int ahead_;         ///< MixedParameters::cells_ahead
  double u_[kGroups];
};

/// Kinds 1 to 3 in a column along the axis of transport. Groups 2 and 3 look at the new values of group 1 before and
/// behind a cell, so they follow a cell later. What the next cell needs is asked for a cell ahead. Rows (Axis 0) are in
/// shared memory, where new values take the place of old ones, and do without group 0.
template <int Axis>
class Transport {
 public:
  __device__ Transport(const MixedParameters& p, const BlockView& block, int place, const OwnColumn& column, int x,
                       int y, int z)
      : a1_(p.constants[0]),
        a0_first_(p.constants[1]),
        a0_(p.constants[1 + place]),
        has_first_(place > 1),
        is_second_(p.m + place == 1),
        cells_(block.cells(Axis)),
        ahead_(p.cells_ahead),
        column_(column) {
    const auto outside = [&](int group, int c) {
      return *block.old(group * p.m + place, Axis == 0 ? c : x, Axis == 1 ? c : y, Axis == 2 ? c : z);
    };
#pragma unroll
    for (int g = 1; g < kGroups; ++g) {
      behind_last_[g] = outside(g, cells_);
      u_[g] = {outside(g, -1), 0.0, column_.old[g * column_.group]};
    }
    driver_ = {0.0, 0.0, u_[1].before};
    cell_ = load();
    behind2_ = u_[2].behind;
    behind3_ = u_[3].behind;
  }

  __device__ void next(double p0, double p1) {
    const Cell cell = cell_;
    double* const here = column_.fresh;
    column_.old += column_.cell;
    column_.fresh += column_.cell;
    ++c_;
    if (c_ < cells_) cell_ = load();
    driver_.before = driver_.here;
    driver_.here = driver_.behind;
    if (Axis != 0 && has_first_) here[0] = ranged(transport0(cell.u0, p0, p1, a1_, a0_));
    u_[1].here = u_[1].behind;
    u_[1].behind = cell.behind[1];
    const double value = limited(u_[1], u_[1], p1) / weight1(u_[1], a1_ + a0_, p0, p1);
    driver_.behind = is_second_ ? p1 : ranged(value);
    here[column_.group] = driver_.behind;
    u_[1].before = value;
    if (c_ > 1) follow(here - column_.cell);
    behind2_ = cell.behind[2];
    behind3_ = cell.behind[3];
    p1_before_ = p1;
  }
  __device__ void finish() {
    driver_.before = driver_.here;
    driver_.here = driver_.behind;
    driver_.behind = behind_last_[1];
    follow(column_.fresh - column_.cell);
  }

 private:
  /// Of a cell: group 0, and of the others the value behind it.
  struct Cell {
    double u0 = 0.0, behind[kGroups];
  };
  [[nodiscard]] __device__ static double value(const double* at) {
    if constexpr (Axis == 0) return *at;
    return __ldg(at);
  }
  [[nodiscard]] __device__ Cell load() const {
    Cell cell;
    if constexpr (Axis != 0) cell.u0 = value(column_.old);
#pragma unroll
    for (int g = 1; g < kGroups; ++g)
      cell.behind[g] = c_ + 1 < cells_ ? value(column_.old + g * column_.group + column_.cell) : behind_last_[g];
    if (Axis != 0 && c_ + 1 + ahead_ < cells_)
#pragma unroll
      for (int g = 0; g < kGroups; ++g)
        support::prefetch_value(column_.old + g * column_.group + (1 + ahead_) * column_.cell);
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
    at[2 * column_.group] = ranged2;
    at[3 * column_.group] = ranged(v3);
  }
  [[nodiscard]] __device__ double ranged(double value) const {
    return Range{a1_, a0_first_}(value);
  }

  double a1_, a0_first_, a0_;
  bool has_first_, is_second_;
  int cells_, ahead_, c_ = 0;
  OwnColumn column_;  ///< from the next cell on
  double behind_last_[kGroups];
  Triple u_[kGroups], driver_;
  Cell cell_;
  double p1_before_ = 0.0, behind2_, behind3_;  ///< of groups 2 and 3, a cell late
};

}  // namespace amrbench::kernels::detail
