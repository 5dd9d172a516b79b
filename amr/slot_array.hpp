#pragma once
// A growing array of equal slots, in extents that never move and can pass from one array to another.
//
// Why extents: a page that is touched for the first time is cleared by the kernel, which on a virtual machine whose
// host backs memory on demand runs at less than a gigabyte a second, a hundredth of the rate at which the stencil
// computes. An array that grows takes memory which another one holds and does not need just now, and so asks the
// kernel for nothing. Pointers to slots stay valid while slots are added, here or in the other array.
//
// Invariants: a slot lies in one extent; extent k holds the slots [k * S, (k + 1) * S), S a power of two; behind the
// last slot of an extent kernels::kPadding values can be read.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/layout.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

class SlotArray {
 public:
  /// `slot_values`: doubles a slot, at least 1. `skew`: doubles by which slots begin later in an extent, below
  /// kernels::kPageValues. A kernel that reads and writes slots of two arrays should not find both at one offset in a
  /// page (kernels::result_skew).
  explicit SlotArray(std::size_t slot_values, std::size_t skew = 0)
      : slot_values_(slot_values),
        skew_(skew),
        shift_(std::bit_width(std::bit_ceil(std::max<std::size_t>(1, kExtentValues / slot_values)) - 1)) {}

  [[nodiscard]] double* slot(std::int64_t i) { return extents_[i >> shift_].data() + offset(i); }
  [[nodiscard]] const double* slot(std::int64_t i) const { return extents_[i >> shift_].data() + offset(i); }
  [[nodiscard]] std::int64_t capacity() const { return std::int64_t(extents_.size()) << shift_; }
  [[nodiscard]] std::int64_t extent_slots() const { return std::int64_t{1} << shift_; }

  /// Room for at least `slots` slots; those there are kept, new ones hold undefined values. O(extents added). RunError
  /// when there is no memory.
  void grow(std::int64_t slots) {
    while (capacity() < slots) {
      extents_.emplace_back((slot_values_ << shift_) + kernels::kPageValues + kernels::kPadding);
    }
  }
  /// The same, with the last extents of `donor` before new memory. The donor loses their slots; its values there must
  /// not be needed any more. Both arrays have slots of the same size.
  void grow_from(SlotArray& donor, std::int64_t slots) {
    while (capacity() < slots && !donor.extents_.empty()) {
      extents_.push_back(std::move(donor.extents_.back()));
      donor.extents_.pop_back();
    }
    grow(slots);
  }
  /// Writes to every page of slots [first, last), by the threads that loops over as many slots give them to. Values are
  /// undefined then.
  void touch(std::int64_t first, std::int64_t last) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = first; i < last; ++i) touch_slot(i);
  }
  /// No slots; all memory goes back to the system.
  void clear() {
    extents_.clear();
  }
  void swap(SlotArray& other) noexcept {
    std::swap(slot_values_, other.slot_values_);
    std::swap(skew_, other.skew_);
    std::swap(shift_, other.shift_);
    extents_.swap(other.extents_);
  }

  /// Bytes reserved (the kernel counts only pages that were touched).
  [[nodiscard]] std::size_t memory_bytes() const {
    std::size_t bytes = extents_.capacity() * sizeof(extents_[0]);
    for (const auto& extent : extents_) bytes += extent.bytes();
    return bytes;
  }

 private:
  /// Extents are at least 8 MiB: four huge pages, and few system calls and mappings for many gigabytes.
  static constexpr std::size_t kExtentValues = std::size_t{1} << 20;

  void touch_slot(std::int64_t i) {
    constexpr std::size_t kStep = 512;  // doubles of a page of 4 KiB
    for (std::size_t k = 0; k < slot_values_; k += kStep) slot(i)[k] = 0.0;
    slot(i)[slot_values_ - 1] = 0.0;
  }
  [[nodiscard]] std::size_t offset(std::int64_t i) const {
    return skew_ + std::size_t(i & ((std::int64_t{1} << shift_) - 1)) * slot_values_;
  }

  std::size_t slot_values_;
  std::size_t skew_;  ///< doubles before the first slot of an extent
  int shift_;         ///< log2 of the slots an extent
  std::vector<support::PageBuffer<double>> extents_;
};

}  // namespace amrbench::amr
