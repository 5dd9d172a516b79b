#include "kernels/tile.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/extensive.hpp"
#include "kernels/lanes.hpp"
#include "kernels/simd.hpp"
#include "kernels/stage_sum.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels {

namespace {

/// A rectangle of cells of one layer of a chunk.
struct Window {
  std::size_t start, step_a, step_b;
  int na, nb;
};

/// Cells [a0, a0 + na) x [b0, b0 + nb) of layer `layer` across `axis`.
Window window(const TileLayout& l, int axis, int layer, int a0, int na, int b0, int nb) {
  const int a = l.block.face_axis_a(axis), b = l.block.face_axis_b(axis);
  std::array<int, 3> at{};
  at[axis] = layer;
  at[a] = a0;
  at[b] = b0;
  return {l.cell(at[0], at[1], at[2]), l.strides()[a], l.strides()[b], na, nb};
}

/// A face's extents: cells in the plane, and how far it is extended.
struct FaceExtent {
  int na, nb, ea, eb;
};
FaceExtent extent(const TileLayout& l, int axis) {
  const int a = l.block.face_axis_a(axis), b = l.block.face_axis_b(axis);
  return {l.block.cells[a], l.block.cells[b], TileLayout::extension(axis, a), TileLayout::extension(axis, b)};
}

/// The whole extended face in layer `layer`.
Window whole_face(const TileLayout& l, int axis, int layer) {
  const FaceExtent e = extent(l, axis);
  return window(l, axis, layer, -e.ea, e.na + 2 * e.ea, -e.eb, e.nb + 2 * e.eb);
}

int own_layer(const TileLayout& l, int face) {
  return face % 2 ? l.block.cells[face / 2] - 1 : 0;
}
int ghost_layer(const TileLayout& l, int face) {
  return face % 2 ? l.block.cells[face / 2] : -1;
}

/// The part of a coarse face's ghosts that one fine neighbour fills: [from, from + count) along an axis.
struct PartRange {
  int from, count;
};
PartRange part_range(int cells, int ext, int upper) {
  return {upper ? cells / 2 : -ext, cells / 2 + ext};
}

/// Copies n cells of Lanes values each; a fixed number of lanes makes a cell one or two vectors.
template <int Lanes>
void copy_cells(const double* from, std::size_t step_from, double* to, std::size_t step_to, int n) {
  for (int a = 0; a < n; ++a) std::memcpy(to + a * step_to, from + a * step_from, Lanes * sizeof(double));
}
using CopyCells = void (*)(const double*, std::size_t, double*, std::size_t, int);
CopyCells cell_copy(int lanes) {
  static constexpr std::array<CopyCells, kMaxLanes> kCopies{copy_cells<1>, copy_cells<2>, copy_cells<3>, copy_cells<4>,
                                                            copy_cells<5>, copy_cells<6>, copy_cells<7>, copy_cells<8>};
  return kCopies[lanes - 1];
}

/// Copies window w to window v, chunk by chunk; a chunk is so many values on either side.
void copy_windows(const TileLayout& l, const double* from, const Window& w, std::size_t from_chunk, double* to,
                  const Window& v, std::size_t to_chunk) {
  const std::size_t lanes = l.lanes, row = w.na * lanes;
  const bool rows = w.step_a == lanes && v.step_a == lanes;
  const bool plane = rows && w.step_b == row && v.step_b == row;
  const CopyCells copy = cell_copy(l.lanes);
  for (int chunk = 0; chunk < l.chunks; ++chunk, from += from_chunk, to += to_chunk) {
    const double* p = from + w.start;
    double* q = to + v.start;
    if (plane) {
      std::memcpy(q, p, row * w.nb * sizeof(double));
      continue;
    }
    for (int b = 0; b < w.nb; ++b, p += w.step_b, q += v.step_b) {
      if (rows)
        std::memcpy(q, p, row * sizeof(double));
      else
        copy(p, w.step_a, q, v.step_a, w.na);
    }
  }
}

/// Window w packed: cell after cell from 0.
Window packed(const TileLayout& l, const Window& w) {
  return {0, std::size_t(l.lanes), std::size_t(w.na) * l.lanes, w.na, w.nb};
}
void pack_window(const TileLayout& l, const double* tile, const Window& w, double* out) {
  copy_windows(l, tile, w, l.chunk_values(), out, packed(l, w), std::size_t(w.na) * w.nb * l.lanes);
}
void unpack_window(const TileLayout& l, const double* in, const Window& w, double* tile) {
  copy_windows(l, in, packed(l, w), std::size_t(w.na) * w.nb * l.lanes, tile, w, l.chunk_values());
}

/// Cells of the extended quarter of a coarse face: those that contain the fine coordinates -ext .. n - 1 + ext.
Window quarter_window(const TileLayout& l, int face, int part) {
  const FaceExtent e = extent(l, face / 2);
  const int ha = e.na / 2, hb = e.nb / 2;
  return window(l, face / 2, own_layer(l, face), (part & 1) * ha - e.ea, ha + 2 * e.ea, (part >> 1) * hb - e.eb,
                hb + 2 * e.eb);
}

void pack_quarter_piece(const TileLayout& l, const double* tile, int face, int part, double* out) {
  pack_window(l, tile, quarter_window(l, face, part), out);
  const std::size_t values = tile_piece_values(l, TileTransfer::quarter, face / 2);
  for (std::size_t k = 0; k < values; ++k) out[k] = face_quarter(out[k]);
}

/// Every fine ghost f of -ext .. n - 1 + ext takes entry floor(f / 2) + ext of the quarter, along both axes.
void unpack_quarter_piece(const TileLayout& l, const double* piece, int face, double* tile) {
  const FaceExtent e = extent(l, face / 2);
  const Window w = whole_face(l, face / 2, ghost_layer(l, face));
  const std::size_t lanes = l.lanes, piece_row = (e.na / 2 + 2 * e.ea) * lanes;
  const CopyCells copy = cell_copy(l.lanes);
  const std::size_t piece_chunk = piece_row * (e.nb / 2 + 2 * e.eb);
  for (int chunk = 0; chunk < l.chunks; ++chunk, tile += l.chunk_values(), piece += piece_chunk) {
    for (int b = 0; b < w.nb; ++b) {
      const double* row = piece + (b + e.eb) / 2 * piece_row;
      double* to = tile + w.start + b * w.step_b;
      // First the cells that are the lower of a pair, then the upper ones.
      copy(row + e.ea * lanes, lanes, to + e.ea * w.step_a, 2 * w.step_a, e.na / 2 + e.ea);
      copy(row, lanes, to + (1 - e.ea) * w.step_a, 2 * w.step_a, e.na / 2 + e.ea);
    }
  }
}

/// Entry k of a restricted piece along an axis covers fine coordinates 2c and 2c + 1, c = from + k, clamped to what
/// there is of the fine face.
struct FinePair {
  int first, second;
};
FinePair fine_pair(int from, int k, int cells, int ext) {
  const int f = 2 * (from + k), low = -ext, high = cells - 1 + ext;
  return {std::clamp(f, low, high), std::clamp(f + 1, low, high)};
}

void pack_restricted_piece(const TileLayout& l, const double* tile, int face, int part, double* out) {
  const FaceExtent e = extent(l, face / 2);
  const Window w = window(l, face / 2, own_layer(l, face), 0, e.na, 0, e.nb);
  const int na = e.na / 2 + e.ea, nb = e.nb / 2 + e.eb;
  // Counted from the part's own first cell: a lower part begins in the extension before it, an upper one ends behind.
  const int from_a = part & 1 ? 0 : -e.ea, from_b = part >> 1 ? 0 : -e.eb;
  for (int chunk = 0; chunk < l.chunks; ++chunk, tile += l.chunk_values()) {
    for (int b = 0; b < nb; ++b) {
      const FinePair fb = fine_pair(from_b, b, e.nb, e.eb);
      const double* const row0 = tile + w.start + std::ptrdiff_t(fb.first) * std::ptrdiff_t(w.step_b);
      const double* const row1 = tile + w.start + std::ptrdiff_t(fb.second) * std::ptrdiff_t(w.step_b);
      for (int a = 0; a < na; ++a) {
        const FinePair fa = fine_pair(from_a, a, e.na, e.ea);
        const std::ptrdiff_t a0 = std::ptrdiff_t(fa.first) * std::ptrdiff_t(w.step_a);
        const std::ptrdiff_t a1 = std::ptrdiff_t(fa.second) * std::ptrdiff_t(w.step_a);
        for (int lane = 0; lane < l.lanes; ++lane)
          *out++ = face_sum(row0[a0 + lane], row1[a0 + lane], row0[a1 + lane], row1[a1 + lane]);
      }
    }
  }
}

Window restricted_window(const TileLayout& l, int face, int part) {
  const FaceExtent e = extent(l, face / 2);
  const PartRange a = part_range(e.na, e.ea, part & 1), b = part_range(e.nb, e.eb, part >> 1);
  return window(l, face / 2, ghost_layer(l, face), a.from, a.count, b.from, b.count);
}

}  // namespace

TileLayout make_tile_layout(const BlockLayout& block) {
  return {block, block.lanes, block.chunks, 0};
}

TileLayout make_tile_layout_by_variable(const BlockLayout& block) {
  TileLayout layout{block, 1, block.variables, 0};
  const std::size_t values = layout.chunk_values(), lines = (values + 7) / 8;
  layout.gap = (lines | 1) * 8 - values;
  return layout;
}

void load_tile(const TileLayout& l, const double* block, double* tile) {
  const BlockLayout& c = l.block;
  const std::size_t step = c.lanes / l.lanes;
  for (int chunk = 0; chunk < l.chunks; ++chunk, tile += l.chunk_values()) {
    const double* from = block + c.offset(chunk * l.lanes, 0, 0, 0);
    for (int z = 0; z < c.cells[2]; ++z) {
      for (int y = 0; y < c.cells[1]; ++y, from += c.row_values()) {
        double* to = tile + l.cell(0, y, z);
        if (step == 1) {
          std::memcpy(to, from, c.row_values() * sizeof(double));
        } else {
          for (int x = 0; x < c.cells[0]; ++x) to[x] = from[x * step];
        }
      }
    }
  }
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

void close_face(const TileLayout& l, double* tile, int face) {
  const int axis = face / 2;
  copy_windows(l, tile, whole_face(l, axis, own_layer(l, face)), l.chunk_values(), tile,
               whole_face(l, axis, ghost_layer(l, face)), l.chunk_values());
}

void copy_face(const TileLayout& l, const double* neighbor, double* tile, int face) {
  const int axis = face / 2;
  copy_windows(l, neighbor, whole_face(l, axis, own_layer(l, face ^ 1)), l.chunk_values(), tile,
               whole_face(l, axis, ghost_layer(l, face)), l.chunk_values());
}

std::size_t tile_piece_values(const TileLayout& l, TileTransfer transfer, int axis) {
  const FaceExtent e = extent(l, axis);
  const std::size_t values = std::size_t(l.lanes) * l.chunks;
  switch (transfer) {
    case TileTransfer::quarter:
      return values * (e.na / 2 + 2 * e.ea) * (e.nb / 2 + 2 * e.eb);
    case TileTransfer::restricted:
      return values * (e.na / 2 + e.ea) * (e.nb / 2 + e.eb);
    default:
      return values * (e.na + 2 * e.ea) * (e.nb + 2 * e.eb);
  }
}

void pack_tile_piece(const TileLayout& l, const double* tile, int face, TileTransfer transfer, int part, double* out) {
  switch (transfer) {
    case TileTransfer::whole:
      return pack_window(l, tile, whole_face(l, face / 2, own_layer(l, face)), out);
    case TileTransfer::quarter:
      return pack_quarter_piece(l, tile, face, part, out);
    case TileTransfer::restricted:
      return pack_restricted_piece(l, tile, face, part, out);
  }
}

void unpack_tile_piece(const TileLayout& l, const double* piece, int face, TileTransfer transfer, int part,
                       double* tile) {
  switch (transfer) {
    case TileTransfer::whole:
      return unpack_window(l, piece, whole_face(l, face / 2, ghost_layer(l, face)), tile);
    case TileTransfer::quarter:
      return unpack_quarter_piece(l, piece, face, tile);
    case TileTransfer::restricted:
      return unpack_window(l, piece, restricted_window(l, face, part), tile);
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
