#pragma once
// Lists in the order of a small key, made by all threads.
#include <omp.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace amrbench::support {

/// Where the items of each key begin in a list that is ordered by key; the last entry is their number.
template <std::size_t Keys>
using KeyStarts = std::array<int, Keys + 1>;

/// Copies items to `ordered`, of the same length, in the order of key(item), below Keys; those of one key stay in their
/// order. O(items).
template <std::size_t Keys, class Item, class Key>
KeyStarts<Keys> order_by_key(std::span<const Item> items, std::span<Item> ordered, const Key& key) {
  constexpr std::size_t kSerial = 4096;
  const std::size_t parts = items.size() < kSerial ? 1 : static_cast<std::size_t>(omp_get_max_threads());
  std::vector<std::array<int, Keys>> next(parts);
  const auto part = [&](std::size_t p) {
    const std::size_t begin = items.size() * p / parts;
    return items.subspan(begin, items.size() * (p + 1) / parts - begin);
  };
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::size_t p = 0; p < parts; ++p) {
    std::array<int, Keys> mine{};  // on a stack of its own: no line of the cache is shared
    for (const Item& item : part(p)) ++mine[key(item)];
    next[p] = mine;
  }
  KeyStarts<Keys> starts{};
  int before = 0;
  for (std::size_t k = 0; k < Keys; ++k) {
    starts[k] = before;
    for (auto& of_part : next) before += std::exchange(of_part[k], before);
  }
  starts[Keys] = before;
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::size_t p = 0; p < parts; ++p) {
    std::array<int, Keys> at = next[p];
    for (const Item& item : part(p)) ordered[static_cast<std::size_t>(at[key(item)]++)] = item;
  }
  return starts;
}

}  // namespace amrbench::support
