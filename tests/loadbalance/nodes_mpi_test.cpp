// Nodes of a run, and what goes between them: against the definition.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "loadbalance/config.hpp"
#include "loadbalance/nodes.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {
namespace {

using support::Communicator;

std::string refusal(std::span<const std::int32_t> node_of_rank) {
  try {
    (void)count_nodes(node_of_rank);
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Nodes, AreCountedWhereEachHasAsManyRanksInARow) {
  const std::vector<std::int32_t> even{0, 0, 0, 1, 1, 1}, one{0, 0}, each{0, 1, 2};
  EXPECT_EQ(count_nodes(even), 2);
  EXPECT_EQ(count_nodes(one), 1);
  EXPECT_EQ(count_nodes(each), 3);
  EXPECT_EQ(even_nodes(6, 2), even);
  EXPECT_EQ(even_nodes(2, 1), one);
  EXPECT_EQ(even_nodes(3, 3), each);
}

TEST(Nodes, OthersAreRefusedInOneLine) {
  const std::vector<std::int32_t> dealt{0, 1, 0, 1}, uneven{0, 0, 0, 1, 1};
  EXPECT_NE(refusal(dealt).find("ranks 1 and 2 lie on nodes 1 and 0"), std::string::npos) << refusal(dealt);
  EXPECT_NE(refusal(uneven).find("nodes 1 and 0 have 2 and 3 ranks"), std::string::npos) << refusal(uneven);
  for (const std::string& line : {refusal(dealt), refusal(uneven)}) {
    EXPECT_EQ(line.find("partition.nodes = -1"), 0U) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

TEST(Nodes, AreThoseAskedForOrThoseWhoseMemoryRanksShare) {
  const Communicator world = Communicator::world();
  const std::vector<std::int32_t> found = find_nodes(world);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(world.size()));
  const Communicator node = world.split_node();
  EXPECT_EQ(std::ranges::count(found, found[static_cast<std::size_t>(world.rank())]), node.size());
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(resolve_nodes(world, 0), 0);
  if (node.size() == world.size()) {
    EXPECT_EQ(resolve_nodes(world, kNodesOfRun), 1);
  }
  for (int nodes = 1; nodes <= world.size() + 1; ++nodes) {
    if (nodes <= world.size() && world.size() % nodes == 0)
      EXPECT_EQ(resolve_nodes(world, nodes), nodes);
    else
      EXPECT_THROW((void)resolve_nodes(world, nodes), support::InputError) << nodes;
  }
}

/// What goes from rank to rank, by the definition of every number.
NodeTraffic reference(const std::map<std::pair<int, int>, amr::HaloMessageSize>& messages,
                      std::span<const std::int32_t> node_of_rank, int nodes) {
  NodeTraffic traffic{.nodes = nodes};
  std::int64_t pieces = 0;
  for (int node = 0; node < nodes; ++node) {
    std::int64_t sent = 0, faces = 0, bytes = 0;
    std::set<std::int32_t> others;
    for (const auto& [pair, size] : messages) {
      const std::int32_t from = node_of_rank[static_cast<std::size_t>(pair.first)];
      const std::int32_t to = node_of_rank[static_cast<std::size_t>(pair.second)];
      if (from != node || to == node) continue;
      ++sent;
      faces += size.pieces;
      bytes += size.bytes;
      others.insert(to);
    }
    traffic.messages_max = std::max(traffic.messages_max, sent);
    traffic.edge_cut_max = std::max(traffic.edge_cut_max, faces);
    traffic.bytes_max = std::max(traffic.bytes_max, bytes);
    traffic.degree_max = std::max(traffic.degree_max, static_cast<std::int64_t>(others.size()));
    traffic.bytes_total += bytes;
    pieces += faces;
  }
  traffic.edge_cut_total = pieces / 2;
  return traffic;
}

TEST(Nodes, TrafficIsThatOfTheDefinition) {
  const Communicator world = Communicator::world();
  const int ranks = world.size();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::map<std::pair<int, int>, amr::HaloMessageSize> messages;
    for (int a = 0; a < ranks; ++a)
      for (int b = 0; b < a; ++b) {
        if (random() % 3 == 0) continue;
        const auto pieces = static_cast<std::int64_t>(1 + random() % 9);
        messages[{a, b}] = {static_cast<std::int64_t>(random() % 1000), pieces};
        messages[{b, a}] = {static_cast<std::int64_t>(random() % 1000), pieces};
      }
    // Any nodes at all, numbered by their lowest rank.
    std::vector<std::int32_t> node_of_rank{0};
    int nodes = 1;
    while (static_cast<int>(node_of_rank.size()) < ranks) {
      node_of_rank.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(nodes + 1)));
      nodes = std::max(nodes, node_of_rank.back() + 1);
    }
    amr::HaloSize mine;
    std::vector<amr::NeighborRank> neighbors;
    std::vector<RankTraffic> all(static_cast<std::size_t>(ranks));
    for (const auto& [pair, size] : messages) {
      if (pair.first == world.rank()) {
        mine.messages.push_back(size);
        neighbors.emplace_back().rank = pair.second;
      }
      RankTraffic& rank = all[static_cast<std::size_t>(pair.first)];
      const std::int32_t to = node_of_rank[static_cast<std::size_t>(pair.second)];
      if (to == node_of_rank[static_cast<std::size_t>(pair.first)]) continue;
      ++rank.messages;
      rank.pieces += size.pieces;
      rank.bytes += size.bytes;
      if (std::ranges::find(rank.nodes, to) == rank.nodes.end()) rank.nodes.push_back(to);
    }
    const NodeTraffic expected = reference(messages, node_of_rank, nodes);
    EXPECT_EQ(node_traffic(world, mine, neighbors, node_of_rank), expected);
    EXPECT_EQ(add_up(all, node_of_rank), expected);
  }
}

}  // namespace
}  // namespace amrbench::loadbalance
