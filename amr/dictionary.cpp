#include "amr/dictionary.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace amrbench::amr {

void Dictionary::reserve(std::size_t families) {
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(2, 2 * families));
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
  tags_.assign(slots, kEmpty);
  if (members_.size() < slots) {
    members_.clear();  // nothing to keep: do not let growth copy it
    members_.resize(slots);
  }
}

void Dictionary::build(std::span<const std::uint64_t> keys) {
  if (keys.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::length_error("dictionary of more than 2^31 - 1 keys");
  }
  // Runs of siblings: an upper bound of the number of families (descendants of one sibling interrupt its family's run).
  std::size_t runs = 0;
  std::uint64_t tag = kEmpty;
  for (const std::uint64_t key : keys) {
    const std::uint64_t next = family(key);
    runs += next != tag ? 1 : 0;
    tag = next;
  }
  reserve(runs);

  constexpr Members kAbsent{{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone}};
  std::size_t slot = 0;
  tag = kEmpty;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t next = family(keys[i]);
    if (next != tag) {
      tag = next;
      slot = home(tag);
      while (tags_[slot] != kEmpty && tags_[slot] != tag) slot = (slot + 1) & mask_;
      if (tags_[slot] == kEmpty) {
        tags_[slot] = tag;
        members_[slot] = kAbsent;
      }
    }
    members_[slot].index[member(keys[i])] = static_cast<std::int32_t>(i);
  }
}

}  // namespace amrbench::amr
