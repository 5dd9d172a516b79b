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

/// Makes a list in the order of key(item), below Keys; those of one key stay in the order in which they are made.
/// make(begin, end, give) calls give(item) for the items that [begin, end) of [0, n) stands for; it is called twice for
/// all stretches of [0, n), to count and to write, by several threads. room(count): where the list goes. Fewer than
/// `serial` of n are made by one thread. O(n).
template <std::size_t Keys, class Make, class Key, class Room>
KeyStarts<Keys> make_ordered(std::size_t n, const Make& make, const Key& key, const Room& room,
                             std::size_t serial = 4096) {
  const std::size_t parts = n < serial ? 1 : static_cast<std::size_t>(omp_get_max_threads());
  std::vector<std::array<int, Keys>> next(parts);
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::size_t p = 0; p < parts; ++p) {
    std::array<int, Keys> mine{};  // on a stack of its own: no line of the cache is shared
    make(n * p / parts, n * (p + 1) / parts, [&](const auto& item) { ++mine[key(item)]; });
    next[p] = mine;
  }
  KeyStarts<Keys> starts{};
  int before = 0;
  for (std::size_t k = 0; k < Keys; ++k) {
    starts[k] = before;
    for (auto& of_part : next) before += std::exchange(of_part[k], before);
  }
  starts[Keys] = before;
  const auto ordered = room(static_cast<std::size_t>(before));
#pragma omp parallel for schedule(static) if (parts > 1)
  for (std::size_t p = 0; p < parts; ++p) {
    std::array<int, Keys> at = next[p];
    make(n * p / parts, n * (p + 1) / parts,
         [&](const auto& item) { ordered[static_cast<std::size_t>(at[key(item)]++)] = item; });
  }
  return starts;
}

/// Copies items to `ordered`, of the same length, in the order of key(item), as above. O(items).
template <std::size_t Keys, class Item, class Key>
KeyStarts<Keys> order_by_key(std::span<const Item> items, std::span<Item> ordered, const Key& key) {
  const auto make = [&](std::size_t begin, std::size_t end, const auto& give) {
    for (std::size_t i = begin; i < end; ++i) give(items[i]);
  };
  return make_ordered<Keys>(items.size(), make, key, [&](std::size_t) { return ordered; });
}

}  // namespace amrbench::support
