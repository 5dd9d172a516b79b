#pragma once
// Boundary refinement: vertices move across the boundaries of a partition that another method made.
//
// A round takes every two parts that touch. Of each pair a search after Fiduccia and Mattheyses moves vertices next to
// the common boundary one by one, the best first, each once, also where that makes things worse for a while, and keeps
// the moves up to the best state it saw. What a pair does to its own two cuts depends on no other part, so pairs that
// have no part in common are searched by different threads at once: the colours of the graph of parts, one after
// another. What threads found is applied in the order of pairs, checked against exact counts.
//
// Goals (quality.hpp has the measures):
//   cut     the largest edge cut of a part, and the total
//   volume  the largest communication volume of a part, and the total; edge cuts do not grow either
// Neither the largest nor the total ever grows. No part becomes heavier than the bound, none loses its last vertex. A
// round in which nothing moves is the last.
//
// The result depends on the input alone, not on the number of threads.
// Source: document 001, section 3.2 (what is to be reached); C. M. Fiduccia and R. M. Mattheyses, DAC 19 (1982);
// pairs by colours of the quotient graph: M. Holtgrewe, P. Sanders and C. Schulz, IPDPS 2010.
#include <cstddef>
#include <cstdint>
#include <span>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

enum class RefineGoal : std::uint8_t { cut, volume };

struct RefineOptions {
  int rounds = 1;                     ///< >= 0, at most so many
  RefineGoal goal = RefineGoal::cut;  ///< what must shrink
  /// >= 0. No part becomes heavier than (1 + tolerance) times the mean, or than the heaviest is now, whichever is more:
  /// with 0 the heaviest part as it is bounds all.
  double tolerance = 0;
  int threads = 0;  ///< 0: all that OpenMP offers
  /// A group of each part, or empty: vertices stay in their group (parts on one node, for example).
  std::span<const std::int32_t> group_of{};
};

/// Edge cuts (each cut edge once in the total) and, of goal volume, communication volumes.
struct BoundaryMeasures {
  std::int64_t edge_cut_max = 0;
  std::int64_t edge_cut_total = 0;
  std::int64_t volume_max = 0;    ///< 0 where the goal is the cut
  std::int64_t volume_total = 0;  ///< 0 where the goal is the cut
};

struct RefineResult {
  int rounds = 0;          ///< carried out, the last in vain included
  std::int64_t moves = 0;  ///< of vertices; one may move more than once
  BoundaryMeasures before;
  BoundaryMeasures after;
  std::size_t memory_bytes = 0;  ///< most held at once besides graph and parts, about
};

/// Refines `part`, the part of each vertex, all in [0, parts), in place. weights: one a vertex, or empty for 1 each;
/// loads are sums of weights as integers (weights.hpp), so the bound holds up to their rounding. Not collective.
/// Throws support::InputError for sizes that differ, a part or group out of range, weights that are negative or not
/// finite, rounds or a tolerance below 0. A round takes O(B d log d) time, B being vertices at boundaries and d their
/// degree (goal volume: O(B d^2)), and the first looks at the whole graph once; memory 5 bytes a vertex and 4 a vertex
/// and thread, 8 a vertex if weighted.
RefineResult refine_partition(const Graph& graph, std::span<const double> weights, int parts,
                              const RefineOptions& options, std::span<std::int32_t> part);

}  // namespace amrbench::partitioners
