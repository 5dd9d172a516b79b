#include "amr/fields.hpp"

#include <numeric>

namespace amrbench::amr {

std::int64_t FieldStore::append(std::int64_t count) {
  const std::int64_t first = used_;
  used_ += count;
  in_.grow(values_for(used_));
  return first;
}

void FieldStore::reset(std::int64_t count) {
  used_ = count;
  in_.resize_discard(values_for(count));
  slots_.resize(count);
  std::iota(slots_.begin(), slots_.end(), std::int64_t{0});
}

void FieldStore::prepare_output() {
  // grow, not resize_discard: pages that were touched before need not be cleared by the kernel again.
  out_.grow(values_for(size()));
}

void FieldStore::swap_buffers() {
  in_.swap(out_);
  used_ = size();
  std::iota(slots_.begin(), slots_.end(), std::int64_t{0});
}

}  // namespace amrbench::amr
