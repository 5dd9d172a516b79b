#pragma once
// Rule 5 for points listed in no order: those that met a bracket, or all of a cell. Used by multiway.cpp.
//
// A list is not sorted. Without weights one selection gives the cut. By weights the list is halved, by selection and a
// sum, until few entries are left around the place where a search ends (weight_search.hpp), and these are sorted: O(n).
// Where points of weight zero reach beyond them more are taken in, or a second search follows.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "partitioners/orb/round_walk.hpp"
#include "partitioners/orb/rules.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

template <class T, int Dim>
struct EntryCut {
  OrbPoint<T, Dim> pivot;     ///< the first point of the right
  T last;                     ///< the coordinate of the last one of the left, on the axis
  std::uint64_t left;         ///< of the cell's points, how many go left
  std::uint64_t weight_left;  ///< and their weight, without weights 0
};

/// Source: as RoundWalk's.
template <class T, int Dim, class Source>
class EntryCutter {
 public:
  using Entries = std::vector<Entry<T>>;

  EntryCutter(const Source& source, PointWeights weights, int axis) : source_(source), weights_(weights), axis_(axis) {}

  /// The cut among the listed points, before which stand `before` of the cell's, of weight `weight_before`. Nothing
  /// where they do not tell. Reorders the list.
  std::optional<EntryCut<T, Dim>> cut(const OrbGoal& goal, std::uint64_t before, std::uint64_t weight_before,
                                      Entries& entries) const {
    if (entries.empty()) return {};
    if (weights_ && goal.weight > 0) return by_weight(goal, before, weight_before, entries);
    const std::uint64_t unit = goal.unit();
    if (unit <= before || unit >= before + entries.size()) return {};
    const auto right = entries.begin() + static_cast<std::ptrdiff_t>(unit - before);
    std::nth_element(entries.begin(), right, entries.end(), order());
    T last = entries[0].key;
    for (auto entry = entries.begin(); entry != right; ++entry) last = std::max(last, entry->key);
    return EntryCut<T, Dim>{source_.point(right->position), last, unit, 0};
  }

 private:
  /// So many entries on either side of the last few are sorted with them, at first.
  static constexpr std::ptrdiff_t kAside = 64;

  [[nodiscard]] auto order() const {
    return [this](const Entry<T>& a, const Entry<T>& b) {
      if (a.key != b.key) return a.key < b.key;
      return orb_before(source_.point(a.position), source_.point(b.position), axis_);
    };
  }
  using Place = typename Entries::const_iterator;
  [[nodiscard]] std::uint64_t weight_of(Place begin, Place end) const {
    std::uint64_t sum = 0;
    for (; begin != end; ++begin) sum += weights_[source_.point(begin->position).id];
    return sum;
  }

  std::optional<EntryCut<T, Dim>> by_weight(const OrbGoal& goal, std::uint64_t before, std::uint64_t weight_before,
                                            Entries& entries) const {
    auto search = first_search(goal);
    for (std::ptrdiff_t aside = kAside;;) {
      // The search ends in [first, last), before which `weight` stands in the list.
      auto first = entries.begin(), last = entries.end();
      std::uint64_t weight = 0;
      while (last - first > aside) {
        const auto middle = first + (last - first) / 2;
        std::nth_element(first, middle, last, order());
        const std::uint64_t up_to_middle = weight + weight_of(first, middle);
        const auto count = static_cast<std::uint64_t>(middle - entries.begin());
        if (search.reached(before + count, weight_before + up_to_middle)) {
          last = middle;
        } else {
          first = middle;
          weight = up_to_middle;
        }
      }
      const auto begin = first - std::min(aside, first - entries.begin());
      const auto end = last + std::min(aside, entries.end() - last);
      std::nth_element(entries.begin(), begin, first, order());
      std::nth_element(last, end, entries.end(), order());
      std::sort(begin, end, order());
      const std::uint64_t k = before + static_cast<std::uint64_t>(begin - entries.begin());
      std::vector<std::uint64_t> weights;
      for (auto entry = begin; entry != end; ++entry) weights.push_back(weight_of(entry, entry + 1));
      const std::uint64_t size = weights.size();
      weight += weight_before - weight_of(begin, first);
      const auto verdict = decide_cut(goal, search, k, weight, size, weights.data());
      if (verdict.kind == VerdictKind::outside) return {};
      if (verdict.kind == VerdictKind::again) {
        search = verdict.search;
        aside = kAside;
        continue;
      }
      const auto right = begin + static_cast<std::ptrdiff_t>(verdict.left);
      if (right != begin && right != end)
        return EntryCut<T, Dim>{source_.point(right->position), (right - 1)->key, k + verdict.left,
                                verdict.weight_left};
      if (size == entries.size()) return {};
      aside *= 8;  // the points beside the cut are to be among them
    }
  }

  const Source& source_;
  PointWeights weights_;
  int axis_;
};

}  // namespace amrbench::partitioners::detail
