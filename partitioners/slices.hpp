#pragma once
// An order cut into parts of about equal weight, by one of two rules.
//
// midpoint: slice p ends where the weight so far comes to (p + 1) / parts of the total: each point goes to the slice in
// which the middle of its own weight falls. So every slice but for the points at its two ends lies between the same two
// marks: none weighs more than the mean plus the heaviest point, and unweighted slices differ by one point at most.
// Weights are integers, sums exact, and the result does not depend on threads. Where all weights are 0 points count 1
// each. Source: document 001, section 2.11, algorithm 2.15.
//
// exact: the heaviest slice is as light as can be (exact_slices.hpp). Where points weigh the same both are one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "partitioners/weights.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

enum class SliceRule : std::uint8_t { midpoint, exact };
struct SliceRuleEntry {
  std::string_view name;
  std::string_view description;
  SliceRule rule;
};
/// All rules, the default first.
std::span<const SliceRuleEntry> slice_rule_registry();
/// Throws support::InputError that lists the names when there is none called `name`. what: the key or option it is
/// from.
SliceRule slice_rule_from_name(std::string_view name, std::string_view what);

/// The slice in which a point falls whose weight has its middle at twice_middle / 2 of `total`; total >= 1.
inline std::int32_t slice_at(Mass twice_middle, Mass total, int parts) {
  return static_cast<std::int32_t>(std::min<Mass>(twice_middle * parts / (2 * total), parts - 1));
}

/// Part of each point. order: a permutation of the points; weights: one a point from fixed_point_weights(), or empty;
/// parts >= 1. More parts than points leaves parts empty. O(n), and for `exact` what exact_cuts() takes.
template <class Index>
std::vector<std::int32_t> slice_order(std::span<const Index> order, std::span<const std::uint64_t> weights, int parts,
                                      int threads = 0, SliceRule rule = SliceRule::midpoint);

/// Where slices begin among `items` that weigh the same: slice p has the places [cuts[p], cuts[p + 1]). shares: what of
/// the items each slice is to get, in all 1; or empty: as much as any other. Local, O(parts).
std::vector<std::int64_t> even_cuts(std::int64_t items, int parts, std::span<const double> shares = {});

/// Where slices begin in items that are spread over ranks in order: slice p has the places [cuts[p], cuts[p + 1]) over
/// all ranks. fixed_weights: one an item of this rank, their sum over ranks below 2^62; empty where each weighs 1, on
/// all ranks that have items or on none. parts + 1 cuts, the same on every rank and for any number of ranks. One
/// collective, two with weights; none where `comm` is empty or of one rank. O(items + parts); for `exact` what
/// exact_cuts_on_ranks() takes. shares_of_parts: as above, the same on every rank; `midpoint` only. Collective.
std::vector<std::int64_t> slice_on_ranks(const support::Communicator& comm,
                                         std::span<const std::uint64_t> fixed_weights, std::size_t items, int parts,
                                         SliceRule rule = SliceRule::midpoint,
                                         std::span<const double> shares_of_parts = {});

}  // namespace amrbench::partitioners
