#pragma once
// How CUDA kernels are told of blocks: a list with one entry of 32 bytes a block, and one launch for all of them.
//
// An entry names slots and faces by numbers, not by addresses, so it stays valid while the two field buffers swap.
// Plain data for host and device; no CUDA header needed.
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/layout.hpp"

namespace amrbench::kernels {

/// What lies behind a face, as the stencil reads it:
///   in place   slot * 2 + side >= 0: layer 0 (side 0) or the last one (side 1) of the block in that input slot
///   packed     ~(offset / 4) < 0: a packed face (kernels/layout.hpp) at that offset of the buffer of packed faces.
///              Packed faces and quarters are multiples of 4 doubles, since edges are even
using FaceCode = std::int32_t;

AMRBENCH_HD constexpr FaceCode face_in_place(std::int32_t slot, int side) {
  return slot * 2 + side;
}
constexpr FaceCode face_packed(std::size_t offset) {
  return ~static_cast<std::int32_t>(offset / 4);
}
AMRBENCH_HD constexpr bool face_is_packed(FaceCode code) {
  return code < 0;
}
AMRBENCH_HD constexpr std::size_t packed_offset(FaceCode code) {
  return static_cast<std::size_t>(~code) * 4;
}

/// A block of a stage. Domain faces are the block's own layer in place.
struct alignas(32) BlockEntry {
  std::int32_t in = 0;  ///< slot of its values
  std::array<FaceCode, 6> faces{};
  std::int32_t out = 0;  ///< slot of its results in the output buffer
};
static_assert(sizeof(BlockEntry) == 32);

}  // namespace amrbench::kernels
