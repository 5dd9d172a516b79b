#include "kernels/surroundings.hpp"

#include <algorithm>
#include <cstring>

namespace amrbench::kernels {

namespace {

/// A row of `n` cells with all chunks.
struct RowCopy {
  const BlockLayout& block;
  const PieceSteps& to_steps;
  int to_lanes;

  void operator()(const Piece& piece, const double* from, int n, double* to) const {
    const std::size_t lanes = block.lanes, step = to_steps.cell[0];
    for (int chunk = 0; chunk < block.chunks; ++chunk, from += piece.steps->chunk) {
      if (to_lanes == block.lanes) {
        std::memcpy(to + chunk * to_steps.chunk, from, n * lanes * sizeof(double));
        continue;
      }
      const int used = std::min(block.lanes, block.variables - chunk * block.lanes);
      for (int lane = 0; lane < used; ++lane) {
        double* const row = to + (std::size_t(chunk) * lanes + lane) * to_steps.chunk;
        for (int x = 0; x < n; ++x) row[x * step] = from[x * lanes + lane];
      }
    }
  }
};

}  // namespace

void gather_cells(const BlockLayout& block, const Surroundings& around, const CellBox& box, const PieceSteps& steps,
                  int lanes, double* to) {
  const RowCopy copy{block, steps, lanes};
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
        copy(piece, piece.at(x - first(dx, 0), y - first(dy, 1), z - first(dz, 2)), end - x,
             row + std::size_t(x - box.low[0]) * steps.cell[0]);
        x = end;
      }
    }
  }
}

TileLayout make_face_tile_layout(const BlockLayout& block, int axis) {
  TileLayout layout = make_tile_layout(block);
  layout.block.cells[axis] = 0;
  return layout;
}

}  // namespace amrbench::kernels
