#pragma once
// The 27-point average on a GPU (the twin of kernels/average27.hpp): the same bits, for any shape of blocks.
//
// In:  blocks where they lie, and what lies around them (kernels/device_surroundings.hpp), all ghosts filled.
// Out: new values [chunk][z][y][x][lane], those of block i in slot i of a buffer; exact sums where asked for.
//
// The idea. A thread block takes one chunk of a few small blocks, or some rows of the planes of a large one, and walks
// it along z. Planes with their ghosts come to a ring of three in shared memory, by small asynchronous copies straight
// from where the pieces lie, two ahead. A thread has a column: `Rows` cells, one behind the other along y, of one x and
// lane. It keeps the values of two planes around them in registers and reads those of the third, so the sums of nine of
// its column cost (Rows + 2) / Rows loads each. They pass through shared memory to the threads beside it, which average
// them. One barrier a plane: sums of one plane are averaged behind the barrier of the next.
//
// Counts a value, of a cube of n cells a side: shared memory 8 ((1 + 2 / n)^2 + 1 + 2 / n) bytes written,
// 8 ((1 + 2 / n) (1 + 2 / Rows) + 2) read. All pointers are device memory. Errors: RunError when a launch fails.
// Asynchronous.
#include "kernels/device_sum.hpp"
#include "kernels/device_surroundings.hpp"

namespace amrbench::kernels {

struct Average27Job {
  DeviceSurroundings around;
  const std::int32_t* blocks = nullptr;  ///< which; null = 0 .. count - 1
  int count = 0;
  support::DeviceSlots out;
  DeviceSumView sums;
};

/// Asynchronous.
void launch_average27(const BlockLayout& layout, const Average27Job& job, const support::CudaStream& stream);

}  // namespace amrbench::kernels
