#pragma once
// The 7-point average on a GPU: one launch computes a stage of all blocks of a list (the twin of
// kernels/average7/average7.hpp).
//
// In:  a list of blocks (BlockEntry: the slot of a block, what lies behind its six faces, the slot of its result); the
//      input buffer, a block a slot, each [chunk][z][y][x][lane]; packed faces, made before by kernels/faces_cuda.hpp.
// Out: the new values in the output buffer, in the same layout; with sums the exact totals of the variables.
// Each value becomes the average of itself and its six neighbours, by the CPU's cell function in the CPU's order of
// operations and without contraction: the bits are the CPU's.
//
// The idea. A stage must read and write every value once, 16 bytes, and memory bandwidth is what limits it. Faces are
// read where they lie, in the neighbours' blocks; they are free as long as they are found in the second-level cache.
// Blocks come in curve order, so most neighbours are near in the list. The work is ordered such that the blocks under
// way at a time fill as large a part of the domain as they can (tiles), every thread block starts with a prefetch of
// values needed a little later, and neighbouring thread blocks start together (clusters).
//
// Words:
//   slot, chunk, lane   a block's place in a buffer; all cells of a block for `lanes` variables; one of these variables
//                       (kernels/layout.hpp). A lane is never a thread of a warp here
//   packed face         a copy of a face's values, where what lies behind the face is of another rank or level
//   group, piece        consecutive blocks of the list that a thread block takes together; one chunk of a group: the
//                       unit of work. Several thread blocks may share a piece whose chunks are large
//   tile                consecutive groups: chunk 0 of all of them is done first, then chunk 1, and so on. With fewer
//                       chunks of a block under way, more blocks are, and fewer faces are read from memory twice
//   cluster             1 to 8 thread blocks that the hardware starts together on one part of the GPU
//   march, ring, group, planes  the four kernels
// A kernel's settings for a layout are numbered from 0.
//
// Three kernels for blocks of any shape, and one that is faster for a few; best_average7() chooses:
//   march    every layout, every device. A thread owns a column of cells along z (16 bytes of lanes), keeps three
//            planes in registers, and reads its neighbours in x and y through the first-level cache. For planes of few
//            rows
//   group    blocks that fit shared memory. A thread block copies one chunk of a few blocks, and the faces around, to
//            shared memory; a face between two blocks of the group is there already. For planes of 6 rows, and where a
//            block has one or two lanes and is small
//   ring     planes of 6 rows and more, every device. A thread block walks one chunk of a few blocks, or some rows of
//            one, along z. All threads copy the planes to come, each with the cells around it, to a ring of planes in
//            shared memory. For all else
//   planes   as ring, of one block. One warp copies, whole planes at once; the other warps compute
// group and planes need compute capability 9.0 (bulk copies); planes is compiled for four cubes, on which it gains 3
// (16^3 with 8 lanes) to 7 % on ring, with sums up to 11. ring and group move pairs of values whatever the lanes are:
// edges are even, so a row has an even number.
//
// Why prefetches and clusters. Thread blocks come and go in the order of the pieces: ones that stay would drift apart,
// and the faces between them would be gone from the cache. A new thread block waits for memory first, so each
// prefetches what one some way behind it will need. And the second-level cache of a large GPU has two halves, each
// beside half of the multiprocessors; what one half asks of the other passes a link that is nearly always full. Thread
// blocks of a cluster run beside one half, so a face between them passes the link once at most. Larger clusters save
// more but wait for room. Figures: docs/gpu.md.
//
// Errors: RunError when a launch fails. Asynchronous: arguments on the device must outlive the stream's work.
#include <cstdint>

#include "kernels/device_blocks.hpp"
#include "kernels/device_sum.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

enum class Average7Variant : std::uint8_t { automatic, march, group, planes, ring };

struct Average7Options {
  Average7Variant variant = Average7Variant::automatic;  ///< automatic: the table decides all below but each_arrives
  int setting = 0;                                       ///< of the variant, below average7_settings()
  int ahead_bytes = 0;        ///< how far ahead values are prefetched, rounded up to whole pieces of work; 0 = not
  int tile = 0;               ///< blocks a tile; 0 = all of the list, 1 = all chunks of a group one after another
  int cluster = 1;            ///< thread blocks that start together, beside one half of the second-level cache: 1 to 8
  int threads = 0;            ///< ring, group: of a thread block, at most; 0 = the kernel's choice
  bool each_arrives = false;  ///< planes: all threads arrive at barriers, not one a warp for all; for racecheck
};

/// What a launch needs of a multiprocessor, and what each value costs there.
struct Average7Facts {
  int threads = 0;                  ///< a thread block
  int thread_blocks = 0;            ///< present at a time
  int registers = 0;                ///< a thread
  int spilled_bytes = 0;            ///< a thread; should be 0
  std::size_t shared_bytes = 0;     ///< a thread block
  std::size_t flight_bytes = 0;     ///< that a thread block can have under way from memory; march: not counted, 0
  double l2_values = 0;             ///< read from the second-level cache for a value, in whole sectors
  double shared_bytes_a_value = 0;  ///< written to and read from shared memory
};

/// A stage of some blocks. Pointers are device memory.
struct Average7Job {
  const BlockEntry* blocks = nullptr;
  int count = 0;
  support::DeviceSlots in, out;
  const double* packed = nullptr;  ///< packed faces
  DeviceSumView sums;              ///< words null: no sums
};

/// Puts the stage of job.blocks into the stream. Where the variant has no such setting, march does the work.
void launch_average7(const BlockLayout& layout, const Average7Job& job, const support::CudaStream& stream,
                     const Average7Options& options = {});

/// What `automatic` stands for, by the layout and whether sums are asked for: measured choices for a few cubes, else by
/// the rows of a plane and the lanes, as the kernels' list above says.
[[nodiscard]] Average7Options best_average7(const BlockLayout& layout, bool summing);

/// How many settings a variant has for a layout on the current device; 0 = none.
[[nodiscard]] int average7_settings(const BlockLayout& layout, Average7Variant variant);

/// Facts of a launch on the current device; options name a setting that there is.
[[nodiscard]] Average7Facts average7_facts(const BlockLayout& layout, const Average7Options& options, bool summing);

/// "march", "group", "planes", "ring", "automatic".
[[nodiscard]] const char* name_of(Average7Variant variant);

}  // namespace amrbench::kernels
