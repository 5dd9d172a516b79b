#include "amr/dictionary.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace amrbench::amr {

void Dictionary::reserve(std::size_t families) {
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(2, (2 * families + kWays - 1) / kWays));
  mask_ = buckets - 1;
  shift_ = 64 - std::countr_zero(buckets);
  buckets_.grow(buckets);
}

/// Three quarters of the ways may be in use in the end.
std::size_t Dictionary::room() const {
  const std::size_t most = buckets_.empty() ? 0 : (mask_ + 1) * kWays / 4 * 3;
  return most - std::min(most, entries_);
}

/// The entry of a family: `entry`, or the one that this or another thread entered it with before.
std::uint32_t Dictionary::find_or_add(std::uint64_t tag, std::uint32_t entry) {
  for (std::size_t at = home(tag);; at = (at + 1) & mask_) {
    Bucket& bucket = buckets_[at];
    for (std::size_t way = 0; way < kWays; ++way) {
      std::atomic_ref<std::uint64_t> held(bucket.tag[way]);
      std::atomic_ref<std::uint32_t> number(bucket.entry[way]);
      std::uint64_t now = held.load(std::memory_order_relaxed);
      if (now == kEmpty && held.compare_exchange_strong(now, tag, std::memory_order_relaxed)) {
        number.store(entry, std::memory_order_relaxed);
        return entry;
      }
      if (now != tag) continue;
      // The thread that took the way may not have written the number yet.
      while ((now = number.load(std::memory_order_relaxed)) == kUnnumbered) {
      }
      return static_cast<std::uint32_t>(now);
    }
  }
}

/// Enters keys [begin, end) with the indices from first + begin on; their runs of siblings have the numbers from `run`
/// on. Different members of a family may be entered by different threads.
void Dictionary::enter(std::span<const std::uint64_t> keys, std::size_t begin, std::size_t end, std::size_t run,
                       std::int32_t first) {
  constexpr std::size_t kAhead = 48;  // keys, about six families: their buckets lie anywhere
  Members* members = nullptr;
  std::uint64_t tag = kEmpty;
  for (std::size_t i = begin; i < end; ++i) {
    if (i + kAhead < end) __builtin_prefetch(&buckets_[home(family(keys[i + kAhead]))], 1);
    const std::uint64_t next = family(keys[i]);
    if (next != tag) {
      tag = next;
      members = &members_[find_or_add(tag, static_cast<std::uint32_t>(run++))];
    }
    members->index[member(keys[i])] = first + static_cast<std::int32_t>(i);
  }
}

/// Runs of siblings before each thread's stretch, and in all. There are more of them than families: descendants of one
/// sibling interrupt a family's run, and so does the end of a stretch.
std::vector<std::size_t> Dictionary::runs_of(std::span<const std::uint64_t> keys) {
  const int threads = keys.size() > kSerial ? omp_get_max_threads() : 1;
  std::vector<std::size_t> runs(threads + 1, 0);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int t = 0; t < threads; ++t) {
    std::uint64_t tag = kEmpty;
    std::size_t count = 0;
    for (std::size_t i = keys.size() * t / threads; i < keys.size() * (t + 1) / threads; ++i) {
      const std::uint64_t next = family(keys[i]);
      count += next != tag ? 1 : 0;
      tag = next;
    }
    runs[t + 1] = count;
  }
  std::partial_sum(runs.begin(), runs.end(), runs.begin());
  return runs;
}

void Dictionary::build(std::span<const std::uint64_t> keys) {
  if (keys.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::length_error("dictionary of more than 2^31 - 1 keys");
  }
  const std::vector<std::size_t> runs = runs_of(keys);
  reserve(runs.back());
#pragma omp parallel for schedule(static) num_threads(static_cast <int>(runs.size()) - 1)
  for (std::size_t at = 0; at <= mask_; ++at) buckets_[at] = kVacant;
  entries_ = 0;
  enter_all(keys, runs, 0);
}

void Dictionary::add(std::span<const std::uint64_t> keys, std::int32_t first) {
  enter_all(keys, runs_of(keys), first);
}

void Dictionary::enter_all(std::span<const std::uint64_t> keys, std::span<const std::size_t> runs, std::int32_t first) {
  const std::size_t before = std::exchange(entries_, entries_ + runs.back());
  const int threads = static_cast<int>(runs.size()) - 1;
  members_.grow(entries_);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (std::size_t entry = before; entry < entries_; ++entry) members_[entry] = kAbsent;
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      enter(keys, keys.size() * t / threads, keys.size() * (t + 1) / threads, before + runs[t], first);
  }
}

}  // namespace amrbench::amr
