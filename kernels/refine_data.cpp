#include "kernels/refine_data.hpp"

#include <cstring>

namespace amrbench::kernels {

void split_block(const BlockLayout& l, const double* parent, int octant, double* child) {
  const std::size_t row = l.row_values(), plane = l.plane_values(), lanes = l.lanes;
  const int hx = l.cells[0] / 2, hy = l.cells[1] / 2, hz = l.cells[2] / 2;
  const std::size_t corner =
      (octant & 1 ? hx * lanes : 0) + (octant & 2 ? hy * row : 0) + (octant & 4 ? hz * plane : 0);
  for (int chunk = 0; chunk < l.chunks; ++chunk) {
    const double* from = parent + chunk * l.chunk_values() + corner;
    double* to = child + chunk * l.chunk_values();
    for (int z = 0; z < hz; ++z) {
      for (int y = 0; y < hy; ++y) {
        const double* cells = from + z * plane + y * row;
        double* out = to + 2 * z * plane + 2 * y * row;
        for (int x = 0; x < hx; ++x) {
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double eighth = cells[x * lanes + lane] * 0.125;
            out[2 * x * lanes + lane] = eighth;
            out[(2 * x + 1) * lanes + lane] = eighth;
          }
        }
        std::memcpy(out + row, out, row * sizeof(double));
      }
      std::memcpy(to + (2 * z + 1) * plane, to + 2 * z * plane, plane * sizeof(double));
    }
  }
}

void merge_blocks(const BlockLayout& l, const std::array<const double*, 8>& children, double* parent) {
  const std::size_t row = l.row_values(), plane = l.plane_values(), lanes = l.lanes;
  const int hx = l.cells[0] / 2, hy = l.cells[1] / 2, hz = l.cells[2] / 2;
  for (int octant = 0; octant < 8; ++octant) {
    const std::size_t corner =
        (octant & 1 ? hx * lanes : 0) + (octant & 2 ? hy * row : 0) + (octant & 4 ? hz * plane : 0);
    for (int chunk = 0; chunk < l.chunks; ++chunk) {
      const double* from = children[octant] + chunk * l.chunk_values();
      double* to = parent + chunk * l.chunk_values() + corner;
      for (int z = 0; z < hz; ++z) {
        for (int y = 0; y < hy; ++y) {
          for (int x = 0; x < hx; ++x) {
            const double* c = from + 2 * z * plane + 2 * y * row + 2 * x * lanes;
            double* out = to + z * plane + y * row + x * lanes;
            for (std::size_t v = 0; v < lanes; ++v) {
              const double bottom = (c[v] + c[v + lanes]) + (c[v + row] + c[v + row + lanes]);
              const double* top = c + plane;
              out[v] = bottom + ((top[v] + top[v + lanes]) + (top[v + row] + top[v + row + lanes]));
            }
          }
        }
      }
    }
  }
}

}  // namespace amrbench::kernels
