#pragma once
// Variable 0 of the mixed work and those behind the groups, which are averages, and variable 1, on which all others of
// stages of kinds 0 to 3 wait: one cell, or a column where there is none to wait; all look at old values only. Included
// by mixed_cuda.cu only.
#include "kernels/mixed/mixed_cell.hpp"
#include "kernels/mixed/mixed_view.cuh"

namespace amrbench::kernels::detail {

/// Variable 1 of a cell, whose new variable 0 is `first`; own: its old values.
__device__ inline double second_variable(const MixedParameters& p, const BlockView& block, const double* own,
                                         double first) {
  constexpr int kAtOnce = 4;  // asked for before any is waited for
  const double a1 = p.constants[0];
  const bool is_own = p.kind == 0 && p.m == 1;  // of one group only, variable 1 is the one that is added, too
  const double* const summed = own + block.offset(p.kind == 0 ? p.m : 2);
  double u = __ldg(own + block.offset(1));
  for (int from = 0; from < p.m; from += kAtOnce) {
    double added[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) added[j] = from + j < p.m ? __ldg(summed + block.offset(from + j)) : 0.0;
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      if (from + j < p.m) u = u + (is_own ? u : added[j]) * first;
  }
  if (p.kind != 0) u = u / (a1 + u);
  return Range{a1, p.constants[1]}(u);
}

/// The new variables 0 (x) and 1 (y) of a cell of the block, in stages of kinds 0 to 3 with groups. They and those
/// behind the groups are written.
__device__ inline double2 first_variables(const MixedParameters& p, const BlockView& block, int x, int y, int z) {
  constexpr int kSides = 6;
  const int behind = kGroups * p.m, averages = 1 + p.layout.variables - behind;
  const double* const own = block.old(0, x, y, z);
  double* const to = block.fresh(0, x, y, z);
  const Around beside[kSides] = {block.column<2>(x - 1, y, z), block.column<2>(x, y - 1, z),
                                 block.column<2>(x, y, z - 1), block.column<2>(x, y, z + 1),
                                 block.column<2>(x, y + 1, z), block.column<2>(x + 1, y, z)};
  double2 values{0.0, 0.0};
#pragma unroll 1
  for (int k = 0; k < averages; ++k) {
    const int v = k == 0 ? 0 : behind + k - 1, offset = block.offset(v);
    double side[kSides];
#pragma unroll
    for (int s = 0; s < kSides; ++s) side[s] = __ldg(beside[s].at + v * beside[s].chunk);
    const double value = average7<double>(side[0], side[1], side[2], __ldg(own + offset), side[3], side[4], side[5]);
    to[offset] = value;
    if (k == 0) values.x = value;
  }
  values.y = second_variable(p, block, own, values.x);
  to[block.offset(1)] = values.y;
  return values;
}

/// The new values of a column of cells along z of a variable that is an average.
__device__ inline void average_column(const BlockView& block, int variable, int x, int y) {
  constexpr int kSides = 4;
  const int n = block.cells(2), step = block.step<2>();
  const int dx[kSides] = {-1, 0, 0, 1}, dy[kSides] = {0, -1, 1, 0};
  const double* side[kSides];
  int beside[kSides];
#pragma unroll
  for (int s = 0; s < kSides; ++s) {
    side[s] = block.old(variable, x + dx[s], y + dy[s], 0);
    beside[s] = block.plane_step(x + dx[s], y + dy[s]);
  }
  const double *const own = block.old(variable, x, y, 0), *const above = block.old(variable, x, y, n);
  const int plane = block.plane_step(x, y);
  double* to = block.fresh(variable, x, y, 0);
  double before = __ldg(block.old(variable, x, y, -1)), here = __ldg(own);
#pragma unroll 2
  for (int z = 0; z < n; ++z, to += step) {
    const double behind = __ldg(z + 1 < n ? own + (z + 1) * plane : above);
    double beside_here[kSides];
#pragma unroll
    for (int s = 0; s < kSides; ++s) beside_here[s] = __ldg(side[s] + z * beside[s]);
    *to = average7<double>(beside_here[0], beside_here[1], before, here, behind, beside_here[2], beside_here[3]);
    before = here, here = behind;
    if (z + 1 + kCellsAhead < n) support::prefetch_value(own + (z + 1 + kCellsAhead) * plane);
  }
}

}  // namespace amrbench::kernels::detail
