#include "partitioners/refine/refine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "partitioners/refine/boundary_pairs.hpp"
#include "partitioners/refine/pair_search.hpp"
#include "partitioners/refine/part_state.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

using refine::BoundaryPairs;
using refine::PairSearch;
using refine::PartPair;
using refine::PartState;
using refine::SearchLimits;
using refine::VertexMove;
using support::InputError;

void check_refinement(const Graph& graph, std::span<const double> weights, int parts, const RefineOptions& options,
                      std::span<const std::int32_t> part) {
  if (parts < 1) throw InputError(fmt::format("refinement: {} parts; there must be at least 1", parts));
  if (graph.vertices() != part.size())
    throw InputError(fmt::format("refinement: a graph of {} vertices for {} points", graph.vertices(), part.size()));
  if (part.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw InputError(fmt::format("refinement: {} vertices; at most 2^31 - 1 can be refined", part.size()));
  if (!weights.empty() && weights.size() != part.size())
    throw InputError(fmt::format("refinement: {} weights for {} points", weights.size(), part.size()));
  if (options.rounds < 0) throw InputError(fmt::format("refinement: {} rounds; use 0 or more", options.rounds));
  if (!(options.tolerance >= 0) || !std::isfinite(options.tolerance))
    throw InputError(fmt::format("refinement: a tolerance of {}; use 0 or more", options.tolerance));
  if (!options.group_of.empty() && options.group_of.size() != static_cast<std::size_t>(parts))
    throw InputError(fmt::format("refinement: groups of {} parts for {}", options.group_of.size(), parts));
  unsigned out_of_range = 0;
  for (const std::int32_t p : part) out_of_range |= static_cast<unsigned>(p < 0) | static_cast<unsigned>(p >= parts);
  if (out_of_range == 0) return;
  for (std::size_t v = 0; v < part.size(); ++v)
    if (part[v] < 0 || part[v] >= parts)
      throw InputError(fmt::format("refinement: point {} is in part {}; parts are 0 to {}", v, part[v], parts - 1));
}

/// The rounds of one call.
class Refinement {
 public:
  Refinement(PartState& state, const RefineOptions& options)
      : state_(state), options_(options), threads_(team_size(options.threads)), first_(state.measures()) {
    const double mean = static_cast<double>(state.total_load()) / static_cast<double>(state.parts());
    const auto wanted = static_cast<std::uint64_t>(mean * (1 + std::min(options.tolerance, kMostTolerance)));
    limits_.load = std::max(state.heaviest_part(), options.tolerance > 0 ? wanted : 0);
    limits_.slack = std::max(state.heaviest_vertex(), limits_.load / kSlackShare);
    for (int t = 0; t < threads_; ++t) searches_.emplace_back(state.graph().vertices());
    marked_.assign(state.graph().vertices(), 0);
    active_.assign(state.parts(), 1);
  }

  RefineResult run() {
    RefineResult result;
    result.before = first_;
    std::vector<std::int32_t> candidates = state_.first_border();
    while (result.rounds < options_.rounds) {
      const BoundaryPairs found = refine::find_pairs(state_, candidates, options_.group_of, threads_);
      ++result.rounds;
      moved_.clear();
      round(found);
      result.moves += static_cast<std::int64_t>(moved_.size());
      note_memory(found, result);
      if (moved_.empty()) break;
      candidates = next_candidates(found);
    }
    result.after = state_.measures();
    return result;
  }

 private:
  static constexpr double kMostTolerance = 1e6;  ///< beyond it, everything may lie in one part
  static constexpr std::uint64_t kSlackShare = 32;

  void round(const BoundaryPairs& found) {
    // A pair neither of whose parts changed since it was searched has nothing new to offer.
    std::vector<char> active_before(state_.parts(), 0);
    active_before.swap(active_);
    for (const std::vector<std::size_t>& colour : refine::colour_pairs(found, state_.parts())) {
      std::vector<std::size_t> work;
      for (const std::size_t k : colour) {
        const auto low = static_cast<std::size_t>(found.pairs[k].low),
                   high = static_cast<std::size_t>(found.pairs[k].high);
        if (active_before[low] != 0 || active_before[high] != 0 || active_[low] != 0 || active_[high] != 0)
          work.push_back(k);
      }
      search(found, work);
    }
  }

  /// Searches pairs without common parts from the state as it is, then applies what they found, in order.
  void search(const BoundaryPairs& found, const std::vector<std::size_t>& work) {
    if (work.empty()) return;
    set_limits();
    std::vector<std::vector<VertexMove>> moves(work.size());
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::size_t i = 0; i < work.size(); ++i) {
      const PartPair& pair = found.pairs[work[i]];
      searches_[static_cast<std::size_t>(omp_get_thread_num())].run(state_, limits_, pair.low, pair.high,
                                                                    found.of(pair), moves[i]);
    }
    for (const std::vector<VertexMove>& found_here : moves) commit(found_here);
  }

  void set_limits() {
    const BoundaryMeasures now = state_.measures();
    limits_.cut_most = now.edge_cut_max;
    limits_.cut_growth = 2 * (first_.edge_cut_total - now.edge_cut_total);
    const bool volume = options_.goal == RefineGoal::volume;
    limits_.goal_most = volume ? now.volume_max : now.edge_cut_max;
    limits_.goal_growth = volume ? first_.volume_total - now.volume_total : limits_.cut_growth;
    state_.watch(limits_.goal_most, limits_.cut_most);
  }

  /// Applies moves that a search found, and takes them back where pairs that were searched at the same time have used
  /// up what the total might grow, or made a third part's volume too large.
  void commit(const std::vector<VertexMove>& moves) {
    if (moves.empty()) return;
    for (const VertexMove& move : moves) state_.apply(move);
    const BoundaryMeasures& first = first_;
    const bool volume = options_.goal == RefineGoal::volume;
    const bool grown =
        state_.cut_sum() > 2 * first.edge_cut_total || (volume && state_.volume_sum() > first.volume_total);
    if (grown || state_.above_watch()) {
      for (auto move = moves.rbegin(); move != moves.rend(); ++move) state_.apply({move->vertex, move->to, move->from});
      return;
    }
    for (const VertexMove& move : moves) moved_.push_back(move.vertex);
    active_[static_cast<std::size_t>(moves.front().from)] = 1;
    active_[static_cast<std::size_t>(moves.front().to)] = 1;
  }

  /// Vertices that were at a boundary, that moved or stand beside one that did: all others are where they were, inside.
  std::vector<std::int32_t> next_candidates(const BoundaryPairs& found) {
    std::vector<std::int32_t> next = found.border;
    for (const std::int32_t v : next) marked_[static_cast<std::size_t>(v)] = 1;
    const auto take = [&](std::int32_t v) {
      if (marked_[static_cast<std::size_t>(v)] != 0) return;
      marked_[static_cast<std::size_t>(v)] = 1;
      next.push_back(v);
    };
    for (const std::int32_t v : moved_) {
      take(v);
      for (const std::int32_t w : refine::neighbours(state_.graph(), v)) take(w);
    }
    for (const std::int32_t v : next) marked_[static_cast<std::size_t>(v)] = 0;
    return next;
  }

  void note_memory(const BoundaryPairs& found, RefineResult& result) const {
    const std::size_t vertices = state_.graph().vertices();
    const std::size_t lists = found.vertices.size() * (3 + 3 + 1) * sizeof(std::int32_t) +
                              found.border.size() * 3 * sizeof(std::int32_t) + found.pairs.size() * sizeof(PartPair);
    const std::size_t a_vertex = 1 + sizeof(std::int32_t) * static_cast<std::size_t>(threads_);
    result.memory_bytes = std::max(result.memory_bytes, vertices * a_vertex + lists + state_.memory_bytes());
  }

  PartState& state_;
  const RefineOptions& options_;
  int threads_;
  BoundaryMeasures first_;
  SearchLimits limits_;
  std::vector<PairSearch> searches_;  ///< one a thread
  std::vector<std::int32_t> moved_;   ///< in this round
  std::vector<char> marked_;
  std::vector<char> active_;  ///< parts that changed in this round
};

}  // namespace

RefineResult refine_partition(const Graph& graph, std::span<const double> weights, int parts,
                              const RefineOptions& options, std::span<std::int32_t> part) {
  check_refinement(graph, weights, parts, options, part);
  PartState state(graph, fixed_point_weights(weights, options.threads), parts, options.goal, options.threads, part);
  return Refinement(state, options).run();
}

}  // namespace amrbench::partitioners
