#pragma once
// Statistics of fields on a GPU: the exact sums, extremes and hashes of support/field_stats.hpp, to the bit.
//
// A thread keeps one lane and adds mantissas as integers to three 32-bit digits of the exact sum, which it hands over
// to words in device memory when a value's exponent leaves their window, and at the end. Integer sums need no order.
// Bytes: one read of each value.
#include <cstdint>
#include <vector>

#include "kernels/layout.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"
#include "support/field_stats.hpp"

namespace amrbench::kernels {

/// Statistics of every variable over the blocks in slots[0 .. count); hashes[i] binds values to the place of block i
/// (a cell's hash is mix64(hashes[i], cell)). Lists are device memory. Waits for the stream.
[[nodiscard]] std::vector<support::FieldStats> device_field_stats(const BlockLayout& layout, const std::int32_t* slots,
                                                                  const std::uint64_t* hashes, int count,
                                                                  const support::DeviceSlots& blocks,
                                                                  const support::CudaStream& stream);

}  // namespace amrbench::kernels
