#pragma once
// Initial fields made on a GPU (the twin of what amr/initial.hpp does on the CPU): nothing is copied from the host.
#include <array>
#include <cstdint>

#include "kernels/layout.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// A block of a mesh of root cells: its slot and its coordinates in blocks.
struct RootBlock {
  std::int32_t slot;
  std::array<std::uint32_t, 3> coord;
};

/// All values of `count` blocks: 1 (ones) or random_value of the global cell, the variable and the seed; 0 in padding
/// lanes. The list is device memory.
void launch_initial(const BlockLayout& layout, const RootBlock* blocks, int count, const support::DeviceSlots& slots,
                    bool ones, std::uint64_t seed, const support::CudaStream& stream);

}  // namespace amrbench::kernels
