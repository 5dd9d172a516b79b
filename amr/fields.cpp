#include "amr/fields.hpp"

#include <algorithm>
#include <numeric>

namespace amrbench::amr {

std::vector<std::int64_t> FieldStore::take(std::size_t count) {
  // They were given back in curve order, which most often is their own.
  if (!std::is_sorted(free_.begin(), free_.end())) std::sort(free_.begin(), free_.end());
  const auto end = free_.begin() + static_cast<std::ptrdiff_t>(std::min(count, free_.size()));
  std::vector<std::int64_t> slots(free_.begin(), end);
  free_.erase(free_.begin(), end);
  slots.reserve(count);
  while (slots.size() < count) slots.push_back(used_++);
  in_.grow_from(out_, used_);
  return slots;
}

void FieldStore::reset(std::int64_t count) {
  used_ = count;
  free_.clear();
  in_.clear();
  out_.clear();
  in_.grow(count);
  slots_.resize(count);
  std::iota(slots_.begin(), slots_.end(), std::int64_t{0});
}

void FieldStore::prepare_output() {
  out_.grow(size());
}

void FieldStore::swap_buffers() {
  in_.swap(out_);
  used_ = size();
  free_.clear();
  std::iota(slots_.begin(), slots_.end(), std::int64_t{0});
}

}  // namespace amrbench::amr
