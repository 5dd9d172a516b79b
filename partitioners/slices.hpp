#pragma once
// An order cut into parts of about equal weight.
//
// Slice p ends where the weight so far comes to (p + 1) / parts of the total: each point goes to the slice in which the
// middle of its own weight falls. So every slice but for the points at its two ends lies between the same two marks:
// none weighs more than the mean plus the heaviest point, and unweighted slices differ by one point at most. Weights
// are integers, sums exact, and the result does not depend on threads. Where all weights are 0 points count 1 each.
// Source: document 001, section 2.11, algorithm 2.15.
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/weights.hpp"

namespace amrbench::partitioners {

/// Part of each point. order: a permutation of the points; weights: one a point from fixed_point_weights(), or empty;
/// parts >= 1. More parts than points leaves parts empty. O(n).
template <class Index>
std::vector<std::int32_t> slice_order(std::span<const Index> order, std::span<const std::uint64_t> weights, int parts,
                                      int threads = 0);

}  // namespace amrbench::partitioners
