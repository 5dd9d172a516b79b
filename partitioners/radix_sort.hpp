#pragma once
// Stable parallel radix sort of (key, value) pairs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

template <class Key, class Value>
struct KeyValue {
  Key key;
  Value value;
};

/// Sorts data by key; equal keys keep their order. `spare` has data's size and is overwritten. Digits of 11 bits; one
/// that all keys share costs no move. O(n * bits / 11).
template <class Key, class Value>
void radix_sort(support::PageBuffer<KeyValue<Key, Value>>& data, support::PageBuffer<KeyValue<Key, Value>>& spare,
                int threads) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  const std::size_t n = data.size();
  const auto blocks = static_cast<std::size_t>(threads);
  std::vector<std::array<std::size_t, kDigits>> count(blocks);
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += kBits) {
    const auto digit = [shift](Key key) { return static_cast<std::size_t>(key >> shift) & (kDigits - 1); };
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t b = 0; b < blocks; ++b) {
      count[b].fill(0);
      for (std::size_t i = n * b / blocks; i < n * (b + 1) / blocks; ++i) ++count[b][digit(data[i].key)];
    }
    std::size_t start = 0;
    bool one_digit = false;
    for (std::size_t d = 0; d < kDigits; ++d) {
      const std::size_t before = start;
      for (auto& c : count) start += std::exchange(c[d], start);
      one_digit = one_digit || start - before == n;
    }
    if (one_digit) continue;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t b = 0; b < blocks; ++b) {
      auto& next = count[b];
      for (std::size_t i = n * b / blocks; i < n * (b + 1) / blocks; ++i) spare[next[digit(data[i].key)]++] = data[i];
    }
    std::swap(data, spare);
  }
}

}  // namespace amrbench::partitioners
