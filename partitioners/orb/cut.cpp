#include "partitioners/orb/cut.hpp"

namespace amrbench::partitioners {

namespace {

__extension__ typedef unsigned __int128 Wide;  // weights below 2^63 times leaf counts

Wide distance(const OrbGoal& goal, Wide weight_left) {
  const Wide a = weight_left * goal.leaves;
  const Wide b = Wide{goal.weight} * goal.leaves_left;
  return a < b ? b - a : a - b;
}

/// A cut inside the window: points left of it there, and their weight with all before.
struct Place {
  std::uint64_t points;
  std::uint64_t weight;
};

/// First place whose left weight reaches the target, within rule 5's limits, or the place before it when that is
/// nearer.
std::optional<Place> nearest_place(const OrbGoal& goal, const OrbWindow& window,
                                   std::span<const std::uint64_t> weights) {
  Place place{0, window.weight_before};
  const Wide target = Wide{goal.weight} * goal.leaves_left;
  const auto reached = [&] {
    const std::uint64_t k = window.before + place.points;
    return k >= goal.most() || (k >= goal.least() && Wide{place.weight} * goal.leaves >= target);
  };
  if (reached() && window.before != goal.least()) return {};  // the first such place may stand before the window
  Place previous = place;
  while (!reached()) {
    if (place.points == window.size) return {};
    previous = place;
    place.weight += weights[place.points++];
  }
  if (window.before + place.points > goal.most()) return {};
  if (window.before + place.points > goal.least() && place.points > 0 &&
      distance(goal, previous.weight) <= distance(goal, place.weight) && previous.weight != place.weight)
    return previous;
  return place;
}

}  // namespace

std::optional<std::uint64_t> cut_in_window(const OrbGoal& goal, const OrbWindow& window,
                                           std::span<const std::uint64_t> weights) {
  const std::uint64_t unit = goal.unit();
  if (!goal.weighted) {
    if (unit <= window.before || unit >= window.before + window.size) return {};
    return unit - window.before;
  }
  const auto place = nearest_place(goal, window, weights);
  if (!place) return {};
  // All places with this weight: points of weight zero on either side.
  std::uint64_t first = place->points;
  std::uint64_t last = place->points;
  while (first > 0 && weights[first - 1] == 0 && window.before + first > goal.least()) --first;
  while (last < window.size && weights[last] == 0 && window.before + last < goal.most()) ++last;
  const bool first_known = first > 0 || window.before == 0 || window.before + first <= goal.least();
  const bool last_known = last < window.size || window.before + last >= goal.most();
  std::uint64_t left = unit < window.before ? 0 : unit - window.before;
  if (left < first) left = first;
  if (left > last) left = last;
  if (unit < window.before + first && !first_known) return {};
  if (unit > window.before + last && !last_known) return {};
  if (left == 0 || left >= window.size) return {};
  return left;
}

}  // namespace amrbench::partitioners
