#include "kernels/average27.hpp"

namespace amrbench::kernels {

namespace {

/// planes[t] = the 9 values around t in y and z, for the `count` values of a plane of rows; `corner` is the first value
/// of row y - 1, plane z - 1.
void sum_planes(const double* __restrict corner, std::size_t row, std::size_t plane, std::size_t count,
                double* __restrict planes) {
  const double *a0 = corner, *a1 = corner + plane, *a2 = corner + 2 * plane;
  const double *b0 = a0 + row, *b1 = a1 + row, *b2 = a2 + row;
  const double *c0 = b0 + row, *c1 = b1 + row, *c2 = b2 + row;
#pragma omp simd
  for (std::size_t t = 0; t < count; ++t)
    planes[t] = a0[t] + a1[t] + a2[t] + b0[t] + b1[t] + b2[t] + c0[t] + c1[t] + c2[t];
}

}  // namespace

std::size_t average27_scratch(const TileLayout& layout) {
  return layout.row_values() * layout.block.cells[1];
}

void average27(const TileLayout& l, const double* tile, double* out, double* scratch) {
  const std::size_t row = l.row_values(), plane = l.plane_values(), lanes = l.lanes;
  const std::size_t values = l.block.row_values();
  for (int chunk = 0; chunk < l.chunks; ++chunk, tile += l.chunk_values()) {
    for (int z = 0; z < l.block.cells[2]; ++z) {
      sum_planes(tile + z * plane, row, plane, row * l.block.cells[1], scratch);
      for (int y = 0; y < l.block.cells[1]; ++y, out += values) {
        const double *low = scratch + y * row, *mid = low + lanes, *high = mid + lanes;
        double* __restrict to = out;
#pragma omp simd
        for (std::size_t t = 0; t < values; ++t) to[t] = (low[t] + mid[t] + high[t]) / 27.0;
      }
    }
  }
}

}  // namespace amrbench::kernels
