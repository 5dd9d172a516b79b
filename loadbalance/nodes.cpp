#include "loadbalance/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "loadbalance/config.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

using support::InputError;

/// What a node sends to others.
struct OneNode {
  std::int64_t messages = 0, pieces = 0, bytes = 0;
  std::vector<std::int32_t> nodes;  ///< that it sends to, some of them several times

  [[nodiscard]] std::int64_t degree() {
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return static_cast<std::int64_t>(nodes.size());
  }
};

int number_of(std::span<const std::int32_t> node_of_rank) {
  return node_of_rank.empty() ? 0 : *std::ranges::max_element(node_of_rank) + 1;
}

}  // namespace

std::vector<std::int32_t> find_nodes(const support::Communicator& comm) {
  const support::Communicator node = comm.split_node();
  std::vector<std::int32_t> node_of = support::all_gather(comm, std::int32_t{support::all_min(node, comm.rank())});
  // The lowest rank of a node meets it first, so numbers ascend with them.
  std::vector<std::int32_t> number(node_of.size());
  std::int32_t next = 0;
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    const auto lowest = static_cast<std::size_t>(node_of[r]);
    if (lowest == r) number[r] = next++;
    node_of[r] = number[lowest];
  }
  return node_of;
}

std::vector<std::int32_t> even_nodes(int ranks, int nodes) {
  std::vector<std::int32_t> node_of(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < node_of.size(); ++r) node_of[r] = static_cast<std::int32_t>(r) / (ranks / nodes);
  return node_of;
}

int count_nodes(std::span<const std::int32_t> node_of_rank) {
  constexpr const char* kInstead = "start as many on each node, those of a node one after another, or set 0";
  const int nodes = number_of(node_of_rank);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(nodes));
  for (const std::int32_t node : node_of_rank) ++sizes[static_cast<std::size_t>(node)];
  if (!std::ranges::is_sorted(node_of_rank)) {
    const auto back = std::ranges::is_sorted_until(node_of_rank) - node_of_rank.begin();
    throw InputError(fmt::format(
        "partition.nodes = {}: ranks {} and {} lie on nodes {} and {}, so ranks of a node do not follow one "
        "another; {}",
        kNodesOfRun, back - 1, back, node_of_rank[static_cast<std::size_t>(back) - 1],
        node_of_rank[static_cast<std::size_t>(back)], kInstead));
  }
  const auto [least, most] = std::ranges::minmax_element(sizes);
  if (nodes > 0 && *least != *most)
    throw InputError(fmt::format("partition.nodes = {}: nodes {} and {} have {} and {} ranks; {}", kNodesOfRun,
                                 least - sizes.begin(), most - sizes.begin(), *least, *most, kInstead));
  return nodes;
}

int resolve_nodes(const support::Communicator& comm, int nodes) {
  if (nodes == kNodesOfRun) return count_nodes(find_nodes(comm));
  if (nodes > comm.size())
    throw InputError(fmt::format("partition.nodes = {}: more than the {} ranks of this run", nodes, comm.size()));
  if (nodes > 0 && comm.size() % nodes != 0)
    throw InputError(fmt::format(
        "partition.nodes = {}: does not divide the {} ranks of this run; each node has as many", nodes, comm.size()));
  return nodes;
}

NodeTraffic add_up(std::span<const RankTraffic> ranks, std::span<const std::int32_t> node_of_rank) {
  std::vector<OneNode> nodes(static_cast<std::size_t>(number_of(node_of_rank)));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    OneNode& node = nodes[static_cast<std::size_t>(node_of_rank[r])];
    node.messages += ranks[r].messages;
    node.pieces += ranks[r].pieces;
    node.bytes += ranks[r].bytes;
    node.nodes.insert(node.nodes.end(), ranks[r].nodes.begin(), ranks[r].nodes.end());
  }
  NodeTraffic traffic;
  traffic.nodes = static_cast<int>(nodes.size());
  std::int64_t pieces = 0;
  for (OneNode& node : nodes) {
    traffic.degree_max = std::max(traffic.degree_max, node.degree());
    traffic.messages_max = std::max(traffic.messages_max, node.messages);
    traffic.edge_cut_max = std::max(traffic.edge_cut_max, node.pieces);
    traffic.bytes_max = std::max(traffic.bytes_max, node.bytes);
    traffic.bytes_total += node.bytes;
    pieces += node.pieces;
  }
  traffic.edge_cut_total = pieces / 2;  // both its nodes have counted a face
  return traffic;
}

NodeTraffic node_traffic(const support::Communicator& comm, const amr::HaloSize& halo,
                         std::span<const amr::NeighborRank> neighbors, std::span<const std::int32_t> node_of_rank) {
  const std::int32_t own_node = node_of_rank[static_cast<std::size_t>(comm.rank())];
  std::array<std::int64_t, 3> sums{};  // messages, pieces, bytes
  std::vector<std::int32_t> others;
  for (std::size_t k = 0; k < halo.messages.size(); ++k) {
    const std::int32_t node = node_of_rank[static_cast<std::size_t>(neighbors[k].rank)];
    if (node == own_node) continue;
    ++sums[0];
    sums[1] += halo.messages[k].pieces;
    sums[2] += halo.messages[k].bytes;
    others.push_back(node);
  }
  std::array<std::int64_t, 2> all{sums[1], sums[2]};
  support::all_sum(comm, std::span<std::int64_t>(all));
  const support::Communicator own = comm.split(own_node);
  support::all_sum(own, std::span<std::int64_t>(sums));
  OneNode node{sums[0], sums[1], sums[2], support::all_gather_v<std::int32_t>(own, others)};
  std::array<std::int64_t, 4> most{node.degree(), node.messages, node.pieces, node.bytes};
  support::all_max(comm, std::span<std::int64_t>(most));
  return {number_of(node_of_rank), most[0], most[1], most[2], all[0] / 2, most[3], all[1]};
}

}  // namespace amrbench::loadbalance
