#include "amr/plotfile/grid.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace amrbench::amr::plotfile {

using kernels::BlockLayout;

namespace {

std::size_t octant_corner(const BlockLayout& l, int octant) {
  const std::size_t row = l.cells[0], plane = row * l.cells[1];
  return (octant & 1 ? row / 2 : 0) + (octant & 2 ? plane / 2 : 0) + (octant & 4 ? plane * (l.cells[2] / 2) : 0);
}

/// Calls f(offset, count) for every row of an octant of a grid, in order.
template <class F>
void for_octant_rows(const BlockLayout& l, int octant, F f) {
  const std::size_t row = l.cells[0], plane = row * l.cells[1], corner = octant_corner(l, octant);
  for (int v = 0; v < l.variables; ++v) {
    for (int z = 0; z < (l.cells[2] + 1) / 2; ++z) {
      for (int y = 0; y < l.cells[1] / 2; ++y) f(v * l.block_cells() + corner + z * plane + y * row, row / 2);
    }
  }
}

}  // namespace

void pack_block(const BlockLayout& l, const double* block, double* out) {
  const std::size_t cells = l.block_cells();
  for (int v = 0; v < l.variables; ++v) {
    const double* from = block + l.offset(v, 0, 0, 0);
    double* to = out + v * cells;
    for (std::size_t cell = 0; cell < cells; ++cell) to[cell] = from[cell * l.lanes];
  }
}

void restrict_grid(const BlockLayout& l, const double* child, int octant, bool sums, double* parent) {
  const std::size_t row = l.cells[0], plane = row * l.cells[1], corner = octant_corner(l, octant);
  const int layers = l.dims() == 3 ? l.cells[2] / 2 : 1;
  const double factor = sums ? 1.0 : l.dims() == 3 ? 0.125 : 0.25;
  for (int v = 0; v < l.variables; ++v) {
    const double* from = child + v * l.block_cells();
    double* to = parent + v * l.block_cells() + corner;
    for (int z = 0; z < layers; ++z) {
      for (int y = 0; y < l.cells[1] / 2; ++y) {
        const double* c = from + 2 * z * plane + 2 * y * row;
        double* out = to + z * plane + y * row;
        for (int x = 0; x < l.cells[0] / 2; ++x, c += 2) {
          // By pairs, as kernels::merge_blocks adds.
          const double* top = c + plane;
          const double low = (c[0] + c[1]) + (c[row] + c[row + 1]);
          const double high = l.dims() == 3 ? (top[0] + top[1]) + (top[row] + top[row + 1]) : 0.0;
          out[x] = (low + high) * factor;
        }
      }
    }
  }
}

void take_octant(const BlockLayout& l, const double* grid, int octant, double* out) {
  for_octant_rows(l, octant, [&](std::size_t offset, std::size_t n) {
    std::memcpy(out, grid + offset, n * sizeof(double));
    out += n;
  });
}

void put_octant(const BlockLayout& l, const double* from, int octant, double* grid) {
  for_octant_rows(l, octant, [&](std::size_t offset, std::size_t n) {
    std::memcpy(grid + offset, from, n * sizeof(double));
    from += n;
  });
}

std::pair<double, double> finite_extremes(const double* values, std::size_t n) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
#pragma omp simd reduction(min : lo) reduction(max : hi)
  for (std::size_t i = 0; i < n; ++i) {
    lo = values[i] < lo ? values[i] : lo;
    hi = values[i] > hi ? values[i] : hi;
  }
  if (lo > hi) return {0.0, 0.0};  // nothing but NaN
  return {std::clamp(lo, -kLargest, kLargest), std::clamp(hi, -kLargest, kLargest)};
}

}  // namespace amrbench::amr::plotfile
