#pragma once
// The 7-point average on a GPU: all blocks of a list in one launch (the twin of kernels/average7.hpp).
//
// Same cell function, same order of operations, no contraction: the bits of the CPU's kernels. Faces are read where
// they lie; faces that cross a level are packed ones, made before (kernels/faces_cuda.hpp).
// Bytes a block must move: one read and one write of each value; faces come out of the second-level cache when blocks
// are in curve order. So a launch walks tiles of blocks, and each tile chunk by chunk: the blocks in flight at a time
// then cover a larger part of the domain, and fewer faces are read twice from memory. Thread blocks come and go in that
// order (ones that stay drift apart, and their faces are gone from the cache), and the first thing each does is to ask
// for the values of one that comes some way behind it: memory's latency is behind it when it starts.
//
// A large GPU's second-level cache has two halves, each beside half of the multiprocessors, and what one half asks of
// the other passes a link that is as good as full. Thread blocks of a cluster run beside one half: neighbours in a
// cluster fetch the faces between them over that link once at most. Larger clusters save more, but wait for room.
//
// Three kernels; a kernel's settings for a layout are numbered from 0:
//   march    a thread owns a column of cells along z (16 bytes of lanes), holds three planes in registers, and reads
//            its in-plane neighbours through the first-level cache. Every layout, every device
//   group    one chunk of a few blocks in shared memory, by bulk copies, with the faces around; a face between two of
//            them is there already. Small blocks
//   planes   a thread block walks one chunk of one block, or some rows of it, along z; a warp of its own brings planes
//            with their rims into a ring in shared memory. Large blocks
// group and planes need compute capability 9.0 and are made for cubes of usual sizes.
// Errors: RunError when a launch fails. Asynchronous: arguments on the device must outlive the stream's work.
#include <cstdint>

#include "kernels/device_blocks.hpp"
#include "kernels/device_sum.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

enum class Average7Variant : std::uint8_t { automatic, march, group, planes };

struct Average7Options {
  Average7Variant variant = Average7Variant::automatic;  ///< automatic: the table decides all below but each_arrives
  int setting = 0;                                       ///< of the variant, below average7_settings()
  int ahead_bytes = 0;        ///< how far ahead values are prefetched, rounded up to whole pieces of work; 0 = not
  int tile = 0;               ///< blocks a tile; 0 = all of the list, 1 = every piece with all its chunks
  int cluster = 1;            ///< thread blocks that start together, beside one half of the second-level cache: 1 to 8
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

/// What `automatic` stands for, by the layout and whether sums are asked for: one table of measured choices.
[[nodiscard]] Average7Options best_average7(const BlockLayout& layout, bool summing);

/// How many settings a variant has for a layout on the current device; 0 = none.
[[nodiscard]] int average7_settings(const BlockLayout& layout, Average7Variant variant);

/// Facts of a launch on the current device; options name a setting that there is.
[[nodiscard]] Average7Facts average7_facts(const BlockLayout& layout, const Average7Options& options, bool summing);

/// "march", "group", "planes", "automatic".
[[nodiscard]] const char* name_of(Average7Variant variant);

}  // namespace amrbench::kernels
