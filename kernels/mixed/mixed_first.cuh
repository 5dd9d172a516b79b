#pragma once
// Variable 0 of the mixed work and those behind the groups, which are averages, and variable 1, on which all others of
// stages of kinds 0 to 3 wait: one column of cells, a cell after the other. Included by mixed_cuda.cu only.
#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_view.cuh"

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

  /// The new values of the next cell; in stages of kinds 4 and 5 the second means nothing. All that a cell needs is
  /// asked for before any of it is waited for.
  __device__ Values next() {
    const bool has_second = p_.kind < 4 && p_.m > 0;
    double side[kMost][kSides], after[kMost];
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (k >= averages_) continue;
      const Place v = place(k);
      after[k] = cell_ + 1 < cells_ ? __ldg(own_ + step_ + block_.offset(v)) : outside(k, cells_);
#pragma unroll
      for (int s = 0; s < kSides; ++s)
        side[k][s] = __ldg(beside_[s].at + v.chunk * beside_[s].chunk + v.lane + cell_ * beside_[s].row);
    }
    Added added;
    double u = 0.0;
    if (has_second) {
      u = __ldg(own_ + block_.offset(block_.place(1)));
      added = load_added(0);
    }
    Values values{0.0, 0.0};
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      if (k >= averages_) continue;
      const double* const s = side[k];
      const double value = Axis == 0   ? average7<double>(before_[k], s[0], s[2], centre_[k], s[3], s[1], after[k])
                           : Axis == 1 ? average7<double>(s[0], before_[k], s[2], centre_[k], s[3], after[k], s[1])
                                       : average7<double>(s[0], s[2], before_[k], centre_[k], after[k], s[3], s[1]);
      before_[k] = centre_[k];
      centre_[k] = after[k];
      to_[block_.offset(place(k))] = value;
      if (k == 0) values.first = value;
    }
    for (int v = p_.layout.variables; v < p_.layout.chunks * p_.layout.lanes; ++v)
      to_[block_.offset(block_.place(v))] = 0.0;
    if (has_second) values.second = second(u, added, values.first);
    own_ += step_;
    to_ += step_;
    ++cell_;
    return values;
  }

 private:
  static constexpr int kSides = 4, kMost = 4, kAtOnce = 4;

  [[nodiscard]] __device__ int behind_groups(int k) const {
    return max(1, kGroups * p_.m) + k;
  }
  /// Of average k.
  [[nodiscard]] __device__ Place place(int k) const {
    return block_.place(k == 0 ? 0 : behind_groups(k - 1));
  }
  /// The value of average k in the cell before (-1) or behind (n) the column.
  [[nodiscard]] __device__ double outside(int k, int c) const {
    return __ldg(block_.old(place(k), Axis == 0 ? c : x_, Axis == 1 ? c : y_, Axis == 2 ? c : z_));
  }
  /// Some of the variables that variable 1 adds up.
  struct Added {
    double values[kAtOnce];
  };
  [[nodiscard]] __device__ Added load_added(int from) const {
    Added added;
    Place q = block_.place((p_.kind == 0 ? p_.m : 2) + from);
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      added.values[j] = from + j < p_.m ? __ldg(own_ + block_.offset(q)) : 0.0;
      if (++q.lane == p_.layout.lanes) q = {q.chunk + 1, 0};
    }
    return added;
  }
  [[nodiscard]] __device__ double second(double u, Added added, double first) const {
    const double a1 = p_.constants[0];
    const bool is_own = p_.kind == 0 && p_.m == 1;  // of one group only, variable 1 is the one that is added, too
    for (int from = 0; from < p_.m; from += kAtOnce) {
      if (from > 0) added = load_added(from);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        if (from + j < p_.m) u = u + (is_own ? u : added.values[j]) * first;
    }
    if (p_.kind != 0) u = u / (a1 + u);
    const double value = in_range(u, a1, p_.constants[1]);
    to_[block_.offset(block_.place(1))] = value;
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
