#pragma once
// Rule 5: how many of a cell's points go left, for methods that see all of them in order, a stretch of them, or bins.
// Host and device.
//
// S(k) is the weight of a cell's first k points in order. Each search asks for the first k that a limit of the form
// "k >= least, and k >= most or S(k) >= weight" holds for: the limit never ceases to hold as k rises, so that one look
// at a bin's end tells whether k lies before it. The first search finds where the left weight reaches its target; from
// the points there `decide_cut` reads the cut, unless points of weight zero around it reach beyond the window: then a
// second search finds the end of them that rule 5 wants.
#include <cstdint>

#include "partitioners/orb/rules.hpp"

namespace amrbench::partitioners {

/// What a cell's cut must achieve; at least as many points as leaves. Count: holds the number of points.
template <class Count>
struct CutGoal {
  Count count;
  std::uint32_t leaves, leaves_left;
  std::uint64_t weight;  ///< 0: the target is a count

  [[nodiscard]] AMRBENCH_HD Count least() const { return leaves_left; }
  [[nodiscard]] AMRBENCH_HD Count most() const { return count - (leaves - leaves_left); }
  [[nodiscard]] AMRBENCH_HD Count unit() const { return static_cast<Count>(unit_target(count, leaves_left, leaves)); }
  /// weight * leaves_left / leaves, rounded down, and what is left of it in parts of `leaves`.
  [[nodiscard]] AMRBENCH_HD std::uint64_t target() const {
    return weight / leaves * leaves_left + weight % leaves * leaves_left / leaves;
  }
  [[nodiscard]] AMRBENCH_HD std::uint32_t target_rest() const {
    return static_cast<std::uint32_t>(weight % leaves * leaves_left % leaves);
  }
  /// Is `before`, below the target, as near to it as `after`, which is not? The smaller wins where both are.
  [[nodiscard]] AMRBENCH_HD bool prefers(std::uint64_t before, std::uint64_t after) const {
    const std::uint64_t floor = target();
    const std::uint64_t below = floor - before;  // distances but for the rest, which adds to one and lessens the other
    const std::uint64_t above = after - floor;
    if (above < below) return false;
    const std::uint64_t more = above - below;
    if (more >= 2) return true;
    return more * leaves >= std::uint64_t{2} * target_rest();
  }
};
using OrbGoal = CutGoal<std::uint64_t>;
using WeightGoal = CutGoal<std::uint32_t>;  ///< on a GPU

enum class SearchPhase : std::uint32_t { reach, right, left };

/// The limit of a search: see above. most <= the cell's points.
template <class Count>
struct LimitSearch {
  SearchPhase phase;
  Count least, most;
  std::uint64_t weight;

  [[nodiscard]] AMRBENCH_HD bool reached(std::uint64_t k, std::uint64_t weight_of_k) const {
    return k >= least && (k >= most || weight_of_k >= weight);
  }
};
using WeightSearch = LimitSearch<std::uint32_t>;

/// Where the target is a count, weights of points are to be 0.
template <class Count>
AMRBENCH_HD inline LimitSearch<Count> first_search(const CutGoal<Count>& goal) {
  if (goal.weight == 0) return {SearchPhase::right, 0, goal.unit() + 1, 1};
  return {SearchPhase::reach, goal.least(), goal.most(), goal.target() + (goal.target_rest() != 0 ? 1U : 0U)};
}

/// Of all k of this S(k) the nearest to the cut by number. For a window that ends (left) or begins (right) with such a
/// k, and that cut is in the window.
template <class Count>
AMRBENCH_HD inline LimitSearch<Count> number_search(const CutGoal<Count>& goal, SearchPhase phase,
                                                    std::uint64_t weight) {
  const Count unit = goal.unit();
  if (phase == SearchPhase::left) return {phase, unit, goal.most(), weight};
  return {SearchPhase::right, 0, unit + 1, weight + 1};
}
/// Is S(k) = weight what rule 5 chooses, when the next point that weighs anything, towards the target, weighs `next` or
/// more?
template <class Count>
AMRBENCH_HD inline bool chosen_before(const CutGoal<Count>& goal, std::uint64_t weight, std::uint64_t next) {
  const std::uint64_t wanted = first_search(goal).weight;
  if (goal.weight == 0 || next > goal.weight) return false;
  if (weight < wanted) return weight + next >= wanted && goal.prefers(weight, weight + next);
  return next <= weight && weight - next < wanted && !goal.prefers(weight - next, weight);
}

/// What the points of a window tell.
enum class VerdictKind : std::uint32_t { cut, again, outside };
template <class Count>
struct Verdict {
  using Kind = VerdictKind;
  Kind kind;
  Count left;                 ///< cut: points of the window that go left, 0 .. its size
  std::uint64_t weight_left;  ///< cut: weight of all of the cell's points that go left
  LimitSearch<Count> search;  ///< again: the next search, through the whole cell
};
using CutVerdict = Verdict<std::uint32_t>;

/// The window: points before .. before + size - 1 of the cell in order, of these weights, with
/// weight_before before them. `outside`: the search does not end in it. Never `again` for a window of all points.
/// O(size).
template <class Count>
AMRBENCH_HD inline Verdict<Count> decide_cut(const CutGoal<Count>& goal, const LimitSearch<Count>& search,
                                             std::uint64_t before, std::uint64_t weight_before, Count size,
                                             const std::uint64_t* weights) {
  using Kind = VerdictKind;
  Count k = 0;
  std::uint64_t weight = weight_before;
  std::uint64_t previous = weight_before;
  if (search.reached(before, weight)) return {Kind::outside, 0, 0, search};
  while (k < size && !search.reached(before + k, weight)) {
    previous = weight;
    weight += weights[k++];
  }
  if (!search.reached(before + k, weight)) return {Kind::outside, 0, 0, search};
  if (search.phase == SearchPhase::right) return {Kind::cut, k - 1, previous, search};
  if (search.phase == SearchPhase::left) return {Kind::cut, k, weight, search};
  const bool short_of_target = weight < search.weight;  // the right child's leaves allow no more points
  const bool back = !short_of_target && before + k > goal.least() && goal.prefers(previous, weight);
  if (back) {
    --k;
    weight = previous;
  }
  const Count unit = goal.unit();
  if (back || short_of_target) {  // points of weight zero may stand before the place
    while (k > 0 && before + k > unit && weights[k - 1] == 0) --k;
    if (k == 0 && before > unit) return {Kind::again, 0, 0, number_search(goal, SearchPhase::left, weight)};
  } else {
    while (k < size && before + k < unit && weights[k] == 0) ++k;
    if (k == size && before + k < unit) return {Kind::again, 0, 0, number_search(goal, SearchPhase::right, weight)};
  }
  return {Kind::cut, k, weight, search};
}

struct CutPlace {
  std::uint64_t left;         ///< points that go left
  std::uint64_t weight_left;  ///< weight of all of the cell's points that go left; without weights their number
};

/// decide_cut() where sums of all points are at hand: how many of them go left. weight_of(k): weight of the first k
/// points, called O(log count) times.
template <class Sums>
AMRBENCH_HD inline std::uint32_t cut_by_sums(const WeightGoal& goal, const Sums& weight_of) {
  const std::uint32_t unit = goal.unit();
  if (goal.weight == 0) return unit;
  const WeightSearch search = first_search(goal);
  // The first k in [low, high] of which `holds` is true; it is of `high`.
  const auto first = [](std::uint32_t low, std::uint32_t high, const auto& holds) {
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (holds(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  const std::uint32_t k =
      first(goal.least(), goal.most(), [&](std::uint32_t j) { return search.reached(j, weight_of(j)); });
  const std::uint64_t weight = weight_of(k);
  const bool short_of_target = weight < search.weight;
  const bool back = !short_of_target && k > goal.least() && goal.prefers(weight_of(k - 1), weight);
  // Points of weight zero may stand beside the place: as near to `unit` as they allow.
  if (back || short_of_target) {
    const std::uint32_t last = back ? k - 1 : k;
    const std::uint64_t wanted = weight_of(last);
    return last <= unit ? last : first(unit, last, [&](std::uint32_t j) { return weight_of(j) >= wanted; });
  }
  return k >= unit ? k : first(k + 1, unit + 1, [&](std::uint32_t j) { return j > unit || weight_of(j) > weight; }) - 1;
}

}  // namespace amrbench::partitioners
