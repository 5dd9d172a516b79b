#pragma once
// Rule 5 for points listed in no order: those that met a bracket, or all of a cell. Used by multiway.cpp and
// bisection.cpp.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "partitioners/orb/round_walk.hpp"
#include "partitioners/orb/rules.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

/// The cut among the points of a list, before which stand `before` of the cell's, of weight `weight_before`; nothing
/// where they do not tell. The list is parted there: the first `left` of it go left, and the next one is the first of
/// the right. order(a, b), weight(a): of points of the list. By weight those among which a search ends
/// (weight_search.hpp) are halved until few are left, which takes O(n), for any weights; where points of weight zero
/// reach beyond the few a second search follows.
template <class Item, class Order, class Weight>
std::optional<CutPlace> part_at_cut(std::span<Item> all, const OrbGoal& goal, std::uint64_t before,
                                    std::uint64_t weight_before, const Order& order, const Weight& weight) {
  constexpr std::size_t kFew = 32;
  const auto at = [](std::span<Item> some, std::uint64_t k) { return some.begin() + static_cast<std::ptrdiff_t>(k); };
  if (goal.weight == 0) {
    const std::uint64_t unit = goal.unit();
    if (unit <= before || unit >= before + all.size()) return {};
    std::nth_element(all.begin(), at(all, unit - before), all.end(), order);
    return CutPlace{unit - before, 0};
  }
  for (auto search = first_search(goal);;) {
    std::span<Item> window = all;
    std::uint64_t k = before, weight_of_k = weight_before;
    while (window.size() > kFew) {
      const std::size_t half = window.size() / 2;
      std::nth_element(window.begin(), at(window, half), window.end(), order);
      std::uint64_t left = weight_of_k;
      for (const Item& item : window.first(half)) left += weight(item);
      if (search.reached(k + half, left)) {
        window = window.first(half);
      } else {
        window = window.subspan(half);
        k += half;
        weight_of_k = left;
      }
    }
    std::sort(window.begin(), window.end(), order);
    std::vector<std::uint64_t> weights(window.size());
    std::transform(window.begin(), window.end(), weights.begin(), weight);
    const auto verdict = decide_cut(goal, search, k, weight_of_k, std::uint64_t{window.size()}, weights.data());
    search = verdict.search;
    if (verdict.kind == VerdictKind::again) continue;
    const std::uint64_t left = k - before + verdict.left;
    if (verdict.kind == VerdictKind::outside || left == 0 || left == all.size()) return {};
    return CutPlace{left, verdict.weight_left};
  }
}

template <class T, int Dim>
struct EntryCut {
  OrbPoint<T, Dim> pivot;     ///< the first point of the right
  T last;                     ///< the coordinate of the last one of the left, on the axis
  std::uint64_t left;         ///< of the cell's points, how many go left
  std::uint64_t weight_left;  ///< and their weight, where the goal has one
};

/// The same for entries, whose points are the source's (RoundWalk's).
template <class T, int Dim, class Source>
std::optional<EntryCut<T, Dim>> cut_entries(const Source& source, PointWeights weights, int axis, const OrbGoal& goal,
                                            std::uint64_t before, std::uint64_t weight_before,
                                            std::span<Entry<T>> entries) {
  const auto order = [&](const Entry<T>& a, const Entry<T>& b) {
    if (a.key != b.key) return a.key < b.key;
    return orb_before<T, Dim>(source.point(a.position), source.point(b.position), axis);
  };
  const auto weight = [&](const Entry<T>& entry) { return weights[source.point(entry.position).id]; };
  const auto cut = part_at_cut(entries, goal, before, weight_before, order, weight);
  if (!cut) return {};
  T last = entries[0].key;
  for (const Entry<T>& entry : entries.first(cut->left)) last = std::max(last, entry.key);
  return EntryCut<T, Dim>{source.point(entries[cut->left].position), last, before + cut->left, cut->weight_left};
}

}  // namespace amrbench::partitioners::detail
