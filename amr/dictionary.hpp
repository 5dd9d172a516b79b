#pragma once
// The dictionary: from a block's key to its place (document 001, section 5.2.1).
#include <cstdint>
#include <span>

namespace amrbench::amr {

/// Maps the keys of a sorted list to their indices. Rebuilt whenever the list changes (O(n)); look-ups are const and
/// safe from several threads. Holds what it needs itself.
class Dictionary {
 public:
  static constexpr std::int32_t kNone = -1;
  Dictionary() = default;
  /// keys: ascending, distinct, none 0 and none all ones.
  void build(std::span<const std::uint64_t> keys);
  /// Index of `key` in the list of the last build, or kNone.
  [[nodiscard]] std::int32_t find(std::uint64_t key) const;
};

}  // namespace amrbench::amr
