#pragma once
// The values of a rank's blocks: two flat buffers and the place of each block in the first.
//
// A stage reads every block where it lies in the input buffer and writes block i to place i of the output buffer, in
// curve order; then the buffers swap. So the copy that puts blocks back into curve order after a refinement or a
// migration is no pass of its own: the next stage does it while it computes. Until then new blocks stand in slots that
// others left, or behind all others, and `slot` says where.
// Buffers grow without copying and are never sized ahead (amr/slot_array.hpp). Between stages the values of the output
// buffer are of no use to anybody: slots that a refinement or a migration asks for come out of its memory, and the next
// stage gets new memory for its results.
#include <cstdint>
#include <span>
#include <vector>

#include "amr/slot_array.hpp"
#include "kernels/layout.hpp"

namespace amrbench::amr {

class FieldStore {
 public:
  explicit FieldStore(const kernels::BlockLayout& layout)
      : layout_(layout), in_(layout.block_values()), out_(layout.block_values()) {}

  [[nodiscard]] const kernels::BlockLayout& layout() const { return layout_; }
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(slots_.size()); }

  /// Values of block i, block_values() doubles.
  [[nodiscard]] const double* block(std::int32_t i) const { return in_.slot(slots_[i]); }
  [[nodiscard]] double* block(std::int32_t i) { return in_.slot(slots_[i]); }
  [[nodiscard]] std::int64_t slot(std::int32_t i) const { return slots_[i]; }
  [[nodiscard]] std::span<const std::int64_t> slots() const { return slots_; }
  /// Values in a slot that need not belong to a block (yet).
  [[nodiscard]] double* slot_values(std::int64_t slot) { return in_.slot(slot); }

  /// `count` slots that belong to no block, freed ones first, in ascending order. Their values are undefined. Pointers
  /// to slots stay valid.
  [[nodiscard]] std::vector<std::int64_t> take(std::size_t count);
  /// Slots whose values nobody needs any more.
  void give_back(std::span<const std::int64_t> slots) { free_.insert(free_.end(), slots.begin(), slots.end()); }
  /// Says in which slots the blocks of the mesh, in its order, now are.
  void set_slots(std::vector<std::int64_t> slots) { slots_ = std::move(slots); }
  /// Forgets all blocks, then holds `count` of undefined values in slots 0 .. count - 1.
  void reset(std::int64_t count);

  /// Room for every block's result. Call before a stage; pointers into the output buffer hold until the next call.
  void prepare_output();
  [[nodiscard]] double* output(std::int32_t i) { return out_.slot(i); }
  /// The results become the input; block i stands in slot i.
  void swap_buffers();

  [[nodiscard]] std::size_t memory_bytes() const {
    return in_.memory_bytes() + out_.memory_bytes() + slots_.capacity() * 8;
  }

 private:
  kernels::BlockLayout layout_;
  SlotArray in_;
  SlotArray out_;
  std::vector<std::int64_t> slots_;
  std::vector<std::int64_t> free_;  ///< slots below used_ that belong to no block
  std::int64_t used_ = 0;
};

}  // namespace amrbench::amr
