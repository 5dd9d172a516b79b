#pragma once
// How a block's cells and variables lie in memory, and how a face of a block is seen by a neighbour.
//
// A block is nx * ny * nz cells of `variables` doubles, without ghost cells, stored as
//
//   [chunk][z][y][x][lane]      lane fastest, variable = chunk * lanes + lane
//
// so that a row of a chunk is nx * lanes doubles in sequence and every vector instruction works on whole lanes. The
// last chunk may hold padding lanes: they are computed along, start as 0 and stay 0 under every linear stencil. A face
// seen by a neighbour is either in place (inside the block it belongs to) or packed:
//
//   [chunk][b][a][lane]         a, b the two other axes, ascending: (y, z), (x, z), (x, y)
//
// Faces are numbered 0 .. 5 = -x +x -y +y -z +z.
#include <array>
#include <cstddef>
#include <cstdint>

#include "sfc/host_device.hpp"

namespace amrbench::kernels {

inline constexpr int kMaxLanes = 8;  ///< doubles a cache line
inline constexpr int kMaxBlockEdge = 32;
inline constexpr std::size_t kPadding =
    8;  ///< doubles that a buffer must have beyond its last value (vector over-reads)

/// Shape of the blocks of one mesh. Plain data; cheap to copy.
struct BlockLayout {
  std::array<int, 3> cells{8, 8, 8};
  int variables = 1;
  int lanes = 1;
  int chunks = 1;

  /// Of the mesh; a block of a 2-D one has one layer of cells.
  [[nodiscard]] AMRBENCH_HD int dims() const { return cells[2] == 1 ? 2 : 3; }
  [[nodiscard]] AMRBENCH_HD std::size_t block_cells() const { return std::size_t(cells[0]) * cells[1] * cells[2]; }
  [[nodiscard]] AMRBENCH_HD std::size_t chunk_values() const { return block_cells() * lanes; }
  [[nodiscard]] AMRBENCH_HD std::size_t block_values() const { return chunk_values() * chunks; }
  [[nodiscard]] AMRBENCH_HD std::size_t row_values() const { return std::size_t(cells[0]) * lanes; }
  [[nodiscard]] AMRBENCH_HD std::size_t plane_values() const { return row_values() * cells[1]; }
  /// Cells of a face across `axis`, its first (a) and second (b) in-plane axis, and the doubles of a packed face.
  [[nodiscard]] AMRBENCH_HD int face_axis_a(int axis) const { return axis == 0 ? 1 : 0; }
  [[nodiscard]] AMRBENCH_HD int face_axis_b(int axis) const { return axis == 2 ? 1 : 2; }
  [[nodiscard]] AMRBENCH_HD std::size_t face_cells(int axis) const { return block_cells() / cells[axis]; }
  [[nodiscard]] AMRBENCH_HD std::size_t face_values(int axis) const { return face_cells(axis) * lanes * chunks; }
  /// Doubles of a packed quarter face: what crosses a change of level.
  [[nodiscard]] AMRBENCH_HD std::size_t quarter_values(int axis) const { return face_values(axis) / 4; }
  /// Offset of a value in its block.
  [[nodiscard]] AMRBENCH_HD std::size_t offset(int variable, int x, int y, int z) const {
    return std::size_t(variable / lanes) * chunk_values() + ((std::size_t(z) * cells[1] + y) * cells[0] + x) * lanes +
           variable % lanes;
  }
};

/// The layout for `variables` variables: the widest lanes (at most `most_lanes`) among those that waste the fewest
/// padding lanes. Measured choice: docs/decisions/0001-lanes.md. In 2-D each variable is a plane of its own.
[[nodiscard]] BlockLayout make_layout(const std::array<int, 3>& cells, int variables, int most_lanes = kMaxLanes);

/// How fast a stencil is with 1, 2 .. kMaxLanes lanes, in any unit, padding lanes counted as work.
using LaneSpeeds = std::array<int, kMaxLanes>;

/// The smallest layout in which a stencil of these speeds gets through `variables` variables within 3 % as fast as in
/// the fastest one; of equals the faster, then the one of more lanes. In 2-D as above.
[[nodiscard]] BlockLayout make_layout(const std::array<int, 3>& cells, int variables, const LaneSpeeds& speeds);

/// The values of a block of layout `from` as one of layout `to`, which has the same cells and variables, holds them.
/// Padding lanes become 0.
void change_layout(const BlockLayout& from, const double* values, const BlockLayout& to, double* out);

/// Doubles of a page. A load waits for stores before it whose addresses agree with its own in these bits, for
/// processors compare no more at first: an array that is read where results are stored must not lie as they do.
inline constexpr std::size_t kPageValues = 512;

/// Doubles by which blocks of results should begin later in a page than those of the values: where the results of the
/// last vectors lie, a stencil then loads nothing, neither the cells themselves nor their neighbours a row or a plane
/// further. A multiple of 8 below kPageValues; serves as well with values and results exchanged. With one distance for
/// all shapes a block of 30^3 cells with 2 variables took twice the time (one core).
[[nodiscard]] std::size_t result_skew(const BlockLayout& layout);

/// A face as the stencil of the block on its other side reads it.
struct FaceView {
  const double* values = nullptr;  ///< in place: the face's first cell in chunk 0 of its block; packed: the buffer
  bool packed = false;
};

/// Doubles from a block's first value to that of its layer 0 (side 0) or the last one (side 1) along `axis`.
[[nodiscard]] inline std::size_t face_offset(const BlockLayout& layout, int axis, int side) {
  const std::size_t stride = axis == 0   ? std::size_t(layout.lanes)
                             : axis == 1 ? layout.row_values()
                                         : layout.plane_values();
  return side ? std::size_t(layout.cells[axis] - 1) * stride : 0;
}

/// The view of block `block`'s own cells there, in place.
[[nodiscard]] inline FaceView in_place_face(const BlockLayout& layout, const double* block, int axis, int side) {
  return {block + face_offset(layout, axis, side), false};
}

}  // namespace amrbench::kernels
