#pragma once
// The dictionary: from a block's key to its place (document 001, section 5.2.1).
//
// A hash table of families instead of keys: the keys of eight siblings (3-D; two adjacent families in 2-D) differ in
// the three bits above the marker bit only, so one slot holds the indices of all of them. What follows:
// - Look-ups in curve order find most of what they want in the slots just used, and there are about n / 7 slots in use.
// - Building in curve order probes once a run of siblings, not once a key.
// - An absent family, the usual miss, is told from an array of 8-byte tags alone; they fit in cache where keys would
// not. Compared with sorted keys, Boost's flat map and a plain table in bench/dictionary_bench.cpp.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace amrbench::amr {

/// Maps the keys of a sorted list to their indices. Rebuilt whenever the list changes (O(n)); look-ups are const, O(1)
/// expected, and safe from several threads. Holds what it needs itself: it keeps no reference to the list, and its
/// memory from build to build, about 20 bytes a key for meshes. Not collective.
class Dictionary {
 public:
  static constexpr std::int32_t kNone = -1;
  Dictionary() = default;

  /// keys: ascending, distinct, none 0 and none all ones; at most 2^31 - 1 of them, else std::length_error.
  void build(std::span<const std::uint64_t> keys);

  /// Index of `key` in the list of the last build, or kNone; any value may be asked for, 0 too. Before the first build
  /// nothing is found.
  [[nodiscard]] std::int32_t find(std::uint64_t key) const {
    const std::uint64_t tag = family(key);
    for (std::size_t slot = home(tag);; slot = (slot + 1) & mask_) {
      const std::uint64_t held = tags_[slot];
      if (held == kEmpty) return kNone;
      if (held == tag) return members_[slot].index[member(key)];
    }
  }

 private:
  static constexpr std::size_t kMembers = 8;
  static constexpr std::uint64_t kEmpty = 0;  // no family's tag: a tag keeps its keys' marker bit

  struct alignas(32) Members {
    std::array<std::int32_t, kMembers> index;
  };

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
  void reserve(std::size_t families);

  std::vector<std::uint64_t> tags_ = {kEmpty, kEmpty};
  std::vector<Members> members_;  // members_[slot] means something where tags_[slot] is not kEmpty
  std::size_t mask_ = 1;          // number of slots - 1; a power of two slots, at most half of them in use
  int shift_ = 63;                // 64 - log2(number of slots)
};

}  // namespace amrbench::amr
