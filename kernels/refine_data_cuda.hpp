#pragma once
// Values of blocks that split or merge on a GPU: all of them in one launch (the twin of kernels/refine_data.hpp).
#include <array>
#include <cstdint>

#include "kernels/layout.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// Child `octant` of the block in slot `from` goes to slot `to`.
struct SplitJob {
  std::int32_t from, octant, to;
};
/// Eight children, by octant, become the block in slot `to`.
struct MergeJob {
  std::array<std::int32_t, 8> from;
  std::int32_t to;
};

/// No slot that is written may be read by the same launch. Job lists are device memory.
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

}  // namespace amrbench::kernels
