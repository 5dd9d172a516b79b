#pragma once
// Statistics of fields on a GPU: the exact sums, extremes and hashes of support/field_stats.hpp, to the bit.
//
// In:  the blocks in a list of slots.
// Out: sums, sums of squares, least and greatest values and a hash, for each variable.
//
// The idea. An exact sum of any doubles is a long integer of 32-bit digits (support/superaccumulator.hpp). Neighbouring
// values have much the same exponent, so a thread keeps just three digits of that integer in registers, adds mantissas
// to them, and hands them over to words in device memory when a value's exponent lies outside of them, and at the end.
// A thread keeps to one lane, so to one variable. Integer sums need no order. Bytes: one read of each value.
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
