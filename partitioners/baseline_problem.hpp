#pragma once
// What the baselines have in common: checks of the problem, integer weights, memory of code that is not ours.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// Throws support::InputError unless parts >= 1 and the weights are one a point, finite and >= 0. Returns the number of
/// points (vertices where there are no points).
std::size_t check_weights(const Problem& problem, const PartitionOptions& options, std::string_view method);

/// As above, and there is a graph of as many vertices.
std::size_t check_graph_problem(const Problem& problem, const PartitionOptions& options, std::string_view method);

/// As above, and the points have two or three finite coordinates.
std::size_t check_point_problem(const Problem& problem, const PartitionOptions& options, std::string_view method);

/// The answer where nothing is to be decided: one part, or a part a point. Nothing otherwise.
std::optional<PartitionResult> trivial_partition(std::size_t points, int parts);

/// Whether all points weigh the same, or there are no weights.
bool equal_weights(std::span<const double> weights);

/// Weights as integers whose sum is at most `most` or near it; empty when all weigh the same (or nothing).
std::vector<std::int64_t> integer_weights(std::span<const double> weights, std::int64_t most);

/// How far the process's resident memory rose above what it was at the start: an estimate, from the outside, of what
/// code that is not ours holds at once. Frees what malloc keeps for later first, so that it cannot hide there.
class ResidentGrowth {
 public:
  ResidentGrowth();
  /// Bytes since the start; 0 where the system does not tell.
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::int64_t start_ = 0;
};

}  // namespace amrbench::partitioners
