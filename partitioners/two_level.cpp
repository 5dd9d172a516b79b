#include "partitioners/two_level.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

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

int TwoLevelPartitioner::tasks_of(const PartitionOptions& options) const {
  if (options.parts < 1 || options.parts % nodes_ != 0)
    throw support::InputError(
        fmt::format("{} parts on {} nodes; parts in two levels are a multiple of the nodes", options.parts, nodes_));
  return options.parts / nodes_;
}

PartitionResult TwoLevelPartitioner::partition(const Problem& problem, const PartitionOptions& options) {
  const int tasks = tasks_of(options);
  PartitionOptions level = options;
  if (inner_.serves_nodes()) {
    level.nodes = nodes_;
    return inner_.partition(problem, level);
  }
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

namespace {

/// Who cuts which node: its share of the ranks together, or, where there are more nodes than ranks, one rank alone.
class NodeRanks {
 public:
  NodeRanks(const support::Communicator& comm, int nodes) : nodes_(nodes), ranks_(comm.size()) {}

  /// The ranks [first, end) that cut a node.
  [[nodiscard]] std::pair<int, int> of(int node) const {
    const auto all = static_cast<std::uint64_t>(ranks_);
    if (ranks_ >= nodes_)
      return {static_cast<int>(share_of(all, node, nodes_)), static_cast<int>(share_of(all, node + 1, nodes_))};
    // The last rank whose share begins at or before this node.
    const auto n = static_cast<std::int64_t>(node) + 1;
    const int rank = static_cast<int>((n * ranks_ + nodes_ - 1) / nodes_) - 1;
    return {rank, rank + 1};
  }

 private:
  int nodes_, ranks_;
};

/// How many points of each node there are on this rank, on those before it, and on all.
struct NodeCounts {
  std::vector<std::uint64_t> here, before, all;
};

NodeCounts count_nodes(const support::Communicator& comm, const PointsByNode& by) {
  NodeCounts counts;
  for (std::size_t k = 0; k + 1 < by.first.size(); ++k) counts.here.push_back(by.first[k + 1] - by.first[k]);
  counts.before = support::exclusive_sums(comm, std::span<const std::uint64_t>(counts.here));
  counts.all = counts.here;
  support::all_sum(comm, std::span<std::uint64_t>(counts.all));
  return counts;
}

/// How many of this rank's points, by node, go to each rank: those that cut a node get even stretches of its points in
/// the order of their numbers.
std::vector<std::size_t> send_counts(const support::Communicator& comm, const NodeRanks& ranks,
                                     const NodeCounts& counts) {
  std::vector<std::size_t> send(static_cast<std::size_t>(comm.size()));
  for (std::size_t k = 0; k < counts.here.size(); ++k) {
    const auto [first, end] = ranks.of(static_cast<int>(k));
    const std::uint64_t mine = counts.before[k], mine_end = mine + counts.here[k];
    for (int r = first; r < end && mine < mine_end; ++r) {
      const std::uint64_t from = std::max(mine, share_of(counts.all[k], r - first, end - first));
      const std::uint64_t to = std::min(mine_end, share_of(counts.all[k], r - first + 1, end - first));
      send[static_cast<std::size_t>(r)] += from < to ? to - from : 0;
    }
  }
  return send;
}

/// Rows of `width` values, in the order of `rows`, to the ranks; what comes stands in the order of the senders.
template <class T>
std::vector<T> send_rows(const support::Communicator& comm, std::span<const T> values, std::size_t width,
                         std::span<const std::uint32_t> rows, std::vector<std::size_t> counts) {
  std::vector<T> out, in;
  out.reserve(rows.size() * width);
  for (const std::uint32_t i : rows) {
    const auto row = values.subspan(i * width, width);
    out.insert(out.end(), row.begin(), row.end());
  }
  for (std::size_t& count : counts) count *= width;
  std::vector<std::size_t> came;
  exchange_in_rounds<T>(comm, out, counts, kShareMessageBytes, in, came);
  return in;
}

/// What was found for rows that came, back to where they came from: row k of those that were sent is `rows[k]` there.
template <class T>
std::vector<T> send_back(const support::Communicator& comm, std::span<const T> found,
                         std::span<const std::size_t> counts, std::span<const std::uint32_t> rows) {
  std::vector<T> in;
  std::vector<std::size_t> came;
  exchange_in_rounds<T>(comm, found, counts, kShareMessageBytes, in, came);
  std::vector<T> mine(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) mine[rows[k]] = in[k];
  return mine;
}

/// One node's points, which lie on these ranks.
RankResult cut_node(const support::Communicator& comm, Partitioner& partitioner, const Problem& mine,
                    const PartitionOptions& options) {
  if (comm.size() > 1) return partitioner.partition_on_ranks(comm, mine, options);
  PartitionOptions level = options;
  if (mine.points.size() < kPointsForThreads) level.threads = 1;
  PartitionResult alone = partitioner.partition(mine, level);
  RankResult result{std::move(alone.part), std::vector<std::uint64_t>(alone.order.size()), alone.memory_bytes, {}};
  for (std::size_t k = 0; k < alone.order.size(); ++k) result.position[alone.order[k]] = k;
  return result;
}

}  // namespace

RankResult TwoLevelPartitioner::partition_on_ranks(const support::Communicator& comm, const Problem& mine,
                                                   const PartitionOptions& options) {
  PartitionOptions level = options;
  check_together(comm, [&] { (void)tasks_of(options); });
  level.parts = nodes_;
  level.order = false;
  RankResult top = inner_.partition_on_ranks(comm, mine, level);
  level.parts = options.parts;
  level.order = options.order;
  RankResult result = cut_nodes(comm, mine, top.part, level);
  result.memory_bytes = std::max(result.memory_bytes, top.memory_bytes);
  return result;
}

/// The second level: points to the ranks that cut their nodes, and the parts back.
RankResult TwoLevelPartitioner::cut_nodes(const support::Communicator& comm, const Problem& mine,
                                          std::span<const std::int32_t> node, const PartitionOptions& options) {
  const bool weighted = support::any_of_ranks(comm, !mine.weights.empty());
  const auto dim = static_cast<std::size_t>(mine.points.dim);
  const NodeRanks ranks(comm, nodes_);
  const PointsByNode by = sort_by_node(node, nodes_);
  const NodeCounts counts = count_nodes(comm, by);
  const std::vector<std::size_t> to = send_counts(comm, ranks, counts);
  const std::vector<std::size_t> from = support::all_to_all<std::size_t>(comm, to);
  const std::vector<double> points = send_rows<double>(comm, mine.points.data, dim, by.points, to);
  const std::vector<double> weights =
      weighted ? send_rows<double>(comm, mine.weights, 1, by.points, to) : std::vector<double>{};
  const std::vector<std::int32_t> node_here = send_rows<std::int32_t>(comm, node, 1, by.points, to);

  const Problem here{{points, mine.points.dim}, weights, nullptr, mine.blocks};
  const PointsByNode by_here = sort_by_node(node_here, nodes_);
  const int first_rank = [&] {
    for (int k = 0; k < nodes_; ++k)
      if (const auto [first, end] = ranks.of(k); comm.rank() >= first && comm.rank() < end) return first;
    return comm.rank();
  }();
  const support::Communicator together = comm.split(first_rank);
  PartitionOptions level = options;
  level.parts = tasks_of(options);
  std::vector<std::int32_t> part_here(node_here.size());
  std::vector<std::uint64_t> position_here(node_here.size());
  bool ordered = options.order;
  std::size_t most = 0;
  std::uint64_t begin = 0;
  check_together(comm, [&] {
    for (int k = 0; k < nodes_; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto [first, end] = ranks.of(k);
      if (comm.rank() >= first && comm.rank() < end && counts.all[at] > 0) {
        const NodeProblem own = problem_of_node(here, false, node_here, by_here, at);
        const RankResult cut =
            cut_node(together, inner_, {{own.points, here.points.dim}, own.weights, nullptr, here.blocks}, level);
        const std::span<const std::uint32_t> rows = by_here.of(at);
        ordered = ordered && cut.position.size() == rows.size();
        for (std::size_t i = 0; i < rows.size(); ++i) {
          part_here[rows[i]] = k * level.parts + cut.part[i];
          if (ordered) position_here[rows[i]] = begin + cut.position[i];
        }
        most = std::max(most, cut.memory_bytes + (own.points.size() + own.weights.size()) * sizeof(double));
      }
      begin += counts.all[at];
    }
  });
  RankResult result;
  result.part = send_back<std::int32_t>(comm, part_here, from, by.points);
  if (support::all_of_ranks(comm, ordered))
    result.position = send_back<std::uint64_t>(comm, position_here, from, by.points);
  result.memory_bytes = most + (points.size() + weights.size()) * sizeof(double) +
                        (node.size() + 3 * node_here.size()) * 2 * sizeof(std::int32_t) +
                        counts.all.size() * 4 * sizeof(std::uint64_t);
  return result;
}

}  // namespace amrbench::partitioners
