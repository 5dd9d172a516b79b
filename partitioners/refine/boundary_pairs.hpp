#pragma once
// Which parts touch, and where: the pairs of a round of refinement. Included by refine/ only.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/refine/part_state.hpp"

namespace amrbench::partitioners::refine {

/// Two parts with an edge between them, and the vertices of both at their common boundary: vertices[first .. last) of
/// the round's list, ascending.
struct PartPair {
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct BoundaryPairs {
  std::vector<PartPair> pairs;  ///< ascending by (low, high)
  std::vector<std::int32_t> vertices;
  std::vector<std::int32_t> border;  ///< every vertex with an edge to another part, once

  [[nodiscard]] std::span<const std::int32_t> of(const PartPair& pair) const {
    return std::span(vertices).subspan(pair.first, pair.last - pair.first);
  }
};

/// The pairs among `candidates`, vertices without repetition of which none at a boundary is missing. group_of: pairs of
/// parts in two groups are left out; may be empty. The same on any number of threads.
BoundaryPairs find_pairs(const PartState& state, std::span<const std::int32_t> candidates,
                         std::span<const std::int32_t> group_of, int threads);

/// Pairs, by their numbers, in classes of which no two members have a part in common. Pairs with long boundaries come
/// first, each in the first class that is free. O(pairs * classes / 64).
std::vector<std::vector<std::size_t>> colour_pairs(const BoundaryPairs& found, std::size_t parts);

}  // namespace amrbench::partitioners::refine
