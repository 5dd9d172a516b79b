#pragma once
// The dictionary: from a block's key to its place (document 001, section 5.2.1).
//
// A hash table of families instead of keys: the keys of eight siblings (3-D; two adjacent families in 2-D) differ in
// the three bits above the marker bit only, so one entry holds the indices of all of them. What follows:
// - Building in curve order probes once a run of siblings, not once a key, and there are about n / 7 entries.
// - Entries lie in curve order, so look-ups in curve order find most of what they want in cache lines just used; the
//   hashed part is small: a tag and an entry's number a family.
// - A look-up compares the four tags of a bucket, one cache line, at once. It branches on presence alone, which its
//   caller does anyway: mispredicted branches, and how soon they are found out, are what tables of this size cost.
// Compared with sorted keys, Boost's flat map and a plain table in bench/dictionary_bench.cpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "support/page_buffer.hpp"

namespace amrbench::amr {

/// Maps the keys of a list to their indices. Built by all threads (O(n)), or changed where few keys change; look-ups
/// are const, O(1) expected, and safe from several threads. Holds what it needs itself: it keeps no reference to the
/// list, and its memory from build to build, about 10 bytes a key for meshes. Not collective.
class Dictionary {
 public:
  static constexpr std::int32_t kNone = -1;
  Dictionary() = default;

  /// keys: distinct, none 0 and none all ones, in any order (ascending is fastest); at most 2^31 - 1 of them, else
  /// std::length_error.
  void build(std::span<const std::uint64_t> keys);
  /// Families that may be added before the next build.
  [[nodiscard]] std::size_t room() const;
  /// Adds keys that are not there, of at most room() families, with the indices from `first` on. As build() otherwise.
  void add(std::span<const std::uint64_t> keys, std::int32_t first);
  /// Removes a key that is there. Its family keeps its room.
  void erase(std::uint64_t key) { members_[entry_of(family(key))].index[member(key)] = kNone; }

  /// Index of `key` in the list of the last build, or kNone; any value may be asked for, 0 too. Before the first build
  /// nothing is found.
  [[nodiscard]] std::int32_t find(std::uint64_t key) const {
    if (key == 0 || buckets_.empty()) return kNone;
    const std::size_t entry = entry_of(family(key));
    return entry == kUnnumbered ? kNone : members_[entry].index[member(key)];
  }

 private:
  static constexpr std::size_t kMembers = 8;
  static constexpr std::size_t kWays = 4;
  static constexpr std::uint64_t kEmpty = 0;  // no family's tag: a tag keeps its keys' marker bit

  /// One cache line. Ways are filled from the first; a bucket is full when its last tag is not kEmpty, and the next one
  /// takes over.
  struct alignas(64) Bucket {
    std::array<std::uint64_t, kWays> tag;
    std::array<std::uint32_t, kWays> entry;  // place in members_; means something where the tag is not kEmpty
  };
  struct alignas(32) Members {
    std::array<std::int32_t, kMembers> index;
  };
  static constexpr Members kAbsent{{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone}};

  /// Bit i: way i holds the tag.
  static unsigned matches(const Bucket& bucket, std::uint64_t tag) {
#if defined(__AVX2__)
    const __m256i held = _mm256_load_si256(reinterpret_cast<const __m256i*>(bucket.tag.data()));
    const __m256i equal = _mm256_cmpeq_epi64(held, _mm256_set1_epi64x(static_cast<long long>(tag)));
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(equal)));
#else
    unsigned match = 0;
    for (std::size_t i = 0; i < kWays; ++i) match |= (bucket.tag[i] == tag ? 1U : 0U) << i;
    return match;
#endif
  }
  /// The key without the three bits above its marker.
  static std::uint64_t family(std::uint64_t key) {
    const std::uint64_t marker = key & (0 - key);
    return key & ~(marker * 14);
  }
  /// Those three bits.
  static std::size_t member(std::uint64_t key) {
    return static_cast<std::size_t>(key >> __builtin_ctzll(key) >> 1) % kMembers;
  }
  /// Multiplicative hashing (Knuth): the upper bits of the product with 2^64 over the golden ratio.
  [[nodiscard]] std::size_t home(std::uint64_t tag) const {
    return static_cast<std::size_t>((tag * 0x9e3779b97f4a7c15ULL) >> shift_);
  }
  static constexpr std::uint32_t kUnnumbered = ~std::uint32_t{0};
  static constexpr Bucket kVacant{{}, {kUnnumbered, kUnnumbered, kUnnumbered, kUnnumbered}};
  static constexpr std::size_t kSerial = 16384;  // fewer keys are not worth waking a team of threads four times

  /// The entry of a family, or kUnnumbered.
  [[nodiscard]] std::uint32_t entry_of(std::uint64_t tag) const {
    for (std::size_t at = home(tag);; at = (at + 1) & mask_) {
      const Bucket& bucket = buckets_[at];
      const unsigned match = matches(bucket, tag);
      if (match != 0) return bucket.entry[__builtin_ctz(match)];
      if (bucket.tag[kWays - 1] == kEmpty) return kUnnumbered;
    }
  }
  void reserve(std::size_t families);
  std::uint32_t find_or_add(std::uint64_t tag, std::uint32_t entry);
  static std::vector<std::size_t> runs_of(std::span<const std::uint64_t> keys);
  void enter_all(std::span<const std::uint64_t> keys, std::span<const std::size_t> runs, std::int32_t first);
  void enter(std::span<const std::uint64_t> keys, std::size_t begin, std::size_t end, std::size_t run,
             std::int32_t first);

  support::PageBuffer<Bucket> buckets_;
  support::PageBuffer<Members> members_;  // about in the order of the families' first keys
  std::size_t entries_ = 0;               // of members_ in use
  std::size_t mask_ = 0;                  // number of buckets - 1; a power of two, ways at most half in use
  int shift_ = 63;                        // 64 - log2(number of buckets)
};

}  // namespace amrbench::amr
