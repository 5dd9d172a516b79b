#pragma once
// miniAMR's mixed work on a GPU (the twin of kernels/mixed.hpp).
//
// In:  blocks where they lie, and what lies around them (kernels/device_surroundings.hpp), all ghosts filled.
// Out: the new values [chunk][z][y][x][lane], those of block i in slot i of a buffer.
//
// The variables depend on one another, but only at the same place of the four groups, and on the first two; nothing is
// copied to a tile. Variables 0 and 1 and those behind the groups come first, a thread a cell. Then a thread has a
// column of cells and a place: in stages of kind 0 it does a cell after the other, in kinds 1 to 3 it walks along the
// axis of transport, groups 2 and 3 a cell behind group 1; in kinds 4 and 5 group after group is done for all columns,
// in one launch where blocks are small, else in four. Neighbours in a warp have neighbours in memory: places that are
// lanes of a chunk, then cells. The bits are the CPU's: same formulas, same order of operations.
//
// Bytes, of V variables: kind 0 to 3 read 5 / 4 V values a cell and write V; kinds 4 and 5 read 4 V and write V where
// the cache does not help.
// All pointers are device memory. Errors: RunError when a launch fails. Asynchronous.
#include <cstdint>

#include "kernels/device_surroundings.hpp"
#include "kernels/mixed.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels {

/// Owns the constants.
class DeviceMixed {
 public:
  DeviceMixed(const BlockLayout& layout, const support::CudaStream& stream);
  /// One stage of the `count` blocks in `blocks` (null: 0 .. count - 1) into their slots of `out`. Returns how many
  /// kernels it launched.
  int launch(std::int64_t stage, const DeviceSurroundings& around, const std::int32_t* blocks, int count,
             const support::DeviceSlots& out, const support::CudaStream& stream);
  [[nodiscard]] std::size_t memory_bytes() const { return constants_.bytes(); }

 private:
  BlockLayout layout_;
  int m_;  ///< variables of a group
  support::DeviceBuffer<double> constants_;
};

}  // namespace amrbench::kernels
