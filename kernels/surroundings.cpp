#include "kernels/surroundings.hpp"

#include <algorithm>
#include <bit>
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

/// Four cells' values `first` .. 3, those of them that are wanted.
inline void spread_fours(const double* from, std::size_t step, int first, int used, double* to, std::size_t variable) {
  std::array<SimdDouble<4>, 4> v;
  for (int j = 0; j < 4; ++j) v[j] = load<4>(from + j * step);
  transpose(v);
  for (int j = first; j < 4; ++j)
    if (j < used) store<4>(to + j * variable, v[j]);
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
  // Four cells by four variables at a time; the last four cells, or variables, may be some of those before once more.
  constexpr int kFours = Lanes / 4 * 4;
  for (int k = 0; k < n; k += 4) {
    const int cell = std::min(k, n - 4);
    const double* const cells = from + cell * step;
    if constexpr (Lanes < 4) {
      for (int j = 0; j < 4; ++j) spread_cell<0>(cells + j * step, used, to + cell + j, variable, kAll);
    } else {
      for (int lane = 0; lane < kFours; lane += 4)
        spread_fours(cells + lane, step, 0, used - lane, to + lane * variable + cell, variable);
      constexpr int kRest = Lanes - kFours;
      if constexpr (kRest > 0)
        spread_fours(cells + Lanes - 4, step, 4 - kRest, used - (Lanes - 4), to + (Lanes - 4) * variable + cell,
                     variable);
    }
  }
}

/// How far ahead planes are fetched, in values: far enough that they come in time, near enough that they stay.
constexpr std::size_t kGatherLead = 2048;

/// The part of a box's planes that lies in the pieces at (dx, dy): so many cells along x and y, from cell `first` of
/// the piece and `at` of the box on.
struct BoxPart {
  int dx, dy;
  std::array<int, 2> first, count, at;
};

/// Up to nine of them, in the order of a plane's rows.
struct BoxParts {
  std::array<BoxPart, 9> parts;
  int size = 0;

  BoxParts(const BlockLayout& block, const CellBox& box) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        BoxPart part{dx, dy, {}, {}, {}};
        for (int axis = 0; axis < 2; ++axis) {
          const int d = axis == 0 ? dx : dy, n = block.cells[axis];
          const int begin = d < 0 ? -1 : d == 0 ? 0 : n, end = d < 0 ? 0 : d == 0 ? n : n + 1;
          const int low = std::max(begin, box.low[axis]);
          part.first[axis] = low - begin;
          part.count[axis] = std::min(end, box.high[axis]) - low;
          part.at[axis] = low - box.low[axis];
        }
        if (part.count[0] > 0 && part.count[1] > 0) parts[size++] = part;
      }
    }
  }
};

/// One plane of a chunk.
struct GatherPlane {
  const Surroundings* around;
  int chunk, z;
  PieceSet wanted;  ///< of the nine pieces that it crosses: bit (dy + 1) * 3 + dx + 1

  [[nodiscard]] bool wants(const BoxPart& part) const {
    return (wanted >> unsigned((part.dy + 1) * 3 + part.dx + 1) & 1U) != 0;
  }
  /// Its first cell of a part.
  [[nodiscard]] const double* first_of(const BoxPart& part, const BlockLayout& block, const Piece*& piece) const {
    const int dz = z < 0 ? -1 : z < block.cells[2] ? 0 : 1;
    piece = &around->piece(part.dx, part.dy, dz);
    return piece->at(part.first[0], part.first[1], dz == 0 ? z : 0) + chunk * piece->steps->chunk;
  }
};

/// The planes of all chunks of a box that have a wanted piece, one after another, and those of the next block.
class PlaneSequence {
 public:
  PlaneSequence(const BlockLayout& block, const CellBox& box, const Surroundings& around, const Surroundings& next,
                const PieceSet* wanted)
      : cells_(block.cells[2]),
        low_(box.low[2]),
        planes_(box.high[2] - box.low[2]),
        all_(planes_ * block.chunks),
        around_{&around, &next},
        wanted_(wanted) {
    find();
  }
  [[nodiscard]] bool in_block() const { return at_ < all_; }
  /// Only before the end of the next block.
  [[nodiscard]] const GatherPlane& plane() const { return plane_; }
  [[nodiscard]] bool ended() const { return at_ >= 2 * all_; }
  void advance() {
    ++at_;
    find();
  }

 private:
  void find() {
    for (; at_ < 2 * all_; ++at_) {
      const int k = at_ % all_, z = low_ + k % planes_, side = z < 0 ? 0 : z < cells_ ? 1 : 2;
      const PieceSet of_chunk = wanted_ != nullptr ? wanted_[k / planes_] : kAllPieces;
      plane_ = {around_[at_ / all_], k / planes_, z, of_chunk >> unsigned(9 * side) & 0x1ffU};
      if (plane_.wanted != 0) return;
    }
  }
  int cells_, low_, planes_, all_, at_ = 0;
  std::array<const Surroundings*, 2> around_;
  const PieceSet* wanted_;
  GatherPlane plane_{};
};

/// Asks for n cells.
inline void fetch_cells(const double* from, std::size_t step, int n, std::size_t lanes) {
  if (step == lanes) return prefetch_values(from, n * lanes);
  for (int k = 0; k < n; ++k, from += step) prefetch_values(from, lanes);
}

/// Copies one plane's cells of a box, in rows along axis `Along`, 0 or 1, and asks for those of `ahead` (null: none),
/// row by row: more at once than a core can wait for would be dropped. copy(from, step, n, to): n cells of a row.
template <int Along, class CopyRow>
void gather_plane(const BlockLayout& block, const BoxParts& parts, const GatherPlane& plane, const GatherPlane* ahead,
                  const PieceSteps& steps, double* to, const CopyRow& copy) {
  constexpr int kBeside = 1 - Along;
  for (int k = 0; k < parts.size; ++k) {
    const BoxPart& part = parts.parts[k];
    if (!plane.wants(part)) continue;
    const Piece *piece = nullptr, *coming = nullptr;
    const double* from = plane.first_of(part, block, piece);
    const double* next = ahead != nullptr && ahead->wants(part) ? ahead->first_of(part, block, coming) : nullptr;
    double* row = to + part.at[0] * steps.cell[0] + part.at[1] * steps.cell[1];
    for (int r = 0; r < part.count[kBeside]; ++r) {
      if (next != nullptr) {
        fetch_cells(next, coming->steps->cell[Along], part.count[Along], block.lanes);
        next += coming->steps->cell[kBeside];
      }
      copy(from, piece->steps->cell[Along], part.count[Along], row);
      from += piece->steps->cell[kBeside];
      row += steps.cell[kBeside];
    }
  }
}

}  // namespace

void gather_cells(const BlockLayout& block, const Surroundings& around, const CellBox& box, const PieceSteps& steps,
                  int lanes, double* to, const Surroundings* next, const PieceSet* wanted) {
  const BoxParts parts(block, box);
  const std::size_t values = std::size_t(box.high[0] - box.low[0]) * (box.high[1] - box.low[1]) * block.lanes;
  PlaneSequence here(block, box, around, next != nullptr ? *next : around, wanted), coming = here;
  for (std::size_t lead = std::max<std::size_t>(kGatherLead / values, 1); lead > 0 && coming.in_block(); --lead)
    coming.advance();
  with_lanes(block.lanes, [&](auto width) {
    for (; here.in_block(); here.advance()) {
      const GatherPlane& plane = here.plane();
      const GatherPlane* const ahead = next != nullptr && !coming.ended() ? &coming.plane() : nullptr;
      double* const first =
          to + plane.chunk * block.lanes / lanes * steps.chunk + (plane.z - box.low[2]) * steps.cell[2];
      if (lanes == width && steps.cell[0] == std::size_t(width)) {
        gather_plane<0>(block, parts, plane, ahead, steps, first,
                        [&](const double* from, std::size_t, int n, double* row) {
                          std::memcpy(row, from, std::size_t(n) * width * sizeof(double));
                        });
      } else {
        const int used = std::min<int>(width, block.variables - plane.chunk * width);
        const auto spread = [&](const double* from, std::size_t step, int n, double* row) {
          spread_cells<width>(from, step, n, used, row, steps.chunk);
        };
        if (steps.cell[0] == 1)
          gather_plane<0>(block, parts, plane, ahead, steps, first, spread);
        else
          gather_plane<1>(block, parts, plane, ahead, steps, first, spread);
      }
      coming.advance();
    }
  });
}

void prefetch_beside(const BlockLayout& block, const Surroundings& around, int chunk, int z, int begin, int end) {
  const auto& n = block.cells;
  // Of the pieces of a layer: all, those along y at the block's ends only.
  const auto ask = [&](int dz, std::uint32_t wanted) {
    wanted &= begin == 0 ? 0x1ffU : 0x1f8U;
    wanted &= end == n[1] ? 0x1ffU : 0x03fU;
    for (std::uint32_t left = around.far >> (9 * (dz + 1)) & wanted; left != 0; left &= left - 1) {
      const int k = std::countr_zero(left), dy = k / 3 - 1;
      const Piece& piece = around.pieces[9 * (dz + 1) + k];
      const double* from = piece.at(0, dy == 0 ? begin : 0, dz == 0 ? z : 0) + chunk * piece.steps->chunk;
      const std::size_t values = k % 3 == 1 ? block.row_values() : block.lanes;
      for (int row = 0; row < (dy == 0 ? end - begin : 1); ++row, from += piece.steps->cell[1])
        prefetch_values(from, values);
    }
  };
  ask(0, 0x1c7);
  if (z == 0) ask(-1, 0x1ff);
  if (z == n[2] - 1) ask(1, 0x1ff);
}

FaceLayout::FaceLayout(const BlockLayout& block, int axis) : lanes(block.lanes), chunks(block.chunks) {
  for (int a = 0; a < 3; ++a) {
    const int extension = TileLayout::extension(axis, a);
    low[a] = -extension;
    count[a] = a == axis ? 1 : block.cells[a] + 2 * extension;
  }
}

PieceSteps piece_steps(const FaceLayout& faces) {
  return {faces.strides(), faces.chunk_values()};
}

}  // namespace amrbench::kernels
