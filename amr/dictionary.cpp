#include "amr/dictionary.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>

namespace amrbench::amr {

void Dictionary::reserve(std::size_t families) {
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(2, (2 * families + kWays - 1) / kWays));
  mask_ = buckets - 1;
  shift_ = 64 - std::countr_zero(buckets);
  buckets_.assign(buckets, Bucket{});
  members_.clear();
  members_.reserve(families);
}

std::uint32_t Dictionary::find_or_add(std::uint64_t tag) {
  for (std::size_t at = home(tag);; at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    for (std::size_t way = 0; way < kWays; ++way) {
      if (bucket.tag[way] == tag) return bucket.entry[way];
      if (bucket.tag[way] == kEmpty) {
        bucket.tag[way] = tag;
        bucket.entry[way] = static_cast<std::uint32_t>(members_.size());
        members_.push_back(kAbsent);
        return bucket.entry[way];
      }
    }
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

  Members* members = nullptr;
  tag = kEmpty;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t next = family(keys[i]);
    if (next != tag) {
      tag = next;
      members = &members_[find_or_add(tag)];
    }
    members->index[member(keys[i])] = static_cast<std::int32_t>(i);
  }
}

}  // namespace amrbench::amr
