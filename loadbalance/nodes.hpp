#pragma once
// Nodes of a run: groups of ranks between which messages cost more (document 001, section 3.2.3).
#include <cstdint>
#include <span>
#include <vector>

#include "amr/halo_size.hpp"
#include "amr/mesh.hpp"
#include "support/mpi.hpp"

namespace amrbench::loadbalance {

/// The node of each rank, numbered from 0 by the lowest rank on it, from which ranks share memory. Collective.
[[nodiscard]] std::vector<std::int32_t> find_nodes(const support::Communicator& comm);
/// The node of each rank where each of `nodes` has as many that follow one another; `nodes` divides `ranks`. Local.
[[nodiscard]] std::vector<std::int32_t> even_nodes(int ranks, int nodes);

/// How many nodes blocks are placed over (PartitionConfig::nodes): as asked for, or, for kNodesOfRun, as the ranks
/// really lie. Throws support::InputError, the same on every rank, unless each node gets as many ranks, which follow
/// one another. Collective where the ranks are looked at, else local.
[[nodiscard]] int resolve_nodes(const support::Communicator& comm, int nodes);
/// Of ranks that lie so; throws likewise. Local.
[[nodiscard]] int count_nodes(std::span<const std::int32_t> node_of_rank);

/// What a stage's exchange sends between nodes. A node sends what its ranks send to ranks of others.
struct NodeTraffic {
  int nodes = 1;
  std::int64_t degree_max = 0;      ///< other nodes that a node sends to
  std::int64_t messages_max = 0;    ///< messages that a node sends: pairs of its ranks and ranks of others
  std::int64_t edge_cut_max = 0;    ///< faces across which a node sends
  std::int64_t edge_cut_total = 0;  ///< faces between nodes, each once
  std::int64_t bytes_max = 0;       ///< that a node sends
  std::int64_t bytes_total = 0;     ///< that all nodes send
  bool operator==(const NodeTraffic&) const = default;
};

/// What one rank sends to ranks of other nodes.
struct RankTraffic {
  std::int64_t messages = 0, pieces = 0, bytes = 0;
  std::vector<std::int32_t> nodes;  ///< that it sends to, each once
};
/// Of each rank, all in one process. O(ranks and their nodes).
[[nodiscard]] NodeTraffic add_up(std::span<const RankTraffic> ranks, std::span<const std::int32_t> node_of_rank);
/// Of a run: each rank has its own halo and the neighbours of its mesh; the same result on every rank. Collective.
[[nodiscard]] NodeTraffic node_traffic(const support::Communicator& comm, const amr::HaloSize& halo,
                                       std::span<const amr::NeighborRank> neighbors,
                                       std::span<const std::int32_t> node_of_rank);

}  // namespace amrbench::loadbalance
