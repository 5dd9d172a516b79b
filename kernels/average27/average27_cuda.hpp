#pragma once
// The 27-point average on a GPU (the twin of kernels/average27/average27.hpp): the same bits, for any shape of blocks.
//
// In:  blocks where they lie, and what lies around them (kernels/device_surroundings.hpp), all ghosts filled.
// Out: new values [chunk][z][y][x][lane], those of block i in slot i of a buffer; exact sums where asked for.
//
// The idea. A thread block takes one chunk of a few small blocks, or some rows of the planes of a large one, and walks
// it along z. Planes with their ghosts come to a ring of three in shared memory, by small asynchronous copies straight
// from where the pieces lie, two ahead. A thread has a column: `Rows` cells, one behind the other along y, of one x and
// lane. It keeps the values of two planes around them in registers and reads those of the third, so the sums of nine of
// its column cost (Rows + 2) / Rows loads each. They pass through shared memory to the threads beside it, which average
// them. One barrier a plane: sums of one plane are averaged behind the barrier of the next. An octet is walked as one
// cube, from a table of 64 pieces: a cube of 8^3 cells has 0.95 ghosts a cell, blocks of 4^3 have 2.4
// (results/reference/h200/octets.txt).
//
// Counts a value, of a cube of n cells a side: shared memory 8 ((1 + 2 / n)^2 + 1 + 2 / n) bytes written,
// 8 ((1 + 2 / n) (1 + 2 / Rows) + 2) read. All pointers are device memory. Errors: RunError when a launch fails.
// Asynchronous.
#include "kernels/device_sum.hpp"
#include "kernels/device_surroundings.hpp"

namespace amrbench::kernels {

/// Of blocks, or of octets: eight blocks with edges of 4 cells and more that make a cube of twice their edge. The
/// sources are then 64 an octet, in the order of Octet::index; those of its blocks say where new values go.
struct Average27Job {
  DeviceSurroundings around;
  const std::int32_t* numbers = nullptr;  ///< which blocks or octets; null = 0 .. count - 1
  int count = 0;
  support::DeviceSlots out;
  DeviceSumView sums;
  bool octets = false;
};

/// Are octets faster than blocks? They have fewer ghosts and longer rows.
[[nodiscard]] bool average27_takes_octets(const BlockLayout& layout);

/// Asynchronous.
void launch_average27(const BlockLayout& layout, const Average27Job& job, const support::CudaStream& stream);

}  // namespace amrbench::kernels
