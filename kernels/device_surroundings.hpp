#pragma once
// What lies around blocks on a GPU: 27 pieces a block, where they are (the device's twin of kernels/surroundings.hpp).
// Plain data, passed to kernels by value.
#include <array>
#include <cstdint>

#include "kernels/surroundings.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// All pointers are device memory.
struct DeviceSurroundings {
  /// Steps in doubles, by kind of source: rows, planes, chunks, and from a face to the next.
  struct Steps {
    std::int32_t row = 0, plane = 0;
    std::int64_t chunk = 0, face = 0;
  };
  const PieceSource* sources = nullptr;  ///< 27 a block, in the order of Surroundings::index
  const std::int32_t* slots = nullptr;   ///< the slot of each block; null where block i stands in slot i
  support::DeviceSlots blocks;
  std::array<double*, 3> faces{};  ///< extended faces across x, y, z
  std::array<Steps, 4> steps{};    ///< by kind of source

#if defined(__CUDACC__)
  /// The first cell of chunk 0 of a piece.
  [[nodiscard]] __device__ const double* piece(const PieceSource& s) const {
    if (s.kind == PieceSource::kBlock) return blocks.at(slots == nullptr ? s.index : slots[s.index]) + s.offset;
    return faces[s.kind] + s.index * steps[s.kind].face + s.offset;
  }
  /// The value at (x, y, z), each -1 .. n, of a block.
  [[nodiscard]] __device__ const double* value(const BlockLayout& layout, int block, int chunk, int lane, int x, int y,
                                               int z) const {
    const int dx = side(x, layout.cells[0]), dy = side(y, layout.cells[1]), dz = side(z, layout.cells[2]);
    const PieceSource source = sources[static_cast<std::int64_t>(block) * 27 + Surroundings::index(dx, dy, dz)];
    const Steps& step = steps[source.kind];
    return piece(source) + chunk * step.chunk + (dz == 0 ? z * step.plane : 0) + (dy == 0 ? y * step.row : 0) +
           (dx == 0 ? x * layout.lanes : 0) + lane;
  }
  [[nodiscard]] __device__ static int side(int c, int n) {
    return c < 0 ? -1 : c < n ? 0 : 1;
  }
#endif
};

/// The steps, for blocks of `layout`; no pointers.
[[nodiscard]] std::array<DeviceSurroundings::Steps, 4> device_steps(const BlockLayout& layout);

}  // namespace amrbench::kernels
