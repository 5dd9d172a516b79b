#include "loadbalance/replay/virtual_ranks.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "amr/work.hpp"

namespace amrbench::loadbalance {

namespace {

/// Blocks of each rank: those of rank r stand at [begin[r], begin[r + 1]) of `order`, or of all blocks where that is
/// empty.
struct ByRank {
  std::vector<std::int32_t> order;
  std::vector<std::int64_t> begin;
  ByRank(std::span<const std::int32_t> owners, int ranks)
      : order(rank_order(owners, ranks)), begin(static_cast<std::size_t>(ranks) + 1) {
    for (const std::int32_t r : owners) ++begin[static_cast<std::size_t>(r) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
  }
  [[nodiscard]] std::int32_t block(std::int64_t at) const {
    return order.empty() ? static_cast<std::int32_t>(at) : order[static_cast<std::size_t>(at)];
  }
};

/// Messages and bytes of one rank, within its node and beyond.
struct Traffic {
  std::int64_t near_messages = 0, near_bytes = 0, far_messages = 0, far_bytes = 0, pieces = 0, far_pieces = 0;
  void add(bool near, bool is_new, std::int64_t bytes) {
    (near ? near_messages : far_messages) += is_new ? 1 : 0;
    (near ? near_bytes : far_bytes) += bytes;
    ++pieces;
    far_pieces += near ? 0 : 1;
  }
  [[nodiscard]] double seconds(const Machine& m, std::int64_t cell_bytes) const {
    const std::int64_t cells = (near_bytes + far_bytes) / cell_bytes;
    return static_cast<double>(cells) * m.face_cell_s + static_cast<double>(near_messages) * m.node_latency_s +
           static_cast<double>(near_bytes) * m.node_byte_s + static_cast<double>(far_messages) * m.latency_s +
           static_cast<double>(far_bytes) * m.byte_s;
  }
};

}  // namespace

std::vector<std::int32_t> rank_order(std::span<const std::int32_t> owners, int ranks) {
  if (std::is_sorted(owners.begin(), owners.end())) return {};
  std::vector<std::int64_t> at(static_cast<std::size_t>(ranks) + 1);
  for (const std::int32_t r : owners) ++at[static_cast<std::size_t>(r) + 1];
  std::partial_sum(at.begin(), at.end(), at.begin());
  std::vector<std::int32_t> order(owners.size());
  for (std::size_t i = 0; i < owners.size(); ++i)
    order[static_cast<std::size_t>(at[static_cast<std::size_t>(owners[i])]++)] = static_cast<std::int32_t>(i);
  return order;
}

FaceBytes::FaceBytes(const TraceHeader& header) {
  const kernels::BlockLayout layout = header.layout();
  const bool is_raw = header.halo.variables > 0;
  const std::int64_t parts = std::int64_t{1} << (header.dim - 1);
  cell_ = std::int64_t{8} * layout.lanes;
  for (int axis = 0; axis < header.dim; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const std::size_t values =
        is_raw ? layout.face_cells(axis) * static_cast<std::size_t>(header.halo.variables * header.halo.layers)
               : layout.face_values(axis);
    const std::int64_t whole = std::int64_t{8} * static_cast<std::int64_t>(values);
    of_[static_cast<std::size_t>(amr::FaceKind::same)][at] = whole;
    of_[static_cast<std::size_t>(amr::FaceKind::fine)][at] = whole / parts;
    of_[static_cast<std::size_t>(amr::FaceKind::coarse)][at] = is_raw ? whole : whole / parts;
  }
}

template <int Dim>
std::vector<double> block_work(const amr::Mesh<Dim>& mesh, const TraceHeader& header, std::span<const double> costs,
                               std::span<const std::int32_t> owners) {
  std::vector<double> work(static_cast<std::size_t>(mesh.size()), 1.0);
  if (!costs.empty()) std::copy(costs.begin(), costs.end(), work.begin());
  if constexpr (Dim == 3) {
    if (header.work.empty()) return work;
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < work.size(); ++i)
      work[i] *=
          amr::work_factor(header.work, mesh.centre(static_cast<std::int32_t>(i)), owners.empty() ? -1 : owners[i]);
  }
  return work;
}

std::vector<double> rank_loads(const BlockTable& table, std::span<const std::int32_t> owners, int ranks, bool whole) {
  std::vector<double> loads(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < owners.size(); ++i)
    loads[static_cast<std::size_t>(owners[i])] += table.weight[i] * table.share[i];
  if (whole)
    for (double& load : loads) load = std::floor(load);
  return loads;
}

template <int Dim>
HaloCost halo_cost(const amr::Mesh<Dim>& mesh, std::span<const std::int32_t> owners, int ranks,
                   const TraceHeader& header, const Machine& machine) {
  HaloCost cost;
  cost.seconds.resize(static_cast<std::size_t>(ranks));
  if (ranks == 1) return cost;
  const FaceBytes bytes(header);
  const ByRank by_rank(owners, ranks);
  std::int64_t degree_max = 0, edge_cut_max = 0, bytes_max = 0, bytes_total = 0;
  std::vector<RankTraffic> far(static_cast<std::size_t>(ranks));
#pragma omp parallel reduction(max : degree_max, edge_cut_max, bytes_max) reduction(+ : bytes_total)
  {
    std::vector<std::int32_t> seen(static_cast<std::size_t>(ranks), -1);  // the last rank that met this neighbour
    std::vector<std::int32_t> seen_nodes(seen);                           // or this node
#pragma omp for schedule(dynamic, 16)
    for (int rank = 0; rank < ranks; ++rank) {
      Traffic traffic;
      std::vector<std::int32_t> nodes;
      const int node = rank / machine.ranks_per_node;
      for (std::int64_t at = by_rank.begin[static_cast<std::size_t>(rank)];
           at < by_rank.begin[static_cast<std::size_t>(rank) + 1]; ++at) {
        const auto& links = mesh.links(by_rank.block(at));
        for (std::size_t face = 0; face < 2 * Dim; ++face) {
          const auto kind = links.kind[face];
          if (kind == amr::FaceKind::boundary) continue;
          const std::size_t parts = kind == amr::FaceKind::fine ? links.kParts : 1;
          const std::int64_t size = bytes.to(kind, static_cast<int>(face / 2));
          for (std::size_t part = 0; part < parts; ++part) {
            const std::int32_t other = owners[static_cast<std::size_t>(links.index[face][part])];
            if (other == rank) continue;
            const int other_node = other / machine.ranks_per_node;
            std::int32_t& last = seen[static_cast<std::size_t>(other)];
            traffic.add(other_node == node, last != rank, size);
            last = rank;
            if (std::int32_t& last_to = seen_nodes[static_cast<std::size_t>(other_node)];
                other_node != node && last_to != rank) {
              last_to = rank;
              nodes.push_back(other_node);
            }
          }
        }
      }
      cost.seconds[static_cast<std::size_t>(rank)] = traffic.seconds(machine, bytes.of_cell());
      degree_max = std::max(degree_max, traffic.near_messages + traffic.far_messages);
      edge_cut_max = std::max(edge_cut_max, traffic.pieces);
      bytes_max = std::max(bytes_max, traffic.near_bytes + traffic.far_bytes);
      bytes_total += traffic.near_bytes + traffic.far_bytes;
      far[static_cast<std::size_t>(rank)] = {traffic.far_messages, traffic.far_pieces, traffic.far_bytes,
                                             std::move(nodes)};
    }
  }
  cost.degree_max = degree_max;
  cost.edge_cut_max = edge_cut_max;
  cost.bytes_max = bytes_max;
  cost.bytes_total = bytes_total;
  std::vector<std::int32_t> node_of_rank(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) node_of_rank[static_cast<std::size_t>(rank)] = rank / machine.ranks_per_node;
  cost.nodes = add_up(far, node_of_rank);
  return cost;
}

template <int Dim>
std::vector<double> jump_cells(const amr::Mesh<Dim>& mesh, std::span<const std::int32_t> owners, int ranks,
                               const TraceHeader& header) {
  const kernels::BlockLayout layout = header.layout();
  std::vector<double> cells(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const auto& links = mesh.links(static_cast<std::int32_t>(i));
    std::size_t of_block = 0;
    for (std::size_t face = 0; face < 2 * Dim; ++face)
      if (links.kind[face] == amr::FaceKind::fine || links.kind[face] == amr::FaceKind::coarse)
        of_block += layout.face_cells(static_cast<int>(face / 2));
    cells[static_cast<std::size_t>(owners[i])] +=
        static_cast<double>(of_block * static_cast<std::size_t>(layout.chunks));
  }
  return cells;
}

template HaloCost halo_cost(const amr::Mesh<2>&, std::span<const std::int32_t>, int, const TraceHeader&,
                            const Machine&);
template HaloCost halo_cost(const amr::Mesh<3>&, std::span<const std::int32_t>, int, const TraceHeader&,
                            const Machine&);
template std::vector<double> jump_cells(const amr::Mesh<2>&, std::span<const std::int32_t>, int, const TraceHeader&);
template std::vector<double> jump_cells(const amr::Mesh<3>&, std::span<const std::int32_t>, int, const TraceHeader&);
template std::vector<double> block_work(const amr::Mesh<2>&, const TraceHeader&, std::span<const double>,
                                        std::span<const std::int32_t>);
template std::vector<double> block_work(const amr::Mesh<3>&, const TraceHeader&, std::span<const double>,
                                        std::span<const std::int32_t>);

namespace {

/// Blocks in sequence that go from one rank to another, or stay.
struct Stretch {
  std::int32_t from, to;
  std::int64_t blocks;
};

/// Blocks that stay where every rank is given the part that most of its blocks go to (amr/migrate.hpp).
std::int64_t most_kept(std::vector<Stretch>& stretches) {
  std::ranges::sort(stretches, {}, [](const Stretch& s) { return std::pair(s.from, s.to); });
  std::int64_t all = 0, of_rank = 0, of_pair = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const bool same_rank = i > 0 && stretches[i].from == stretches[i - 1].from;
    if (!same_rank) all += std::exchange(of_rank, 0);
    of_pair = same_rank && stretches[i].to == stretches[i - 1].to ? of_pair + stretches[i].blocks : stretches[i].blocks;
    of_rank = std::max(of_rank, of_pair);
  }
  return all + of_rank;
}

}  // namespace

MoveCost move_cost(std::span<const std::int32_t> from, std::span<const std::int32_t> to, int ranks,
                   std::int64_t block_bytes, const Machine& machine) {
  MoveCost cost;
  const bool own = machine.migrate_byte_s >= 0.0;
  const double near_byte_s = own ? machine.migrate_byte_s : machine.node_byte_s;
  const double far_byte_s =
      own ? std::max(0.0, machine.migrate_byte_s + machine.byte_s - machine.node_byte_s) : machine.byte_s;
  // Where moves have numbers of their own, migrate_s has the latency.
  const double near_latency_s = own ? 0.0 : machine.node_latency_s;
  const double far_latency_s = own ? std::max(0.0, machine.latency_s - machine.node_latency_s) : machine.latency_s;
  std::vector<double> seconds(static_cast<std::size_t>(ranks));
  std::vector<Stretch> stretches;
  std::int32_t last_from = -1, last_to = -1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int32_t a = from[i], b = to[i];
    if (stretches.empty() || stretches.back().from != a || stretches.back().to != b) stretches.push_back({a, b, 0});
    ++stretches.back().blocks;
    if (a == b) continue;
    ++cost.count.blocks;
    const bool near = a / machine.ranks_per_node == b / machine.ranks_per_node;
    // Blocks of one pair of ranks mostly stand together along the curve: a stretch of them counts as one message.
    const double latency = a == last_from && b == last_to ? 0.0 : near ? near_latency_s : far_latency_s;
    const double took =
        latency + machine.migrate_block_s + static_cast<double>(block_bytes) * (near ? near_byte_s : far_byte_s);
    seconds[static_cast<std::size_t>(a)] += took;
    seconds[static_cast<std::size_t>(b)] += took;
    last_from = a;
    last_to = b;
  }
  for (const double s : seconds) cost.seconds = std::max(cost.seconds, s);
  if (cost.count.blocks > 0) cost.seconds += machine.migrate_s;
  cost.count.bytes = cost.count.blocks * block_bytes;
  cost.count.bytes_least = (static_cast<std::int64_t>(from.size()) - most_kept(stretches)) * block_bytes;
  return cost;
}

}  // namespace amrbench::loadbalance
