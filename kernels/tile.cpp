#include "kernels/tile.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/lanes.hpp"
#include "kernels/simd.hpp"
#include "kernels/stage_sum.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels {

TileLayout make_tile_layout(const BlockLayout& block) {
  return {block, block.lanes, block.chunks, 0};
}

TileLayout make_tile_layout_by_variable(const BlockLayout& block) {
  TileLayout layout{block, 1, block.variables, 0};
  const std::size_t values = layout.chunk_values(), lines = (values + 7) / 8;
  layout.gap = (lines | 1) * 8 - values;
  return layout;
}

PieceSteps piece_steps(const TileLayout& tiles) {
  return {tiles.strides(), tiles.chunk_values()};
}
PieceSteps piece_steps(const BlockLayout& blocks) {
  return {{std::size_t(blocks.lanes), blocks.row_values(), blocks.plane_values()}, blocks.chunk_values()};
}

namespace {

/// n cells of `Lanes` values, `step` apart, from rows of one variable, `variable` apart, of which there are `used`; the
/// other values are 0.
template <int Lanes>
void join_cells(const double* from, std::size_t variable, int n, int used, double* to, std::size_t step) {
  if (Lanes < 4 || n < 4) {
    for (int k = 0; k < n; ++k)
      for (int lane = 0; lane < Lanes; ++lane) to[k * step + lane] = lane < used ? from[lane * variable + k] : 0.0;
    return;
  }
  // Four cells by four variables at a time; the last four may be some of those before once more.
  for (int k = 0; k < n; k += 4) {
    const int cell = std::min(k, n - 4);
    for (int l = 0; l < Lanes; l += 4) {
      const int lane = std::min(l, Lanes - 4);
      std::array<SimdDouble<4>, 4> v{};
      for (int j = 0; j < 4; ++j)
        if (lane + j < used) v[j] = load<4>(from + (lane + j) * variable + cell);
      transpose(v);
      for (int j = 0; j < 4; ++j) store<4>(to + (cell + j) * step + lane, v[j]);
    }
  }
}

/// Planes [z, z + count) of a chunk, whose variables begin at `tile`, to `to`, where they lie as in a block.
template <int Lanes>
void join_planes(const TileLayout& l, const double* tile, const PieceSteps& steps, int used, int z, int count,
                 double* to) {
  const BlockLayout& c = l.block;
  const std::array<std::size_t, 3> cell = piece_steps(c).cell;
  // Rows go along the axis on which the tile's cells follow each other.
  const int along = steps.cell[0] == std::size_t(l.lanes) ? 0 : 1, beside = 1 - along;
  for (int plane = 0; plane < count; ++plane) {
    for (int k = 0; k < c.cells[beside]; ++k) {
      const double* const row = tile + (z + plane) * steps.cell[2] + k * steps.cell[beside];
      double* const cells = to + plane * cell[2] + k * cell[beside];
      if (along == 0 && l.lanes == Lanes)
        std::memcpy(cells, row, c.row_values() * sizeof(double));
      else
        join_cells<Lanes>(row, steps.chunk, c.cells[along], used, cells, cell[along]);
    }
  }
}

/// n values, a multiple of 8, past the caches to whole lines.
void stream_values(const double* from, std::size_t n, double* to) {
  for (std::size_t k = 0; k < n; k += 8) stream<8>(to + k, load<8>(from + k));
}

}  // namespace

std::size_t store_staging(const BlockLayout& layout) {
  return 2 * layout.plane_values();
}

void store_tile(const TileLayout& l, const double* tile, const PieceSteps& steps, double* block, double* staging) {
  const BlockLayout& c = l.block;
  tile += steps.cell[0] + steps.cell[1] + steps.cell[2];
  with_lanes(c.lanes, [&](auto width) {
    for (int chunk = 0; chunk < c.chunks; ++chunk, block += c.chunk_values()) {
      const int used = std::min<int>(width, c.variables - chunk * width);
      if (staging == nullptr) {
        join_planes<width>(l, tile, steps, used, 0, c.cells[2], block);
      } else {
        for (int z = 0; z < c.cells[2]; z += 2) {
          join_planes<width>(l, tile, steps, used, z, 2, staging);
          stream_values(staging, 2 * c.plane_values(), block + z * c.plane_values());
        }
      }
      tile += std::size_t(width / l.lanes) * steps.chunk;
    }
  });
}

std::size_t tile_piece_values(const TileLayout& l, TileTransfer transfer, int axis) {
  const int a = l.block.face_axis_a(axis), b = l.block.face_axis_b(axis);
  const std::size_t na = l.block.cells[a], ea = TileLayout::extension(axis, a);
  const std::size_t nb = l.block.cells[b], eb = TileLayout::extension(axis, b);
  const std::size_t values = std::size_t(l.lanes) * l.chunks;
  switch (transfer) {
    case TileTransfer::quarter:
      return values * (na / 2 + 2 * ea) * (nb / 2 + 2 * eb);
    case TileTransfer::restricted:
      return values * (na / 2 + ea) * (nb / 2 + eb);
    default:
      return values * (na + 2 * ea) * (nb + 2 * eb);
  }
}

int block_sum_patterns(int lanes) {
  return pattern_count(lanes, kBlockSumLength);
}

namespace {

template <std::size_t Patterns>
void sum_chunk(const double* values, std::size_t count, const SumMagic& magic, RawSum* raw) {
  std::array<VectorSum<kBlockSumLength>, Patterns> sums;
  load_sums(sums, raw);
  std::size_t k = 0;
  while (k < count) {
    for (std::size_t p = 0; p < Patterns && k < count; ++p, k += kBlockSumLength)
      sums[p].add(load<kBlockSumLength>(values + k), magic.hi, magic.lo);
  }
  store_sums(sums, raw);
}

}  // namespace

void sum_block(const BlockLayout& l, const double* block, StageSum& sum) {
  sum.reserve(l.block_cells());
  // Edges are even, so a block has a multiple of 8 cells and a chunk is whole vectors; every vector starts a pattern.
  for (int chunk = 0; chunk < l.chunks; ++chunk, block += l.chunk_values()) {
    switch (block_sum_patterns(l.lanes)) {
      case 1:
        sum_chunk<1>(block, l.chunk_values(), sum.magic(), sum.raw(chunk));
        break;
      case 3:
        sum_chunk<3>(block, l.chunk_values(), sum.magic(), sum.raw(chunk));
        break;
      case 5:
        sum_chunk<5>(block, l.chunk_values(), sum.magic(), sum.raw(chunk));
        break;
      default:
        sum_chunk<7>(block, l.chunk_values(), sum.magic(), sum.raw(chunk));
        break;
    }
  }
}

}  // namespace amrbench::kernels
