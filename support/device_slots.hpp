#pragma once
// A growing array of equal slots in device memory, the twin of amr/slot_array.hpp: extents that never move and can pass
// from one array to another, because memory for gigabytes of blocks is dear to ask for and to give back, also on a GPU.
//
// Invariants: a slot lies in one extent; extent k holds the slots [k * S, (k + 1) * S), S a power of two; slots are
// aligned to 256 bytes when slot_values is a multiple of 32, else to 8. view() is what kernels use.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/cuda.hpp"

namespace amrbench::support {

/// Where slots lie, for kernels: plain data, passed by value. `extents` is a table in device memory.
struct DeviceSlots {
  double* const* extents = nullptr;
  int shift = 0;  ///< log2 of the slots an extent
  std::int64_t slot_values = 0;
#if defined(__CUDACC__)
  __device__ double* at(int slot) const {
    return extents[slot >> shift] + static_cast<std::int64_t>(slot & ((1 << shift) - 1)) * slot_values;
  }
#endif
};

class DeviceSlotArray {
 public:
  /// `slot_values`: doubles a slot, at least 1. `extent_bytes`: at most this much is asked for at once, and at least
  /// one slot.
  explicit DeviceSlotArray(std::size_t slot_values, std::size_t extent_bytes = std::size_t{64} << 20)
      : slot_values_(slot_values),
        shift_(std::bit_width(std::max<std::size_t>(1, extent_bytes / sizeof(double) / slot_values)) - 1) {}

  [[nodiscard]] std::int64_t capacity() const { return static_cast<std::int64_t>(extents_.size()) << shift_; }
  [[nodiscard]] std::int64_t extent_slots() const { return std::int64_t{1} << shift_; }

  /// Bytes that growing to `slots` slots would ask for.
  [[nodiscard]] std::size_t growth_bytes(std::int64_t slots) const {
    if (slots <= capacity()) return 0;
    const auto extents = static_cast<std::size_t>((slots - capacity() + extent_slots() - 1) >> shift_);
    return extents * (slot_values_ << shift_) * sizeof(double);
  }
  /// Room for at least `slots` slots; those there are kept, new ones hold undefined values. RunError when there is no
  /// memory.
  void grow(std::int64_t slots) {
    while (capacity() < slots) extents_.emplace_back((slot_values_ << shift_) * sizeof(double));
  }
  /// The same, with the last extents of `donor` before new memory. The donor loses their slots; nothing on the device
  /// may still use them. Both arrays have slots of the same size.
  void grow_from(DeviceSlotArray& donor, std::int64_t slots) {
    while (capacity() < slots && !donor.extents_.empty()) {
      extents_.push_back(std::move(donor.extents_.back()));
      donor.extents_.pop_back();
    }
    grow(slots);
  }
  /// No slots; all memory goes back to the system.
  void clear() { extents_.clear(); }
  void swap(DeviceSlotArray& other) noexcept {
    std::swap(slot_values_, other.slot_values_);
    std::swap(shift_, other.shift_);
    extents_.swap(other.extents_);
    table_.swap(other.table_);
    std::swap(written_, other.written_);
  }

  /// For kernels put into `stream` from now on; valid until the next grow, grow_from, clear or swap. Copies the table
  /// of extents when it changed.
  [[nodiscard]] DeviceSlots view(const CudaStream& stream) {
    std::vector<double*> now;
    now.reserve(extents_.size());
    for (const auto& extent : extents_) now.push_back(static_cast<double*>(extent.data()));
    if (now != written_) {
      // More room than it is ever likely to need: making it anew waits for all that the device has to do.
      table_.resize_discard(std::max(now.size(), kTableRoom));
      copy_to_device(table_.data(), now.data(), now.size(), stream);
      written_ = std::move(now);
    }
    return {table_.data(), shift_, static_cast<std::int64_t>(slot_values_)};
  }
  /// Device address of a slot, for copies that the host starts.
  [[nodiscard]] double* address(std::int64_t slot) const {
    return static_cast<double*>(extents_[slot >> shift_].data()) +
           static_cast<std::size_t>(slot & (extent_slots() - 1)) * slot_values_;
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t bytes = table_.bytes();
    for (const auto& extent : extents_) bytes += extent.bytes();
    return bytes;
  }

 private:
  static constexpr std::size_t kTableRoom = 16384;  ///< extents: of 64 MiB a terabyte

  std::size_t slot_values_;
  int shift_;
  std::vector<DeviceRegion> extents_;
  DeviceBuffer<double*> table_;
  std::vector<double*> written_;  ///< what the table holds
};

}  // namespace amrbench::support
