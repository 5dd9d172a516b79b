#include "kernels/refine_data.hpp"

#include <cstring>

#include "kernels/extensive.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

/// First value of an octant in a chunk.
std::size_t corner_of(const BlockLayout& l, int octant) {
  return (octant & 1 ? l.cells[0] / 2 * std::size_t(l.lanes) : 0) + (octant & 2 ? l.cells[1] / 2 * l.row_values() : 0) +
         (octant & 4 ? l.cells[2] / 2 * l.plane_values() : 0);
}

/// An octant of a chunk, `from` its first value, to a chunk of its own. From the last cell to the first: so octant 0
/// can be spread over its own chunk, because a cell goes to places at or behind its own.
template <int Lanes>
void split_chunk(const BlockLayout& l, const double* from, double* to) {
  const std::size_t row = l.row_values(), plane = l.plane_values();
  const int hx = l.cells[0] / 2, hy = l.cells[1] / 2, hz = l.cells[2] / 2;
  for (int z = hz - 1; z >= 0; --z) {
    for (int y = hy - 1; y >= 0; --y) {
      const double* cell = from + z * plane + y * row + std::size_t(hx) * Lanes;
      double* out = to + 2 * z * plane + 2 * y * row + std::size_t(hx) * 2 * Lanes;
      for (int x = 0; x < hx; ++x) {
        cell -= Lanes;
        out -= 2 * Lanes;
        for_vectors<Lanes>([&](auto n, int lane) {
          const SimdDouble<n> eighth = cell_eighth(load<n>(cell + lane));
          for (double* to_row : {out, out + row, out + plane, out + plane + row}) {
            store<n>(to_row + lane, eighth);
            store<n>(to_row + Lanes + lane, eighth);
          }
        });
      }
    }
  }
}

/// A child's chunk to its octant of the parent's chunk, `to` the octant's first value. From the first cell to the last:
/// so octant 0 can be gathered within its own chunk.
template <int Lanes>
void merge_chunk(const BlockLayout& l, const double* from, double* to) {
  const std::size_t row = l.row_values(), plane = l.plane_values();
  const int hx = l.cells[0] / 2, hy = l.cells[1] / 2, hz = l.cells[2] / 2;
  for (int z = 0; z < hz; ++z) {
    for (int y = 0; y < hy; ++y) {
      const double* cell = from + 2 * z * plane + 2 * y * row;
      double* out = to + z * plane + y * row;
      for (int x = 0; x < hx; ++x, cell += 2 * Lanes, out += Lanes) {
        for_vectors<Lanes>([&](auto n, int lane) {
          const double* const first = cell + lane;
          store<n>(out + lane, cell_sum([&](int fx, int fy, int fz) {
                     return load<n>(first + fx * Lanes + fy * row + fz * plane);
                   }));
        });
      }
    }
  }
}

}  // namespace

void split_block(const BlockLayout& l, const double* parent, int octant, double* child) {
  const double* from = parent + corner_of(l, octant);
  with_lanes(l.lanes, [&](auto lanes) {
    for (int c = 0; c < l.chunks; ++c) split_chunk<lanes>(l, from + c * l.chunk_values(), child + c * l.chunk_values());
  });
}

void merge_blocks(const BlockLayout& l, const std::array<const double*, 8>& children, double* parent) {
  with_lanes(l.lanes, [&](auto lanes) {
    // Chunk by chunk, octant 0 first: the parent may lie where that child does.
    for (std::size_t at = 0; at < l.block_values(); at += l.chunk_values()) {
      for (int octant = 0; octant < 8; ++octant) {
        merge_chunk<lanes>(l, children[octant] + at, parent + at + corner_of(l, octant));
      }
    }
  });
}

}  // namespace amrbench::kernels
