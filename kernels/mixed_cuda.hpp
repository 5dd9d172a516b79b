#pragma once
// miniAMR's mixed work on a GPU (the twin of kernels/mixed.hpp), and exact sums of blocks.
//
// In:  blocks where they lie, and what lies around them (kernels/device_surroundings.hpp), all ghosts filled.
// Out: the new values [chunk][z][y][x][lane], those of block i in slot i of a buffer.
//
// A thread block takes a block at a time into a tile of its own, block and ghosts variable by variable. The variables
// depend on one another, so they are computed one after the other, with all threads on the cells or lines of one
// variable and a barrier behind each. The bits are the CPU's: same functions, same order of operations.
// All pointers are device memory. Errors: RunError when a launch fails. Asynchronous.
#include <cstdint>

#include "kernels/device_sum.hpp"
#include "kernels/device_surroundings.hpp"
#include "kernels/mixed.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels {

/// Owns the constants and the tiles of the thread blocks that work at a time.
class DeviceMixed {
 public:
  DeviceMixed(const BlockLayout& layout, const support::CudaStream& stream);
  /// One stage of the `count` blocks in `blocks` (null: 0 .. count - 1) into their slots of `out`.
  void launch(std::int64_t stage, const DeviceSurroundings& around, const std::int32_t* blocks, int count,
              const support::DeviceSlots& out, const support::CudaStream& stream);
  [[nodiscard]] std::size_t memory_bytes() const { return constants_.bytes() + scratch_.bytes(); }

 private:
  TileLayout layout_;
  int groups_ = 1;  ///< thread blocks at a time
  int threads_ = 1;
  int fours_ = 0;  ///< variables / 4
  support::DeviceBuffer<double> constants_;
  support::DeviceBuffer<double> scratch_;
};

/// Adds all values of slots 0 .. count - 1 to the words of `sums`.
void launch_block_sums(const BlockLayout& layout, int count, const support::DeviceSlots& blocks,
                       const DeviceSumView& sums, const support::CudaStream& stream);

}  // namespace amrbench::kernels
