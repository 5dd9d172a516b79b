#pragma once
// What stands beside the six faces of each block, and how the pieces around a block are found from that: in three steps
// at most, along z, y, x. The same function on host and device.
//
// A piece (kernels/surroundings.hpp) is part of the block that is reached by going across faces, as long as blocks of
// the same rank and level stand there; at the domain's boundary one stays. Where a face leads to an extended face
// instead, that has the piece, since it passes on the ghosts of the axes before its own.
#include <array>
#include <cstdint>

#include "kernels/surroundings.hpp"
#include "sfc/host_device.hpp"

namespace amrbench::kernels {

/// What is beside a face, in 4 bytes; tables have 6 a block, in the order of faces.
struct Beside {
  static constexpr std::int32_t kBoundary = -1;  ///< the block's own outermost cells again
  std::int32_t value = kBoundary;                ///< a block from 0 on, an extended face below kBoundary

  [[nodiscard]] AMRBENCH_HD static constexpr Beside face(std::int32_t number) { return {-2 - number}; }
  [[nodiscard]] AMRBENCH_HD constexpr bool is_block() const { return value >= 0; }
  [[nodiscard]] AMRBENCH_HD constexpr bool is_face() const { return value < kBoundary; }
  /// The number of the extended face among those across its axis, which it must be.
  [[nodiscard]] AMRBENCH_HD constexpr std::int32_t face_number() const { return -2 - value; }
};

/// Finds pieces; plain data.
class PieceFinder {
 public:
  PieceFinder() = default;
  explicit PieceFinder(const BlockLayout& block) : cells_(block.cells) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto face = FaceLayout(block, axis).strides();
      for (int a = 0; a < 3; ++a) steps_[axis][a] = static_cast<std::uint32_t>(face[a]);
    }
    steps_[PieceSource::kBlock] = {static_cast<std::uint32_t>(block.offset(0, 1, 0, 0)),
                                   static_cast<std::uint32_t>(block.offset(0, 0, 1, 0)),
                                   static_cast<std::uint32_t>(block.offset(0, 0, 0, 1))};
  }

  /// The three pieces (-1, dy, dz), (0, dy, dz) and (1, dy, dz) of a block; dy, dz: -1, 0 or 1. `beside`: 6 a block.
  AMRBENCH_HD void row(const Beside* beside, std::int32_t block, int dy, int dz, PieceSource* pieces) const {
    const int d[3] = {0, dy, dz};
    std::uint32_t at[3] = {0, 0, 0};  // the row's first cell where it lies
    for (int axis = 2; axis > 0; --axis) {
      if (d[axis] == 0) continue;
      const Beside next = beside[std::int64_t{block} * 6 + 2 * axis + (d[axis] > 0 ? 1 : 0)];
      if (next.is_face()) {
        if (axis == 2) at[1] = dy < 0 ? 0 : dy == 0 ? 1 : static_cast<std::uint32_t>(cells_[1]) + 1;
        for (int k = 0; k < 3; ++k) {
          at[0] = k < 2 ? static_cast<std::uint32_t>(k) : static_cast<std::uint32_t>(cells_[0]) + 1;
          pieces[k] = source(next.face_number(), static_cast<std::uint32_t>(axis), at);
        }
        return;
      }
      at[axis] = first(next, d[axis] > 0, axis);
      if (next.is_block()) block = next.value;
    }
    pieces[1] = source(block, PieceSource::kBlock, at);
    for (int side = 0; side < 2; ++side) {
      const Beside next = beside[std::int64_t{block} * 6 + side];
      at[0] = next.is_face() ? 0 : first(next, side > 0, 0);
      pieces[2 * side] = next.is_face() ? source(next.face_number(), 0, at)
                                        : source(next.is_block() ? next.value : block, PieceSource::kBlock, at);
    }
  }

 private:
  /// Of a block's cells along an axis that which lies beside the face where one stands before it.
  [[nodiscard]] AMRBENCH_HD std::uint32_t first(Beside next, bool upper, int axis) const {
    return upper != next.is_block() ? static_cast<std::uint32_t>(cells_[static_cast<std::size_t>(axis)]) - 1 : 0;
  }
  [[nodiscard]] AMRBENCH_HD PieceSource source(std::int32_t index, std::uint32_t kind,
                                               const std::uint32_t (&at)[3]) const {
    constexpr std::uint32_t kMostOffset = (1U << 30) - 1;
    const std::array<std::uint32_t, 3>& step = steps_[kind];
    return {index, kind, (at[0] * step[0] + at[1] * step[1] + at[2] * step[2]) & kMostOffset};
  }

  std::array<int, 3> cells_{};
  std::array<std::array<std::uint32_t, 3>, 4> steps_{};  ///< doubles from cell to cell along x, y, z, by kind of source
};

/// Eight blocks of an octet: block (x, y, z) of it is first + order[x + 2 y + 4 z].
struct OctetPlace {
  std::int32_t first;
  std::array<std::uint8_t, 8> order;

  /// Piece k of the octet, in the order of Octet::index: which piece of which block it is, as 27 block + piece.
  [[nodiscard]] AMRBENCH_HD std::int64_t piece(int k) const {
    // Of 0 .. 3 along an axis, 1 and 2 are the blocks themselves, 0 and 3 what their outer sides find.
    const int at[3] = {k % 4, k / 4 % 4, k / 16};
    int block = 0, piece = 13;
    for (int a = 0, bit = 1, step = 1; a < 3; ++a, bit *= 2, step *= 3) {
      if (at[a] >= 2) block += bit;
      if (at[a] == 0) piece -= step;
      if (at[a] == 3) piece += step;
    }
    return std::int64_t{27} * (first + order[static_cast<std::size_t>(block)]) + piece;
  }
};

}  // namespace amrbench::kernels
