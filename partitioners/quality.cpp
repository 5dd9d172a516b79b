#include "partitioners/quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "partitioners/threads.hpp"
#include "support/error.hpp"
#include "support/superaccumulator.hpp"

namespace amrbench::partitioners {

namespace {

using support::ExactSum;
using support::InputError;
using Index = std::uint32_t;

/// Points by part: those of part p are points[first[p] .. first[p + 1]), ascending.
struct PartLists {
  std::vector<std::size_t> first;
  std::vector<Index> points;

  [[nodiscard]] std::span<const Index> of(std::size_t p) const {
    return {points.data() + first[p], first[p + 1] - first[p]};
  }
};

PartLists make_lists(std::span<const std::int32_t> part, int parts) {
  PartLists lists;
  lists.first.assign(static_cast<std::size_t>(parts) + 1, 0);
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] < 0 || part[i] >= parts)
      throw InputError(fmt::format("point {} is in part {}; parts are 0 to {}", i, part[i], parts - 1));
    ++lists.first[static_cast<std::size_t>(part[i]) + 1];
  }
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) lists.first[p + 1] += lists.first[p];
  lists.points.resize(part.size());
  std::vector<std::size_t> next(lists.first.begin(), lists.first.end() - 1);
  for (std::size_t i = 0; i < part.size(); ++i)
    lists.points[next[static_cast<std::size_t>(part[i])]++] = static_cast<Index>(i);
  return lists;
}

/// What is counted of one part.
struct PartCounts {
  std::int64_t degree = 0;
  std::int64_t edge_cut = 0;
  std::int64_t volume = 0;
  std::int64_t boundary = 0;
  std::int64_t pieces = 0;
};

/// Which of the marks 0 .. n - 1 were seen since the last call of forget(), which costs nothing.
class SeenSet {
 public:
  explicit SeenSet(std::size_t n) : stamp_(n, 0) {}
  void forget() {
    if (++now_ == 0) {  // after 2^32 - 1 rounds the old stamps would look new
      std::fill(stamp_.begin(), stamp_.end(), 0);
      now_ = 1;
    }
  }
  /// True the first time.
  bool insert(std::int32_t mark) {
    std::uint32_t& stamp = stamp_[static_cast<std::size_t>(mark)];
    if (stamp == now_) return false;
    stamp = now_;
    return true;
  }

 private:
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
};

/// Counts parts one after another; one a thread. `visited` has a byte a point and is shared: a part touches its own.
class PartCounter {
 public:
  PartCounter(std::span<const std::int32_t> part, std::size_t parts, const Graph& graph, std::span<char> visited)
      : part_(part), graph_(graph), visited_(visited), of_part_(parts), of_point_(parts) {}

  PartCounts count(std::int32_t p, std::span<const Index> points) {
    PartCounts counts;
    of_part_.forget();
    for (const Index v : points) {
      of_point_.forget();
      std::int64_t others = 0;
      for (const std::int32_t w : neighbours(v)) {
        const std::int32_t other = part_[static_cast<std::size_t>(w)];
        if (other == p) continue;
        ++counts.edge_cut;
        if (of_point_.insert(other)) ++others;
        if (of_part_.insert(other)) ++counts.degree;
      }
      counts.volume += others;
      if (others > 0) ++counts.boundary;
    }
    for (const Index v : points) {
      if (visited_[v] != 0) continue;
      ++counts.pieces;
      walk(p, v);
    }
    return counts;
  }

 private:
  [[nodiscard]] std::span<const std::int32_t> neighbours(std::size_t v) const {
    const auto begin = static_cast<std::size_t>(graph_.offsets[v]);
    return {graph_.adjacent.data() + begin, static_cast<std::size_t>(graph_.offsets[v + 1]) - begin};
  }

  /// Visits all points of the part that hang together with `start`.
  void walk(std::int32_t p, Index start) {
    stack_.assign(1, start);
    visited_[start] = 1;
    while (!stack_.empty()) {
      const Index v = stack_.back();
      stack_.pop_back();
      for (const std::int32_t w : neighbours(v)) {
        const auto next = static_cast<std::size_t>(w);
        if (part_[next] != p || visited_[next] != 0) continue;
        visited_[next] = 1;
        stack_.push_back(static_cast<Index>(next));
      }
    }
  }

  std::span<const std::int32_t> part_;
  const Graph& graph_;
  std::span<char> visited_;
  SeenSet of_part_;
  SeenSet of_point_;
  std::vector<Index> stack_;
};

void check_sizes(std::span<const std::int32_t> part, int parts, std::span<const double> weights, const Graph* graph) {
  if (parts < 1) throw InputError(fmt::format("{} parts; there must be at least 1", parts));
  if (part.size() > std::numeric_limits<Index>::max())
    throw InputError(fmt::format("{} points; at most 2^32 - 1 can be measured", part.size()));
  if (!weights.empty() && weights.size() != part.size())
    throw InputError(fmt::format("{} weights for {} points", weights.size(), part.size()));
  if (graph != nullptr && graph->vertices() != part.size())
    throw InputError(fmt::format("a graph of {} vertices for {} points", graph->vertices(), part.size()));
}

/// Fills in the loads and returns each part's.
std::vector<double> measure_loads(const PartLists& lists, std::span<const double> weights, int threads,
                                  PartitionQuality& quality) {
  const auto parts = static_cast<std::size_t>(quality.parts);
  std::vector<double> loads(parts);
  ExactSum total;
#pragma omp parallel num_threads(team_size(threads))
  {
    ExactSum mine;
#pragma omp for schedule(dynamic, 16)
    for (std::size_t p = 0; p < parts; ++p) {
      const std::span<const Index> points = lists.of(p);
      if (weights.empty()) {
        loads[p] = static_cast<double>(points.size());
        mine.add(loads[p]);
        continue;
      }
      ExactSum sum;
      for (const Index v : points) sum.add(weights[v]);
      loads[p] = sum.to_double();
      mine.merge(sum);
    }
#pragma omp critical(amrbench_quality_loads)
    total.merge(mine);
  }
  quality.load_max = *std::max_element(loads.begin(), loads.end());
  quality.load_min = *std::min_element(loads.begin(), loads.end());
  quality.load_mean = total.to_double() / quality.parts;
  return loads;
}

std::vector<PartCounts> count_parts(std::span<const std::int32_t> part, const PartLists& lists, const Graph& graph,
                                    int threads) {
  const std::size_t parts = lists.first.size() - 1;
  std::vector<PartCounts> counts(parts);
  std::vector<char> visited(part.size(), 0);
#pragma omp parallel num_threads(team_size(threads))
  {
    PartCounter counter(part, parts, graph, visited);
#pragma omp for schedule(dynamic, 4)
    for (std::size_t p = 0; p < parts; ++p) counts[p] = counter.count(static_cast<std::int32_t>(p), lists.of(p));
  }
  return counts;
}

void measure_graph(std::span<const std::int32_t> part, const PartLists& lists, const Graph& graph, int threads,
                   PartitionQuality& quality) {
  const std::vector<PartCounts> counts = count_parts(part, lists, graph, threads);
  std::int64_t degrees = 0;
  for (const PartCounts& c : counts) {
    quality.degree_max = std::max(quality.degree_max, c.degree);
    degrees += c.degree;
    quality.edge_cut_max = std::max(quality.edge_cut_max, c.edge_cut);
    quality.edge_cut_total += c.edge_cut;
    quality.comm_volume_max = std::max(quality.comm_volume_max, c.volume);
    quality.comm_volume_total += c.volume;
    quality.boundary_max = std::max(quality.boundary_max, c.boundary);
    quality.boundary_total += c.boundary;
    quality.pieces_max = std::max(quality.pieces_max, c.pieces);
    quality.pieces_total += c.pieces;
  }
  quality.edge_cut_total /= 2;
  quality.degree_mean = static_cast<double>(degrees) / quality.parts;
  quality.has_graph = true;
}

/// For each node the sum over its parts of the parts on other nodes each one touches; the largest.
std::int64_t most_messages(std::span<const std::int32_t> part, std::span<const std::int32_t> node_of, int nodes,
                           const PartLists& lists, const Graph& graph) {
  SeenSet seen(node_of.size());
  std::vector<std::int64_t> messages(static_cast<std::size_t>(nodes), 0);
  for (std::size_t p = 0; p < node_of.size(); ++p) {
    seen.forget();
    std::int64_t& sent = messages[static_cast<std::size_t>(node_of[p])];
    for (const Index v : lists.of(p)) {
      for (std::int64_t k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
        const std::int32_t other = part[static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(k)])];
        if (node_of[static_cast<std::size_t>(other)] != node_of[p] && seen.insert(other)) ++sent;
      }
    }
  }
  return *std::max_element(messages.begin(), messages.end());
}

}  // namespace

PartitionQuality measure_quality(std::span<const std::int32_t> part, int parts, std::span<const double> weights,
                                 const Graph* graph, int threads) {
  check_sizes(part, parts, weights, graph);
  const PartLists lists = make_lists(part, parts);
  PartitionQuality quality;
  quality.parts = parts;
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p) quality.empty_parts += lists.of(p).empty() ? 1 : 0;
  measure_loads(lists, weights, threads, quality);
  if (graph != nullptr) measure_graph(part, lists, *graph, threads, quality);
  return quality;
}

std::vector<PartShare> measure_shares(std::span<const std::int32_t> part, int parts, std::span<const double> weights,
                                      const Graph& graph, int threads) {
  check_sizes(part, parts, weights, &graph);
  const PartLists lists = make_lists(part, parts);
  PartitionQuality quality;
  quality.parts = parts;
  const std::vector<double> loads = measure_loads(lists, weights, threads, quality);
  const std::vector<PartCounts> counts = count_parts(part, lists, graph, threads);
  std::vector<PartShare> shares;
  for (std::size_t p = 0; p < loads.size(); ++p) shares.push_back({loads[p], counts[p].degree, counts[p].edge_cut});
  return shares;
}

namespace {

/// Equation 2.6.
double with_threads(double load, const CostRates& rates) {
  const double each = std::ceil(load / rates.threads);
  const double fills = std::ceil(each * rates.touched_bytes * rates.threads / rates.cache_bytes);
  return rates.work_s * each + rates.fill_s * fills + rates.syncs * rates.sync_s * rates.threads;
}

}  // namespace

ModelledCost modelled_cost(std::span<const PartShare> parts, const CostRates& rates) {
  ModelledCost cost;
  double both = 0;
  for (const PartShare& p : parts) {
    const double comp = rates.work_s * p.load;
    const double comm = rates.latency_s * static_cast<double>(p.degree) +
                        rates.byte_s * rates.edge_bytes * static_cast<double>(p.edge_cut);
    cost.comp_s = std::max(cost.comp_s, comp);
    cost.comm_s = std::max(cost.comm_s, comm);
    both = std::max(both, std::max(comp, comm));
    if (rates.threads > 0) cost.threads_s = std::max(cost.threads_s, with_threads(p.load, rates));
  }
  cost.bsp_s = rates.comp_phases * cost.comp_s + rates.comm_phases * cost.comm_s;
  cost.overlap_s = rates.overlap_phases * both;
  cost.total_s = cost.bsp_s + cost.overlap_s;
  return cost;
}

std::vector<std::int32_t> group_parts(int parts, int nodes) {
  if (parts < 1 || nodes < 1) throw InputError(fmt::format("{} parts on {} nodes; at least 1 of each", parts, nodes));
  std::vector<std::int32_t> node_of(static_cast<std::size_t>(parts));
  const int each = parts / nodes;
  const int larger = parts % nodes;  // the first nodes have one part more
  for (int p = 0; p < parts; ++p) {
    const int in_larger = larger * (each + 1);
    node_of[static_cast<std::size_t>(p)] = p < in_larger ? p / (each + 1) : larger + (p - in_larger) / each;
  }
  return node_of;
}

NodeQuality measure_nodes(std::span<const std::int32_t> part, int parts, std::span<const std::int32_t> node_of,
                          int nodes, std::span<const double> weights, const Graph& graph, int threads) {
  check_sizes(part, parts, weights, &graph);
  if (node_of.size() != static_cast<std::size_t>(parts))
    throw InputError(fmt::format("{} parts, but the nodes of {} are given", parts, node_of.size()));
  for (std::size_t p = 0; p < node_of.size(); ++p)
    if (node_of[p] < 0 || node_of[p] >= nodes)
      throw InputError(fmt::format("part {} is on node {}; nodes are 0 to {}", p, node_of[p], nodes - 1));
  const PartLists lists = make_lists(part, parts);
  std::vector<std::int32_t> node(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) node[i] = node_of[static_cast<std::size_t>(part[i])];
  NodeQuality quality;
  quality.nodes = nodes;
  quality.across = measure_quality(node, nodes, weights, &graph, threads);
  quality.messages_max = most_messages(part, node_of, nodes, lists, graph);
  return quality;
}

double moved_weight(std::span<const std::int32_t> part, std::span<const std::int32_t> previous,
                    std::span<const double> weights) {
  if (part.size() != previous.size() || (!weights.empty() && weights.size() != part.size()))
    throw InputError(
        fmt::format("{} points, {} previous parts, {} weights", part.size(), previous.size(), weights.size()));
  ExactSum moved;
  for (std::size_t i = 0; i < part.size(); ++i)
    if (part[i] != previous[i]) moved.add(weights.empty() ? 1.0 : weights[i]);
  return moved.to_double();
}

}  // namespace amrbench::partitioners
