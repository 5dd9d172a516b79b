#pragma once
// Tiles: blocks with one layer of ghost cells, for stencils that need edges and corners.
//
// A tile holds the (nx + 2)(ny + 2)(nz + 2) cells of a block and its ghosts as
//
//   [chunk][z][y][x][lane]      coordinates -1 .. n of the block's cells; variable = chunk * lanes + lane
//
// with the block's lanes, or with one lane and a chunk for every variable where a kernel works variable by variable.
//
// Ghosts are filled axis by axis, x, then y, then z, and only ever across faces. The face that is passed on along an
// axis is extended by the ghosts of the axes before it: across y it reaches from -1 to nx in x, across z from -1 to nx
// and from -1 to ny. So edges and corners need no messages of their own, and a ghost has one definition, whoever owns
// the blocks around it. "Along the face" below: in-plane coordinates, which reach into the extension.
//
//   domain face   the cell inside
//   same level    the neighbour's cell
//   coarse        a quarter of the value of the neighbour's cell that contains it; before coordinate 0 and behind the
//                 last one of the coarse block that cell is the coarse block's own ghost
//   fine          the sum of the 4 fine cells before it; the extension would need fine coordinates -2 and -1 (n and
//                 n + 1) of a fine block that has only -1 (n): coordinates are clamped, so that layer counts twice
//
// Between blocks of one level these are miniAMR's ghosts; across levels miniAMR leaves the extension as it was
// (docs/decisions/0002-wide-stencils.md). No allocation; all functions are thread-safe on distinct tiles.
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/layout.hpp"

namespace amrbench::kernels {

class StageSum;  // kernels/stage_sum.hpp

/// Shape of the tiles of one mesh. Plain data.
struct TileLayout {
  BlockLayout block;
  int lanes = 1;
  int chunks = 1;
  std::size_t gap = 0;  ///< doubles between chunks

  [[nodiscard]] AMRBENCH_HD std::size_t row_values() const { return std::size_t(block.cells[0] + 2) * lanes; }
  [[nodiscard]] AMRBENCH_HD std::size_t plane_values() const { return row_values() * (block.cells[1] + 2); }
  [[nodiscard]] AMRBENCH_HD std::size_t chunk_values() const { return plane_values() * (block.cells[2] + 2) + gap; }
  /// Doubles of a tile.
  [[nodiscard]] AMRBENCH_HD std::size_t values() const { return chunk_values() * chunks; }
  [[nodiscard]] std::array<std::size_t, 3> strides() const {
    return {std::size_t(lanes), row_values(), plane_values()};
  }
  /// Offset of a cell in its chunk; coordinates -1 .. n.
  [[nodiscard]] AMRBENCH_HD std::size_t cell(int x, int y, int z) const {
    return std::size_t(z + 1) * plane_values() + std::size_t(y + 1) * row_values() + std::size_t(x + 1) * lanes;
  }
  [[nodiscard]] AMRBENCH_HD std::size_t offset(int variable, int x, int y, int z) const {
    return std::size_t(variable / lanes) * chunk_values() + cell(x, y, z) + variable % lanes;
  }
  /// Cells by which the face across `axis` reaches beyond the block on either side along `in_plane`: 0 or 1.
  [[nodiscard]] AMRBENCH_HD static int extension(int axis, int in_plane) { return in_plane < axis ? 1 : 0; }
};

/// Tiles with the lanes of the block (a kernel for all variables of a chunk at once).
[[nodiscard]] TileLayout make_tile_layout(const BlockLayout& block);
/// Tiles with one lane: every variable is an array of its own, without padding lanes. Arrays begin an odd number of
/// cache lines apart: otherwise those of edges 6, 14, 22 and 30 would share the few places that a cache has for one
/// offset in a page.
[[nodiscard]] TileLayout make_tile_layout_by_variable(const BlockLayout& block);

/// Doubles from a cell to the next along x, y, z, and from a chunk to the next.
struct PieceSteps {
  std::array<std::size_t, 3> cell{};
  std::size_t chunk = 0;
};
[[nodiscard]] PieceSteps piece_steps(const TileLayout& tiles);
[[nodiscard]] PieceSteps piece_steps(const BlockLayout& blocks);

/// Inside of a tile to a block; padding lanes become 0 where the tile has none. steps: from the tile's cell (-1, -1,
/// -1) on, piece_steps(layout) or those with axes exchanged. staging: null, or store_staging() doubles by which a block
/// of even edges that begins with a cache line is stored past the caches; then stream_fence() follows.
void store_tile(const TileLayout& layout, const double* tile, const PieceSteps& steps, double* block,
                double* staging = nullptr);
[[nodiscard]] std::size_t store_staging(const BlockLayout& layout);

/// What a piece of a face carries; part = quarter of the coarse face, bit 0 along its first axis, bit 1 its second.
enum class TileTransfer : std::uint8_t {
  whole,       ///< same level: the extended face
  quarter,     ///< coarse to fine: a quarter and a cell more wherever the face is extended, divided by 4
  restricted,  ///< fine to coarse: sums of 4; a cell more on the outer side of the part wherever the face is extended
};

/// Doubles of a piece: [chunk][b][a][lane].
[[nodiscard]] std::size_t tile_piece_values(const TileLayout& layout, TileTransfer transfer, int axis);

/// Adds a block's values to `sum`, which was made with kBlockSumLength and block_sum_patterns(lanes). Reserves.
inline constexpr int kBlockSumLength = 8;
[[nodiscard]] int block_sum_patterns(int lanes);
void sum_block(const BlockLayout& layout, const double* block, StageSum& sum);

}  // namespace amrbench::kernels
