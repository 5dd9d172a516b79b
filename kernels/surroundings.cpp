#include "kernels/surroundings.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

/// Copies n cells of `Lanes` values, of which `used` are wanted, to cells of one value of `used` variables.
template <int Lanes>
void spread_cells(const double* from, int n, int used, double* to, const PieceSteps& steps) {
  const std::size_t cell = steps.cell[0], variable = steps.chunk;
  if (used < Lanes || n == 1) {
    for (int x = 0; x < n; ++x)
      for (int lane = 0; lane < used; ++lane) to[lane * variable + x * cell] = from[x * Lanes + lane];
    return;
  }
  for (int lane = 0; lane < Lanes; ++lane, to += variable) {
    if (cell == 1)
      for (int x = 0; x < n; ++x) to[x] = from[x * Lanes + lane];
    else
      for (int x = 0; x < n; ++x) to[x * cell] = from[x * Lanes + lane];
  }
}

/// One chunk's cells of the box.
template <class CopyRow>
void gather_chunk(const BlockLayout& block, const Surroundings& around, const CellBox& box, const PieceSteps& steps,
                  int chunk, double* to, const CopyRow& copy) {
  const auto side = [&](int c, int axis) { return c < 0 ? -1 : c < block.cells[axis] ? 0 : 1; };
  const auto first = [&](int d, int axis) { return d < 0 ? -1 : d == 0 ? 0 : block.cells[axis]; };
  for (int z = box.low[2]; z < box.high[2]; ++z) {
    const int dz = side(z, 2);
    for (int y = box.low[1]; y < box.high[1]; ++y) {
      const int dy = side(y, 1);
      double* const row =
          to + std::size_t(y - box.low[1]) * steps.cell[1] + std::size_t(z - box.low[2]) * steps.cell[2];
      for (int x = box.low[0]; x < box.high[0];) {
        const int dx = side(x, 0), end = dx < 0 ? 0 : dx == 0 ? std::min(box.high[0], block.cells[0]) : x + 1;
        const Piece& piece = around.piece(dx, dy, dz);
        copy(piece.at(x - first(dx, 0), y - first(dy, 1), z - first(dz, 2)) + chunk * piece.steps->chunk, end - x,
             row + std::size_t(x - box.low[0]) * steps.cell[0]);
        x = end;
      }
    }
  }
}

}  // namespace

void gather_cells(const BlockLayout& block, const Surroundings& around, const CellBox& box, const PieceSteps& steps,
                  int lanes, double* to) {
  for (int chunk = 0; chunk < block.chunks; ++chunk) {
    with_lanes(block.lanes, [&](auto width) {
      if (lanes == width && steps.cell[0] == std::size_t(width)) {
        gather_chunk(block, around, box, steps, chunk, to + chunk * steps.chunk,
                     [&](const double* from, int n, double* row) {
                       std::memcpy(row, from, std::size_t(n) * width * sizeof(double));
                     });
        return;
      }
      const int used = std::min<int>(width, block.variables - chunk * width);
      gather_chunk(block, around, box, steps, chunk, to + std::size_t(chunk) * width * steps.chunk,
                   [&](const double* from, int n, double* row) { spread_cells<width>(from, n, used, row, steps); });
    });
  }
}

void prefetch_rows(const BlockLayout& block, const Surroundings& around, int chunk, int begin, int end) {
  const std::size_t row = block.row_values(), lanes = block.lanes;
  const auto at = [&](const Piece& piece, int y, int z) { return piece.at(0, y, z) + chunk * piece.steps->chunk; };
  for (int r = begin; r < end; ++r) {
    const int y = r % block.cells[1], z = r / block.cells[1];
    for (int dx = -1; dx <= 1; dx += 2) {
      const double* const cell = at(around.piece(dx, 0, 0), y, z);
      __builtin_prefetch(cell, 0, 2);
      __builtin_prefetch(cell + lanes - 1, 0, 2);
    }
    const double* const own = at(around.piece(0, 0, 0), y, z);
    for (std::size_t k = 0; k < row; k += 8) __builtin_prefetch(own + k, 0, 2);
    for (int side = -1; side <= 1; side += 2) {
      const double *const beside = at(around.piece(0, side, 0), 0, z), *const over = at(around.piece(0, 0, side), y, 0);
      if (y == 0)
        for (std::size_t k = 0; k < row + 7; k += 8) __builtin_prefetch(beside + std::min(k, row - 1), 0, 2);
      if (z == 0)
        for (std::size_t k = 0; k < row + 7; k += 8) __builtin_prefetch(over + std::min(k, row - 1), 0, 2);
    }
  }
}

TileLayout make_face_tile_layout(const BlockLayout& block, int axis) {
  TileLayout layout = make_tile_layout(block);
  layout.block.cells[axis] = 0;
  return layout;
}

}  // namespace amrbench::kernels
