#pragma once
// Exact sums of whole blocks on a GPU, for stencils whose kernels do not add up what they write. One read of 8 bytes a
// value. Errors: RunError when a launch fails. Asynchronous.
#include "kernels/device_sum.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// Adds all values of slots 0 .. count - 1 to the words of `sums`; with `measures`, in device memory, those of slot i
/// times measures[i]. Real: of values in slots, from the first byte on; floats for layouts of one lane.
template <class Real = double>
void launch_block_sums(const BlockLayout& layout, int count, const support::DeviceSlots& blocks,
                       const DeviceSumView& sums, const support::CudaStream& stream, const double* measures = nullptr);

}  // namespace amrbench::kernels
