#pragma once
// How a box that serves few parts is cut so that they come out compact (KdTreeOptions::compact_parts).
//
// Halves across the longest side suit powers of two. Of three parts, 1 : 2 across a square leaves one of sides 1 : 3,
// whose boundary is 15 % longer than a square's; six parts of a square are better 2 x 3 than twice three. So where a
// node serves at most kFewParts parts every axis and every share is tried down to single parts, as if points were
// spread evenly over its tight box, and the cut with the least sum over parts of about x^16 is taken, x being a part's
// surface over that of a cube of its volume. Halves stay where nothing gains kLeastGain of that sum on them: boxes are
// not filled evenly, and an irregular cut costs corners that this does not see. More parts are halved: there is a good
// cut for any number in any box then. Only in 2 and 3 dimensions. Included by what builds parts-aware trees.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace amrbench::partitioners {

/// A cut of a node that serves several parts: across `axis`, `lower` of them below it.
struct PartsCut {
  int axis = 0;
  int lower = 0;
};

namespace compact {

inline constexpr int kFewParts = 6;
inline constexpr double kLeastGain = 0.2;

/// A box's plan: the sum over its parts, and the cut that leads to it.
struct Plan {
  double sum = 0;
  PartsCut cut;
};

inline int longest(std::span<const double> sides) {
  return static_cast<int>(std::max_element(sides.begin(), sides.end()) - sides.begin());
}

/// Of one part: (surface over a cube's)^16 in 2-D, ^15 in 3-D, without roots. Infinity where the box has no volume.
inline double of_part(std::span<const double> s) {
  if (s.size() == 2) {
    const double square = (s[0] + s[1]) * (s[0] + s[1]) / (4 * s[0] * s[1]);
    const double fourth = square * square * square * square;
    return fourth * fourth;
  }
  const double mean = (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]) / 3;
  const double volume = s[0] * s[1] * s[2];
  const double cube = mean * mean * mean / (volume * volume);
  return cube * cube * cube * cube * cube;
}

template <std::size_t Dim>
Plan plan(const std::array<double, Dim>& sides, int parts);

/// What both sides of a cut come to.
template <std::size_t Dim>
double sum_of(const std::array<double, Dim>& sides, int parts, PartsCut cut) {
  std::array<double, Dim> below = sides, above = sides;
  const auto axis = static_cast<std::size_t>(cut.axis);
  below[axis] = sides[axis] * cut.lower / parts;
  above[axis] = sides[axis] * (parts - cut.lower) / parts;
  return plan(below, cut.lower).sum + plan(above, parts - cut.lower).sum;
}

/// O(1): for kFewParts parts in 3-D some 1,600 boxes are looked at, in 2-D some 300.
template <std::size_t Dim>
Plan plan(const std::array<double, Dim>& sides, int parts) {
  if (parts == 1) return {of_part(sides), {}};
  const PartsCut halves{longest(sides), parts / 2};
  const Plan halved{sum_of(sides, parts, halves), halves};
  Plan best = halved;
  for (int lower = parts / 2; lower >= 1; --lower) {
    for (int axis = 0; axis < static_cast<int>(Dim); ++axis) {
      if (axis == halves.axis && lower == halves.lower) continue;
      const PartsCut cut{axis, lower};
      const double sum = sum_of(sides, parts, cut);
      if (sum < best.sum * (1 - 1e-9)) best = {sum, cut};  // what differs by rounding is equal
    }
  }
  return best.sum < halved.sum * (1 - kLeastGain) ? best : halved;
}

}  // namespace compact

/// The cut of a node with a tight box of these sides, >= 0, that serves `parts` >= 2.
template <std::size_t Dim>
PartsCut compact_cut(const std::array<double, Dim>& sides, int parts) {
  const int axis = compact::longest(sides);
  if constexpr (Dim <= 3) {
    const double longest = sides[static_cast<std::size_t>(axis)];
    if (parts <= compact::kFewParts && longest > 0 && std::isfinite(longest)) {
      std::array<double, Dim> scaled = sides;
      for (double& side : scaled) side /= longest;
      return compact::plan(scaled, parts).cut;
    }
  }
  return {axis, parts / 2};
}

}  // namespace amrbench::partitioners
