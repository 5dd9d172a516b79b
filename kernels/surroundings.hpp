#pragma once
// A block and what lies around it, in 27 pieces where they are: for stencils that need edges and corners.
//
// Piece (dx, dy, dz), each -1, 0 or 1, covers coordinate -1, 0 .. n - 1 or n of the block along x, y and z. The pieces
// are parts of other blocks, or of extended faces (kernels/tile.hpp says what each ghost holds), so a piece has steps
// of its own; its cells are [chunk][z][y][x][lane] with the block's lanes, and along x a piece with dx = 0 lies cell
// after cell.
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/tile.hpp"

namespace amrbench::kernels {

/// `values`: the piece's first cell in its first chunk. Readable kPadding doubles past the last cell.
struct Piece {
  const double* values;
  const PieceSteps* steps;
  [[nodiscard]] const double* at(int x, int y, int z) const {
    return values + std::size_t(x) * steps->cell[0] + std::size_t(y) * steps->cell[1] + std::size_t(z) * steps->cell[2];
  }
};

struct Surroundings {
  std::array<Piece, 27> pieces;
  /// Bit k: piece k is to be fetched for this block, since it belongs to none that is computed at about the same time.
  std::uint32_t far = 0x7ffdfff;
  [[nodiscard]] static constexpr int index(int dx, int dy, int dz) { return (dz + 1) * 9 + (dy + 1) * 3 + dx + 1; }
  [[nodiscard]] const Piece& piece(int dx, int dy, int dz) const { return pieces[std::size_t(index(dx, dy, dz))]; }
};

/// Eight blocks that make a cube of twice their edge, and what lies around them: 64 pieces, of which 1 and 2 along each
/// axis are the blocks themselves, 0 and 3 the pieces before and behind them.
struct Octet {
  std::array<Piece, 64> pieces;
  std::uint64_t far = 0;  ///< bit k: piece k is to be fetched, as in Surroundings; none of the blocks themselves
  [[nodiscard]] static constexpr int index(int x, int y, int z) { return z * 16 + y * 4 + x; }
  [[nodiscard]] const Piece& piece(int x, int y, int z) const { return pieces[std::size_t(index(x, y, z))]; }
};

/// Where a piece lies, for tables: in block or extended face number `index`, `offset` doubles behind its first value.
struct PieceSource {
  static constexpr std::uint32_t kBlock = 3;  ///< the kind that is no face across axis 0, 1 or 2
  std::int32_t index;
  std::uint32_t kind : 2, offset : 30;
};

/// Cells [low, high) in coordinates -1 .. n of a block.
struct CellBox {
  std::array<int, 3> low, high;
};
/// Pieces around a block, itself included: bit k is piece k.
using PieceSet = std::uint32_t;
inline constexpr PieceSet kAllPieces = 0x7ffffff, kOwnPiece = 1U << 13U;
/// The two pieces beside a block across `axis`.
[[nodiscard]] constexpr PieceSet face_pieces(int axis) {
  const unsigned step = axis == 0 ? 1 : axis == 1 ? 3 : 9;
  return 1U << (13 - step) | 1U << (13 + step);
}

/// Copies the cells of `box` around a block: the first one to `to`, the others by `steps` from there, with the block's
/// lanes or variable by variable (lanes = 1; padding lanes are left out). next: the block from which the same is
/// gathered after this one; planes are then asked for some way ahead, its first ones last. wanted: the pieces of each
/// chunk that are copied, null: all; what others would fill stays as it is. Thread-safe on distinct targets.
/// O(cells * variables).
void gather_cells(const BlockLayout& block, const Surroundings& around, const CellBox& box, const PieceSteps& steps,
                  int lanes, double* to, const Surroundings* next = nullptr, const PieceSet* wanted = nullptr);

/// Asks for the far pieces beside rows [begin, end) of plane z of a chunk of a block, edges and corners included but
/// without the cells before and behind the rows themselves, to be in the caches when they are wanted.
void prefetch_beside(const BlockLayout& block, const Surroundings& around, int chunk, int z, int begin, int end);

/// Extended faces across an axis (kernels/tile.hpp says what they hold): one layer of cells [chunk][z][y][x][lane],
/// with coordinates -1 to n along the axes before it, 0 to n - 1 along those behind it, and 0 across the face. Plain
/// data.
struct FaceLayout {
  FaceLayout() = default;
  FaceLayout(const BlockLayout& block, int axis);

  std::array<int, 3> low{}, count{};  ///< first coordinate, and cells, along x, y, z
  int lanes = 1, chunks = 1;
  [[nodiscard]] std::array<std::size_t, 3> strides() const {
    const std::size_t row = std::size_t(count[0]) * lanes;
    return {std::size_t(lanes), row, row * count[1]};
  }
  [[nodiscard]] std::size_t chunk_values() const { return strides()[2] * count[2]; }
  /// Doubles of a face.
  [[nodiscard]] std::size_t values() const { return chunk_values() * chunks; }
  /// Offset of a cell in its chunk.
  [[nodiscard]] std::size_t cell(int x, int y, int z) const {
    const std::array<std::size_t, 3> step = strides();
    return (z - low[2]) * step[2] + (y - low[1]) * step[1] + (x - low[0]) * step[0];
  }
};
[[nodiscard]] PieceSteps piece_steps(const FaceLayout& faces);

}  // namespace amrbench::kernels
