#include "workloads/slope_transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace amrbench::workloads {

namespace {

/// Calls take(cell) for all cells of half a block each way, in 2-D of one layer.
template <class Take>
void for_octant(const kernels::BlockLayout& l, Take&& take) {
  for (int z = 0; z < std::max(1, l.cells[2] / 2); ++z)
    for (int y = 0; y < l.cells[1] / 2; ++y)
      for (int x = 0; x < l.cells[0] / 2; ++x) take(std::array{x, y, z});
}

/// The cell of the parent that cell `cell` of half a block is in its octant.
template <int Dim>
std::array<int, 3> in_parent(const kernels::BlockLayout& l, std::array<int, 3> cell, int octant) {
  for (std::size_t d = 0; d < Dim; ++d) cell[d] += (octant >> d & 1) * (l.cells[d] / 2);
  return cell;
}

/// The k-th of the fine cells in a coarse one.
template <int Dim>
std::array<int, 3> fine_cell(std::array<int, 3> cell, int k) {
  for (std::size_t d = 0; d < Dim; ++d) cell[d] = 2 * cell[d] + (k >> d & 1);
  return cell;
}

std::size_t offset_of(const kernels::BlockLayout& l, int v, const std::array<int, 3>& cell) {
  return l.offset(v, cell[0], cell[1], cell[2]);
}

/// What a child differs by from its parent along one axis: a quarter of the slope. `dims` of them together stay within
/// the smaller difference.
double quarter_of_slope(double before, double here, double after, int dims) {
  const double a = here - before, b = after - here;
  if (!(a * b > 0.0)) return 0.0;
  const double most = std::min(std::abs(a), std::abs(b)) / dims;
  return std::clamp(0.125 * (a + b), -most, most);
}

}  // namespace

template <int Dim>
void SlopeTransfer<Dim>::merge(const kernels::BlockLayout& layout, std::span<const double* const> children,
                               double* parent) const {
  constexpr int kFamily = 1 << Dim;
  std::vector<double> whole(layout.block_values(), 0.0);  // the parent may lie where child 0 does
  for (int octant = 0; octant < kFamily; ++octant) {
    const double* const child = children[std::size_t(octant)];
    for (int v = 0; v < layout.variables; ++v) {
      for_octant(layout, [&](const std::array<int, 3>& cell) {
        std::array<double, kFamily> q{};
        for (int k = 0; k < kFamily; ++k) q[std::size_t(k)] = child[offset_of(layout, v, fine_cell<Dim>(cell, k))];
        for (std::size_t n = kFamily / 2; n > 0; n /= 2)  // by pairs along x, then y, then z
          for (std::size_t k = 0; k < n; ++k) q[k] = q[2 * k] + q[2 * k + 1];
        whole[offset_of(layout, v, in_parent<Dim>(layout, cell, octant))] = q[0] * (1.0 / kFamily);
      });
    }
  }
  std::copy(whole.begin(), whole.end(), parent);
}

template <int Dim>
void SlopeTransfer<Dim>::split(const kernels::BlockLayout& layout, const double* parent, int octant,
                               double* child) const {
  std::vector<double> whole(layout.block_values(), 0.0);  // the child may lie where its parent does
  const std::array<std::size_t, 3> step{std::size_t(layout.lanes), layout.row_values(), layout.plane_values()};
  for (int v = 0; v < layout.variables; ++v) {
    for_octant(layout, [&](const std::array<int, 3>& cell) {
      const std::array<int, 3> place = in_parent<Dim>(layout, cell, octant);
      const double* const at = parent + offset_of(layout, v, place);
      std::array<double, Dim> slope{};
      for (std::size_t d = 0; d < Dim; ++d)
        if (place[d] > 0 && place[d] < layout.cells[d] - 1)
          slope[d] = quarter_of_slope(*(at - step[d]), *at, *(at + step[d]), Dim);
      for (int k = 0; k < (1 << Dim); ++k) {
        double q = *at;
        for (std::size_t d = 0; d < Dim; ++d) q += k >> d & 1 ? slope[d] : -slope[d];
        whole[offset_of(layout, v, fine_cell<Dim>(cell, k))] = q;
      }
    });
  }
  std::copy(whole.begin(), whole.end(), child);
}

template class SlopeTransfer<2>;
template class SlopeTransfer<3>;

}  // namespace amrbench::workloads
