#pragma once
// The 7-point average on a GPU: all blocks of a list in one launch (the twin of kernels/average7.hpp).
//
// Same cell function, same order of operations, no contraction: the bits of the CPU's kernels. Faces are read where
// they lie; faces that cross a level are packed ones, made before (kernels/faces_cuda.hpp).
// Bytes a block must move: one read and one write of each value; faces come out of the second-level cache when blocks
// are in curve order. So a launch walks tiles of blocks, and each tile chunk by chunk: the blocks in flight at a time
// then cover a larger part of the domain, and fewer faces are read twice from memory.
//
// Two kernels:
//   march    a thread owns a column of cells along z (16 bytes of lanes), holds three planes in registers, and reads
//   its
//            in-plane neighbours through the first-level cache; thread blocks come and go
//   staged   thread blocks stay; a pipeline of bulk copies brings blocks and faces into shared memory ahead of the
//            computation (compute capability 9.0; cubes of 4, 8, 16 cells)
// Errors: RunError when a launch fails. Asynchronous: arguments on the device must outlive the stream's work.
#include <cstdint>

#include "kernels/device_blocks.hpp"
#include "kernels/device_sum.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

enum class Average7Variant : std::uint8_t { automatic, march, staged, staged_alternate };

struct Average7Options {
  Average7Variant variant = Average7Variant::automatic;
  int tile = 0;           ///< blocks a tile; 0 = all of the list, 1 = every block with all its chunks
  bool streaming = true;  ///< results leave the caches first
};

/// A stage of some blocks. Pointers are device memory.
struct Average7Job {
  const BlockEntry* blocks = nullptr;
  int count = 0;
  support::DeviceSlots in, out;
  const double* packed = nullptr;  ///< packed faces
  DeviceSumView sums;              ///< words null: no sums
};

/// Puts the stage of job.blocks into the stream.
void launch_average7(const BlockLayout& layout, const Average7Job& job, const support::CudaStream& stream,
                     const Average7Options& options = {});

/// Are there staged kernels for this layout on the current device?
[[nodiscard]] bool has_staged_average7(const BlockLayout& layout);

}  // namespace amrbench::kernels
