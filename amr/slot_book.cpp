#include "amr/slot_book.hpp"

#include <algorithm>

namespace amrbench::amr {

std::vector<std::int64_t> SlotBook::take(std::size_t count) {
  // They were given back in curve order, which most often is their own.
  if (!std::is_sorted(free_.begin(), free_.end())) std::sort(free_.begin(), free_.end());
  const auto end = free_.begin() + static_cast<std::ptrdiff_t>(std::min(count, free_.size()));
  std::vector<std::int64_t> slots(free_.begin(), end);
  free_.erase(free_.begin(), end);
  slots.reserve(count);
  while (slots.size() < count) slots.push_back(used_++);
  return slots;
}

void SlotBook::set(std::vector<std::int64_t> slots) {
  slots_.swap(slots);
  spare_ = std::move(slots);
  in_order_ = true;
  for (std::size_t i = 0; i < slots_.size() && in_order_; ++i) in_order_ = slots_[i] == static_cast<std::int64_t>(i);
}

void SlotBook::reset(std::int64_t count) {
  used_ = count;
  free_.clear();
  if (in_order_ && size() == count) return;  // as after most stages
  slots_.resize(count);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) slots_[i] = i;
  in_order_ = true;
}

}  // namespace amrbench::amr
