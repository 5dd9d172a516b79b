#include "loadbalance/block_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "partitioners/even_shares.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// Numbers of this rank's ghosts among all blocks. Collective over neighbours.
template <int Dim>
std::vector<std::int64_t> ghost_numbers(const amr::Mesh<Dim>& mesh) {
  std::vector<std::int64_t> sent, received;
  std::vector<std::size_t> counts;
  for (const amr::NeighborRank& neighbor : mesh.neighbors()) {
    for (const std::int32_t i : neighbor.sends) sent.push_back(mesh.global_begin() + i);
    counts.push_back(neighbor.sends.size());
  }
  mesh.graph().template exchange_v<std::int64_t>(sent, counts, received);
  return received;
}

}  // namespace

template <int Dim>
partitioners::Graph gather_block_graph(const amr::Mesh<Dim>& mesh) {
  if (mesh.global_size() > std::numeric_limits<std::int32_t>::max()) {
    throw support::InputError(fmt::format(
        "the graph of {} blocks is too large: methods that cut graphs take at most 2^31 - 1", mesh.global_size()));
  }
  const std::vector<std::int64_t> ghosts = ghost_numbers(mesh);
  std::vector<std::int64_t> degrees;
  std::vector<std::int32_t> adjacent;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const std::size_t begin = adjacent.size();
    for (int face = 0; face < 2 * Dim; ++face) {
      for (const std::int32_t j : mesh.links(i).index[face]) {
        if (j < 0) continue;
        adjacent.push_back(
            static_cast<std::int32_t>(j < mesh.size() ? mesh.global_begin() + j : ghosts[j - mesh.size()]));
      }
    }
    // Across periodic sides a block may meet itself, and another one twice.
    const auto first = adjacent.begin() + static_cast<std::ptrdiff_t>(begin);
    std::sort(first, adjacent.end());
    adjacent.erase(std::unique(first, adjacent.end()), adjacent.end());
    const auto self = static_cast<std::int32_t>(mesh.global_begin() + i);
    adjacent.erase(std::remove(adjacent.begin() + static_cast<std::ptrdiff_t>(begin), adjacent.end(), self),
                   adjacent.end());
    degrees.push_back(static_cast<std::int64_t>(adjacent.size() - begin));
  }
  const std::vector<std::int64_t> all = partitioners::on_root<std::int64_t>(mesh.comm(), degrees);
  partitioners::Graph graph;
  graph.offsets.resize(all.size() + 1);
  std::partial_sum(all.begin(), all.end(), graph.offsets.begin() + 1);
  graph.adjacent = partitioners::on_root<std::int32_t>(mesh.comm(), adjacent);
  return graph;
}

template partitioners::Graph gather_block_graph(const amr::Mesh<2>&);
template partitioners::Graph gather_block_graph(const amr::Mesh<3>&);

}  // namespace amrbench::loadbalance
