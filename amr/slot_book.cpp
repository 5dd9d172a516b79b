#include "amr/slot_book.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace amrbench::amr {

std::vector<std::int64_t> SlotBook::take(std::size_t count) {
  std::vector<std::int64_t> slots;
  slots.reserve(count);
  std::sort(free_.begin(), free_.end(), std::greater<>());
  while (slots.size() < count && !free_.empty()) {
    slots.push_back(free_.back());
    free_.pop_back();
  }
  while (slots.size() < count) slots.push_back(used_++);
  return slots;
}

void SlotBook::set(std::vector<std::int64_t> slots) {
  slots_ = std::move(slots);
  in_order_ = true;
  for (std::size_t i = 0; i < slots_.size() && in_order_; ++i) in_order_ = slots_[i] == static_cast<std::int64_t>(i);
}

void SlotBook::reset(std::int64_t count) {
  used_ = count;
  free_.clear();
  slots_.resize(count);
  std::iota(slots_.begin(), slots_.end(), std::int64_t{0});
  in_order_ = true;
}

}  // namespace amrbench::amr
