#include "kernels/surroundings.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

/// Values First and on of a cell, those that are wanted, to arrays `variable` apart. Written out: a loop over lanes
/// that is turned into vectors begins with checks that cost more than a cell.
template <int First, std::size_t... Lane>
inline void spread_cell(const double* from, int used, double* to, std::size_t variable, std::index_sequence<Lane...>) {
  ((First + int(Lane) < used ? void(to[(First + Lane) * variable] = from[First + Lane]) : void()), ...);
}

/// Copies n cells of `Lanes` values, `step` apart, of which `used` are wanted, to rows of one variable, `variable`
/// apart.
template <int Lanes>
void spread_cells(const double* from, std::size_t step, int n, int used, double* to, std::size_t variable) {
  constexpr auto kAll = std::make_index_sequence<Lanes>{};
  if (n == 1) return spread_cell<0>(from, used, to, variable, kAll);
  if (n < 4) {
    for (int k = 0; k < n; ++k) spread_cell<0>(from + k * step, used, to + k, variable, kAll);
    return;
  }
  // Four cells by four variables at a time; the last four cells may be some of those before once more.
  constexpr int kFours = Lanes / 4 * 4;
  for (int k = 0; k < n; k += 4) {
    const int cell = std::min(k, n - 4);
    for (int lane = 0; lane < kFours; lane += 4) {
      std::array<SimdDouble<4>, 4> v;
      for (int j = 0; j < 4; ++j) v[j] = load<4>(from + (cell + j) * step + lane);
      transpose(v);
      for (int j = 0; j < 4; ++j)
        if (lane + j < used) store<4>(to + (lane + j) * variable + cell, v[j]);
    }
    for (int j = 0; j < 4; ++j)
      spread_cell<kFours>(from + (cell + j) * step, used, to + cell + j, variable,
                          std::make_index_sequence<Lanes - kFours>{});
  }
}

/// One chunk's cells of the box, in rows along axis `Along`, 0 or 1.
template <int Along, class CopyRow>
void gather_chunk(const BlockLayout& block, const Surroundings& around, const CellBox& box, const PieceSteps& steps,
                  int chunk, double* to, const CopyRow& copy) {
  constexpr int kBeside = 1 - Along;
  const auto side = [&](int c, int axis) { return c < 0 ? -1 : c < block.cells[axis] ? 0 : 1; };
  const auto first = [&](int d, int axis) { return d < 0 ? -1 : d == 0 ? 0 : block.cells[axis]; };
  std::array<int, 3> d{}, c{};
  for (c[2] = box.low[2]; c[2] < box.high[2]; ++c[2]) {
    d[2] = side(c[2], 2);
    for (c[kBeside] = box.low[kBeside]; c[kBeside] < box.high[kBeside]; ++c[kBeside]) {
      d[kBeside] = side(c[kBeside], kBeside);
      double* const row = to + std::size_t(c[kBeside] - box.low[kBeside]) * steps.cell[kBeside] +
                          std::size_t(c[2] - box.low[2]) * steps.cell[2];
      for (c[Along] = box.low[Along]; c[Along] < box.high[Along];) {
        const int at = c[Along];
        d[Along] = side(at, Along);
        const int end = d[Along] < 0 ? 0 : d[Along] == 0 ? std::min(box.high[Along], block.cells[Along]) : at + 1;
        const Piece& piece = around.piece(d[0], d[1], d[2]);
        copy(piece.at(c[0] - first(d[0], 0), c[1] - first(d[1], 1), c[2] - first(d[2], 2)) + chunk * piece.steps->chunk,
             piece.steps->cell[Along], end - at, row + std::size_t(at - box.low[Along]) * steps.cell[Along]);
        c[Along] = end;
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
        gather_chunk<0>(block, around, box, steps, chunk, to + chunk * steps.chunk,
                        [&](const double* from, std::size_t, int n, double* row) {
                          std::memcpy(row, from, std::size_t(n) * width * sizeof(double));
                        });
        return;
      }
      const int used = std::min<int>(width, block.variables - chunk * width);
      double* const first = to + std::size_t(chunk) * width * steps.chunk;
      const auto spread = [&](const double* from, std::size_t step, int n, double* row) {
        spread_cells<width>(from, step, n, used, row, steps.chunk);
      };
      if (steps.cell[0] == 1)
        gather_chunk<0>(block, around, box, steps, chunk, first, spread);
      else
        gather_chunk<1>(block, around, box, steps, chunk, first, spread);
    });
  }
}

void prefetch_beside(const BlockLayout& block, const Surroundings& around, int chunk, int begin, int end) {
  const std::size_t row = (block.row_values() + 7) / 8 * 8, lanes = block.lanes;  // rows are read in whole vectors
  const auto& n = block.cells;
  const auto ask = [chunk](const Piece& piece, int y, int z, std::size_t values) {
    prefetch_values(piece.at(0, y, z) + chunk * piece.steps->chunk, values);
  };
  const auto ask_row = [&](int dy, int dz, int y, int z) {
    for (int dx = -1; dx <= 1; ++dx) ask(around.piece(dx, dy, dz), y, z, dx == 0 ? row : lanes);
  };
  for (int r = begin, y = begin % n[1], z = begin / n[1]; r < end; ++r) {
    for (int dx = -1; dx <= 1; dx += 2) ask(around.piece(dx, 0, 0), y, z, lanes);
    for (int side = -1; side <= 1; side += 2) {
      const bool at_y = y == (side < 0 ? 0 : n[1] - 1), at_z = z == (side < 0 ? 0 : n[2] - 1);
      if (at_y) ask_row(side, 0, 0, z);
      if (at_z) ask_row(0, side, y, 0);
      if (at_y && z == 0) ask_row(side, -1, 0, 0);
      if (at_y && z == n[2] - 1) ask_row(side, 1, 0, 0);
    }
    if (++y == n[1]) {
      y = 0;
      ++z;
    }
  }
}

void prefetch_rows(const BlockLayout& block, const Surroundings& around, int chunk, int begin, int end) {
  const Piece& own = around.piece(0, 0, 0);
  const double* const values = own.values + chunk * own.steps->chunk;
  for (std::size_t k = begin * block.row_values(); k < end * block.row_values(); k += 8)
    __builtin_prefetch(values + k, 0, 2);
  prefetch_beside(block, around, chunk, begin, end);
}

TileLayout make_face_tile_layout(const BlockLayout& block, int axis) {
  TileLayout layout = make_tile_layout(block);
  layout.block.cells[axis] = 0;
  return layout;
}

}  // namespace amrbench::kernels
