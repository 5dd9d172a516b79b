#pragma once
// Which slot each block of a rank stands in, and which slots are free; one for all back ends.
//
// Invariants: slots in use, slots that belong to no block and slots taken but not yet set are disjoint and together are
// 0 .. used() - 1. Slots freed first are those taken first. Plain bookkeeping: no memory of blocks is touched.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace amrbench::amr {

class SlotBook {
 public:
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(slots_.size()); }
  /// The list is not read where it says nothing: kernels would wait for it at six neighbours of each small block.
  [[nodiscard]] std::int64_t slot(std::int32_t i) const { return in_order_ ? i : slots_[i]; }
  [[nodiscard]] std::span<const std::int64_t> slots() const { return slots_; }
  /// Slots that the input buffer must have.
  [[nodiscard]] std::int64_t used() const { return used_; }
  /// Does block i stand in slot i, for all blocks?
  [[nodiscard]] bool in_order() const { return in_order_; }

  /// `count` slots that belong to no block, freed ones first, in ascending order.
  [[nodiscard]] std::vector<std::int64_t> take(std::size_t count);
  void give_back(std::span<const std::int64_t> slots) { free_.insert(free_.end(), slots.begin(), slots.end()); }
  /// Says in which slots the blocks of the mesh, in its order, now are.
  void set(std::vector<std::int64_t> slots);
  /// A list of any contents for set(): the memory of one before.
  [[nodiscard]] std::vector<std::int64_t> spare() { return std::move(spare_); }
  /// Forgets all slots, then has `count` blocks in slots 0 .. count - 1.
  void reset(std::int64_t count);

 private:
  std::vector<std::int64_t> slots_, spare_;
  std::vector<std::int64_t> free_;  ///< slots below used_ that belong to no block
  std::int64_t used_ = 0;
  bool in_order_ = true;
};

}  // namespace amrbench::amr
