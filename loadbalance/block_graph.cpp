#include "loadbalance/block_graph.hpp"

#include <algorithm>
#include <numeric>

#include "partitioners/bounded_exchange.hpp"

namespace amrbench::loadbalance {

namespace {

/// Numbers of this rank's ghosts among all blocks. Collective over neighbours.
std::vector<std::int64_t> ghost_numbers(const amr::Mesh<3>& mesh) {
  std::vector<std::int64_t> sent, received;
  std::vector<std::size_t> counts;
  for (const amr::NeighborRank& neighbor : mesh.neighbors()) {
    for (const std::int32_t i : neighbor.sends) sent.push_back(mesh.global_begin() + i);
    counts.push_back(neighbor.sends.size());
  }
  mesh.graph().exchange_v<std::int64_t>(sent, counts, received);
  return received;
}

/// Everybody's values on rank 0, in rank order. Collective.
template <class T>
std::vector<T> gather_on_root(const support::Communicator& comm, const std::vector<T>& mine) {
  constexpr std::size_t kMessageBytes = std::size_t{1} << 20;
  std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size())), came;
  counts[0] = mine.size();
  std::vector<T> all;
  partitioners::exchange_in_rounds<T>(comm, mine, counts, kMessageBytes, all, came);
  return all;
}

}  // namespace

partitioners::Graph gather_block_graph(const amr::Mesh<3>& mesh) {
  const std::vector<std::int64_t> ghosts = ghost_numbers(mesh);
  std::vector<std::int64_t> degrees;
  std::vector<std::int32_t> adjacent;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const std::size_t begin = adjacent.size();
    for (const auto& face : mesh.links(i).index) {
      for (const std::int32_t j : face) {
        if (j < 0) continue;
        adjacent.push_back(
            static_cast<std::int32_t>(j < mesh.size() ? mesh.global_begin() + j : ghosts[j - mesh.size()]));
      }
    }
    std::sort(adjacent.begin() + static_cast<std::ptrdiff_t>(begin), adjacent.end());
    degrees.push_back(static_cast<std::int64_t>(adjacent.size() - begin));
  }
  const std::vector<std::int64_t> all = gather_on_root(mesh.comm(), degrees);
  partitioners::Graph graph;
  graph.offsets.resize(all.size() + 1);
  std::partial_sum(all.begin(), all.end(), graph.offsets.begin() + 1);
  graph.adjacent = gather_on_root(mesh.comm(), adjacent);
  return graph;
}

}  // namespace amrbench::loadbalance
