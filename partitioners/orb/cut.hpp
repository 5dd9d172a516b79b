#pragma once
// Rule 5 on a stretch of a cell's points in order: where is the cut, if it lies in this stretch?
#include <cstdint>
#include <optional>
#include <span>

#include "partitioners/orb/rules.hpp"

namespace amrbench::partitioners {

/// What a cell's cut must achieve.
struct OrbGoal {
  std::uint64_t count = 0;   ///< points of the cell, >= leaves
  std::uint64_t weight = 0;  ///< their weight
  std::uint32_t leaves = 2;  ///< of the cell
  std::uint32_t leaves_left = 1;
  bool weighted = false;

  [[nodiscard]] std::uint64_t least() const { return leaves_left; }
  [[nodiscard]] std::uint64_t most() const { return count - (leaves - leaves_left); }
  [[nodiscard]] std::uint64_t unit() const { return unit_target(count, leaves_left, leaves); }
};

/// A stretch [before, before + size) of the cell's points in order.
struct OrbWindow {
  std::uint64_t before = 0;         ///< points of the cell before the stretch
  std::uint64_t weight_before = 0;  ///< their weight; unused without weights
  std::uint64_t size = 0;
};

/// Number of the stretch's points that go left, in 1 .. size - 1, so that the points on both sides of the cut belong to
/// the stretch; nothing when the cut, by rule 5 for the whole cell, does not lie inside or the stretch is too short to
/// tell. weights: of the stretch's points in order; not read without weights. O(size), O(1) without weights.
std::optional<std::uint64_t> cut_in_window(const OrbGoal& goal, const OrbWindow& window,
                                           std::span<const std::uint64_t> weights);

}  // namespace amrbench::partitioners
