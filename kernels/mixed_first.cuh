#pragma once
// Variable 0 of the mixed work and those behind the groups, which are averages, and variable 1, on which all others of
// stages of kinds 0 to 3 wait: one column of cells, a cell after the other. Included by mixed_cuda.cu only.
#include "kernels/mixed_cell.hpp"
#include "kernels/mixed_view.cuh"

namespace amrbench::kernels::detail {

/// Columns lie along Axis, from the cell (x, y, z) on, which is in the block.
template <int Axis>
class FirstVariables {
 public:
  struct Values {
    double first, second;
  };

  __device__ FirstVariables(const MixedParameters& p, const BlockView& block, int x, int y, int z)
      : p_(p),
        block_(block),
        x_(x),
        y_(y),
        z_(z),
        cells_(block.cells(Axis)),
        step_(block.step<Axis>()),
        averages_(1 + p.layout.variables - behind_groups(0)),
        own_(block.old({0, 0}, x, y, z)),
        to_(block.fresh({0, 0}, x, y, z)) {
    constexpr int kFirst = Axis == 0 ? 1 : 0, kSecond = Axis == 2 ? 1 : 2;  // the axes across
#pragma unroll
    for (int k = 0; k < kSides; ++k) {
      const int axis = k < 2 ? kFirst : kSecond, by = k % 2 == 0 ? -1 : 1;
      beside_[k] = block.column<Axis>(x + (axis == 0 ? by : 0), y + (axis == 1 ? by : 0), z + (axis == 2 ? by : 0));
    }
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (k >= averages_) continue;
      before_[k] = outside(k, -1);
      centre_[k] = own_[block.offset(place(k))];
    }
  }

  /// The new values of the next cell; in stages of kinds 4 and 5 the second means nothing.
  __device__ Values next() {
    Values values{0.0, 0.0};
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (k >= averages_) continue;
      const Place v = place(k);
      const int at = block_.offset(v);
      const double after = cell_ + 1 < cells_ ? own_[step_ + at] : outside(k, cells_);
      double side[kSides];
#pragma unroll
      for (int s = 0; s < kSides; ++s)
        side[s] = beside_[s].at[v.chunk * beside_[s].chunk + v.lane + cell_ * beside_[s].row];
      const double value =
          Axis == 0   ? average7<double>(before_[k], side[0], side[2], centre_[k], side[3], side[1], after)
          : Axis == 1 ? average7<double>(side[0], before_[k], side[2], centre_[k], side[3], after, side[1])
                      : average7<double>(side[0], side[2], before_[k], centre_[k], after, side[3], side[1]);
      before_[k] = centre_[k];
      centre_[k] = after;
      to_[at] = value;
      if (k == 0) values.first = value;
    }
    for (int v = p_.layout.variables; v < p_.layout.chunks * p_.layout.lanes; ++v)
      to_[block_.offset(block_.place(v))] = 0.0;
    if (p_.kind < 4 && p_.m > 0) values.second = second(values.first);
    own_ += step_;
    to_ += step_;
    ++cell_;
    return values;
  }

 private:
  static constexpr int kSides = 4, kMost = 4;

  [[nodiscard]] __device__ int behind_groups(int k) const {
    return max(1, kGroups * p_.m) + k;
  }
  /// Of average k.
  [[nodiscard]] __device__ Place place(int k) const {
    return block_.place(k == 0 ? 0 : behind_groups(k - 1));
  }
  /// The value of average k in the cell before (-1) or behind (n) the column.
  [[nodiscard]] __device__ double outside(int k, int c) const {
    return *block_.old(place(k), Axis == 0 ? c : x_, Axis == 1 ? c : y_, Axis == 2 ? c : z_);
  }
  [[nodiscard]] __device__ double second(double first) const {
    const double a1 = p_.constants[0];
    const int at = block_.offset(block_.place(1));
    double u = own_[at];
    Place q = block_.place(p_.kind == 0 ? p_.m : 2);
    for (int left = p_.m; left > 0; --left) {
      // Of one group only, variable 1 is the one that is added, too.
      u = u + (q.chunk * p_.layout.lanes + q.lane == 1 ? u : own_[block_.offset(q)]) * first;
      if (++q.lane == p_.layout.lanes) q = {q.chunk + 1, 0};
    }
    if (p_.kind != 0) u = u / (a1 + u);
    const double value = in_range(u, a1, p_.constants[1]);
    to_[at] = value;
    return value;
  }

  const MixedParameters& p_;
  const BlockView& block_;
  int x_, y_, z_, cells_, step_, averages_, cell_ = 0;
  const double* own_;
  double* to_;
  Around beside_[kSides];  ///< row: the step along the column
  double before_[kMost], centre_[kMost];
};

}  // namespace amrbench::kernels::detail
