#pragma once
// Lists of the same points, one sorted along each axis, that stay sorted while nodes are split: the seed's presorted
// median. Only this folder and kd_tree.cpp include this.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/kd/exec.hpp"
#include "partitioners/kd/select.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/weights.hpp"

namespace amrbench::partitioners::kd {

/// `dim` lists over one set of points that ids address. Node [first, first + count) stands at the same place in each.
template <class T, class Index>
struct Lists {
  int dim;
  std::vector<Index*> list;     ///< dim pointers
  const T* x;                   ///< coordinates of id: x[id * dim ..]
  const std::uint64_t* weight;  ///< of id, or nullptr
  std::uint8_t* upper;          ///< mark of id
  Index* spare;                 ///< as long as the longest node

  [[nodiscard]] T at(int d, std::size_t i) const {
    return x[static_cast<std::size_t>(list[static_cast<std::size_t>(d)][i]) * static_cast<std::size_t>(dim) +
             static_cast<std::size_t>(d)];
  }
  [[nodiscard]] Mass mass(int d, std::size_t i) const {
    return weight == nullptr ? 1 : point_mass(weight[list[static_cast<std::size_t>(d)][i]]);
  }
};

/// Longest axis of the node's tight box, whose ends the sorted lists show.
template <class T, class Index>
int longest_axis(const Lists<T, Index>& lists, std::size_t first, std::size_t count) {
  int axis = 0;
  T side = -1;
  for (int d = 0; d < lists.dim; ++d) {
    const T s = lists.at(d, first + count - 1) - lists.at(d, first);
    if (s > side) {
      axis = d;
      side = s;
    }
  }
  return axis;
}

/// Where the splitter cuts the node in its list along `axis`. Samples of a sorted list cost nothing, so a sampled
/// median is the exact one here.
template <class T, class Index>
Cut cut_lists(const Lists<T, Index>& lists, std::size_t first, std::size_t count, int axis, Splitter splitter) {
  const T lo = lists.at(axis, first), hi = lists.at(axis, first + count - 1);
  if (splitter == Splitter::midpoint && lo < hi) {
    const T value = middle(lo, hi);
    std::size_t begin = 1, end = count - 1;  // first position above value
    while (begin < end) {
      const std::size_t half = begin + (end - begin) / 2;
      if (lists.at(axis, first + half) <= value) {
        begin = half + 1;
      } else {
        end = half;
      }
    }
    return {begin, static_cast<double>(value)};
  }
  std::size_t m = count / 2;
  if (lists.weight != nullptr) {
    Mass total = 0;
    for (std::size_t i = 0; i < count; ++i) total += lists.mass(axis, first + i);
    Mass below = 0, with = 0;
    for (m = 0; 2 * with < total; ++m) {
      below = with;
      with += lists.mass(axis, first + m);
    }
    if (2 * with - total >= total - 2 * below) --m;
    m = std::clamp<std::size_t>(m, 1, count - 1);
  }
  return {m, static_cast<double>(lists.at(axis, first + m - 1))};
}

/// Brings every list into (lower, upper) order, stably, given the cut in the list along `axis`. One thread.
template <class T, class Index>
void split_lists(const Lists<T, Index>& lists, std::size_t first, std::size_t count, int axis, std::size_t cut) {
  const Index* sorted = lists.list[static_cast<std::size_t>(axis)] + first;
  for (std::size_t i = 0; i < count; ++i) lists.upper[sorted[i]] = i >= cut;
  for (int d = 0; d < lists.dim; ++d) {
    if (d == axis) continue;
    Index* list = lists.list[static_cast<std::size_t>(d)] + first;
    std::size_t low = 0, high = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Index id = list[i];
      const std::size_t up = lists.upper[id];
      list[low] = id;
      lists.spare[high] = id;
      low += 1 - up;
      high += up;
    }
    std::copy(lists.spare, lists.spare + high, list + low);
  }
}

/// The same by a team; `spare` is as long as the lists.
template <class T, class Index>
void split_lists(const Lists<T, Index>& lists, std::size_t first, std::size_t count, int axis, std::size_t cut,
                 int threads) {
  const Index* sorted = lists.list[static_cast<std::size_t>(axis)] + first;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < count; ++i) lists.upper[sorted[i]] = i >= cut;
  constexpr std::size_t kChunk = std::size_t{1} << 15;
  const std::size_t chunks = (count + kChunk - 1) / kChunk;
  std::vector<std::size_t> uppers(chunks);
  for (int d = 0; d < lists.dim; ++d) {
    if (d == axis) continue;
    Index* list = lists.list[static_cast<std::size_t>(d)] + first;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t c = 0; c < chunks; ++c) {
      uppers[c] = 0;
      for (std::size_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i) uppers[c] += lists.upper[list[i]];
    }
    std::size_t before = 0;
    for (auto& u : uppers) before += std::exchange(u, before);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t c = 0; c < chunks; ++c) {
      std::size_t high = cut + uppers[c], low = c * kChunk - uppers[c];
      for (std::size_t i = c * kChunk; i < std::min(count, (c + 1) * kChunk); ++i) {
        const Index id = list[i];
        lists.spare[lists.upper[id] != 0 ? high++ : low++] = id;
      }
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t i = 0; i < count; ++i) list[i] = lists.spare[i];
  }
}

}  // namespace amrbench::partitioners::kd
