#pragma once
// Values of blocks that split, merge or move on a GPU: all of them in one launch (the twin of kernels/refine_data.hpp).
// Lists of jobs and slots are device memory. Each function takes a list and does one job a thread block and chunk, in
// any order. Asynchronous. Errors: RunError when a launch fails.
#include <cstdint>

#include "kernels/layout.hpp"
#include "kernels/refine_jobs.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// As split_block and merge_blocks say; the child of octant 0 may stand where its parent does. No job writes what
/// another one reads or writes.
void launch_splits(const BlockLayout& layout, const SplitJob* jobs, int count, const support::DeviceSlots& blocks,
                   const support::CudaStream& stream);
void launch_merges(const BlockLayout& layout, const MergeJob* jobs, int count, const support::DeviceSlots& blocks,
                   const support::CudaStream& stream);

/// A block's values from one place to another, device to device: slot `from` of `source` to slot `to` of `target`.
struct CopyJob {
  std::int32_t from, to;
};
void launch_copies(const BlockLayout& layout, const CopyJob* jobs, int count, const support::DeviceSlots& source,
                   const support::DeviceSlots& target, const support::CudaStream& stream);

/// Blocks in slots[0 .. count) to or from `count` blocks in sequence.
void launch_gather(const BlockLayout& layout, const std::int32_t* slots, int count, const support::DeviceSlots& blocks,
                   double* sequence, const support::CudaStream& stream);
void launch_scatter(const BlockLayout& layout, const std::int32_t* slots, int count, const support::DeviceSlots& blocks,
                    const double* sequence, const support::CudaStream& stream);

}  // namespace amrbench::kernels
