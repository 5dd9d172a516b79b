#include "partitioners/two_level.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

/// Nodes with fewer points are cut by one thread: starting several takes longer.
constexpr std::size_t kPointsForThreads = std::size_t{1} << 16U;

/// Points by node, ascending within each, and every point's place there.
struct PointsByNode {
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> points;
  std::vector<std::uint32_t> place;  ///< within its node

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t node) const {
    return std::span(points).subspan(first[node], first[node + 1] - first[node]);
  }
};

PointsByNode sort_by_node(std::span<const std::int32_t> node, int nodes) {
  PointsByNode by;
  by.first.assign(static_cast<std::size_t>(nodes) + 1, 0);
  for (const std::int32_t k : node) ++by.first[static_cast<std::size_t>(k) + 1];
  std::partial_sum(by.first.begin(), by.first.end(), by.first.begin());
  by.points.resize(node.size());
  by.place.resize(node.size());
  std::vector<std::size_t> next(by.first.begin(), by.first.end() - 1);
  for (std::size_t i = 0; i < node.size(); ++i) {
    const auto k = static_cast<std::size_t>(node[i]);
    by.place[i] = static_cast<std::uint32_t>(next[k] - by.first[k]);
    by.points[next[k]++] = static_cast<std::uint32_t>(i);
  }
  return by;
}

/// One node's points, weights and graph.
struct NodeProblem {
  std::vector<double> points;
  std::vector<double> weights;
  Graph graph;
};

/// The graph on a node's points: edges to other nodes are left out.
Graph graph_of_node(const Graph& graph, std::span<const std::int32_t> node, const PointsByNode& by, std::size_t k) {
  Graph inside;
  inside.offsets.reserve(by.of(k).size() + 1);
  for (const std::uint32_t i : by.of(k)) {
    for (std::int64_t e = graph.offsets[i]; e < graph.offsets[std::size_t{i} + 1]; ++e) {
      const auto w = static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(e)]);
      if (node[w] == static_cast<std::int32_t>(k)) inside.adjacent.push_back(static_cast<std::int32_t>(by.place[w]));
    }
    inside.offsets.push_back(static_cast<std::int64_t>(inside.adjacent.size()));
  }
  return inside;
}

NodeProblem problem_of_node(const Problem& problem, bool with_graph, std::span<const std::int32_t> node,
                            const PointsByNode& by, std::size_t k) {
  NodeProblem own;
  const auto dim = static_cast<std::size_t>(std::max(problem.points.dim, 0));
  for (const std::uint32_t i : by.of(k)) {
    if (!problem.points.data.empty()) {
      const double* x = problem.points.data.data() + std::size_t{i} * dim;
      own.points.insert(own.points.end(), x, x + dim);
    }
    if (!problem.weights.empty()) own.weights.push_back(problem.weights[i]);
  }
  if (with_graph) own.graph = graph_of_node(*problem.graph, node, by, k);
  return own;
}

}  // namespace

TwoLevelPartitioner::TwoLevelPartitioner(Partitioner& inner, int nodes, AfterNodes after_nodes)
    : inner_(inner), nodes_(nodes), after_nodes_(std::move(after_nodes)) {
  if (nodes < 1) throw support::InputError(fmt::format("{} nodes; there must be at least 1", nodes));
}

PartitionResult TwoLevelPartitioner::partition(const Problem& problem, const PartitionOptions& options) {
  if (options.parts < 1 || options.parts % nodes_ != 0)
    throw support::InputError(
        fmt::format("{} parts on {} nodes; parts in two levels are a multiple of the nodes", options.parts, nodes_));
  PartitionOptions level = options;
  if (inner_.serves_nodes()) {
    level.nodes = nodes_;
    return inner_.partition(problem, level);
  }
  const int tasks = options.parts / nodes_;
  level.parts = nodes_;
  level.order = false;
  PartitionResult result = inner_.partition(problem, level);
  if (result.part.empty()) return result;
  if (after_nodes_) after_nodes_(result.part);
  const std::vector<std::int32_t> node = std::move(result.part);
  const PointsByNode by = sort_by_node(node, nodes_);
  level.parts = tasks;
  level.order = options.order;
  PartitionResult whole;
  whole.part.resize(node.size());
  bool ordered = true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(nodes_); ++k) {
    const std::span<const std::uint32_t> points = by.of(k);
    if (points.empty()) continue;
    level.threads = points.size() < kPointsForThreads ? 1 : options.threads;
    const NodeProblem own = problem_of_node(problem, inner_.needs_graph(), node, by, k);
    const Problem inside{
        {own.points, problem.points.dim}, own.weights, inner_.needs_graph() ? &own.graph : nullptr, problem.blocks};
    const PartitionResult tasks_of_node = inner_.partition(inside, level);
    for (std::size_t i = 0; i < points.size(); ++i)
      whole.part[points[i]] = static_cast<std::int32_t>(k) * tasks + tasks_of_node.part[i];
    ordered = ordered && tasks_of_node.order.size() == points.size();
    for (const std::uint32_t i : tasks_of_node.order) whole.order.push_back(points[i]);
    whole.memory_bytes = std::max(whole.memory_bytes, tasks_of_node.memory_bytes +
                                                          (own.points.size() + own.weights.size()) * sizeof(double) +
                                                          own.graph.offsets.size() * sizeof(std::int64_t) +
                                                          own.graph.adjacent.size() * sizeof(std::int32_t));
  }
  if (!ordered) whole.order.clear();
  whole.memory_bytes += node.size() * (sizeof(std::int32_t) + 2 * sizeof(std::uint32_t));
  whole.memory_bytes = std::max(whole.memory_bytes, result.memory_bytes);
  return whole;
}

}  // namespace amrbench::partitioners
