// Every method over ranks: the parts of one process, for any spread of the points. Splitter "octree": octree_mpi_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "partitioners/partitioner.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/two_level.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"
#include "tests/partitioners/point_sets.hpp"
#include "tests/partitioners/rank_spread.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

/// A ring with chords, so that it is connected and no grid.
Graph random_graph(std::size_t n, std::mt19937_64& rng) {
  std::vector<std::set<std::int32_t>> rows(n);
  const auto join = [&](std::size_t a, std::size_t b) {
    if (a == b) return;
    rows[a].insert(static_cast<std::int32_t>(b));
    rows[b].insert(static_cast<std::int32_t>(a));
  };
  for (std::size_t i = 0; i < n; ++i) {
    join(i, (i + 1) % n);
    join(i, rng() % n);
  }
  Graph graph;
  for (const auto& row : rows) {
    graph.adjacent.insert(graph.adjacent.end(), row.begin(), row.end());
    graph.offsets.push_back(static_cast<std::int64_t>(graph.adjacent.size()));
  }
  return graph;
}

/// All points of a case, the same on every rank.
struct Case {
  int dim = 3;
  std::vector<double> x, weights;
  Graph graph;
  std::vector<std::size_t> cuts;  ///< of the points, by rank
  PartitionOptions options;
  std::string name;
};

Case random_case(std::uint64_t seed, int ranks) {
  std::mt19937_64 rng(seed);
  Case c;
  c.dim = static_cast<int>(2 + rng() % 2);
  // Above 2^14 points orb cuts together what it otherwise gathers.
  const std::size_t n = seed % 16 == 0 ? 17000 + rng() % 3000 : rng() % 4 == 0 ? rng() % 8 : rng() % 1500;
  // Not the extreme magnitudes: Zoltan computes in single precision there.
  const Kind kind = kKinds[rng() % 5];
  c.x = make_points<double>(kind, n, c.dim, rng());
  const auto style = rng() % 4;
  c.weights.resize(style == 0 ? 0 : n);
  for (double& w : c.weights)
    w = style == 1 ? 0 : style == 2 ? static_cast<double>(rng() % 5) : std::exp(static_cast<double>(rng() % 12));
  c.graph = random_graph(n, rng);
  c.cuts = random_spread(n, ranks, rng);
  c.options.parts = static_cast<int>(1 + rng() % (rng() % 2 == 0 ? 9 : 70));
  c.options.threads = 1;
  c.options.bucket = 1 + rng() % 3;
  c.options.splitter = rng() % 2 == 0 ? "midpoint" : "selection:3:midpoint";
  c.options.slices = rng() % 2 == 0 ? SliceRule::midpoint : SliceRule::exact;
  c.options.side_tolerance = rng() % 2 == 0 ? kOrbSideTolerance : 0.0;
  c.name = "seed " + std::to_string(seed) + ", " + kind_name(kind) + ", dim " + std::to_string(c.dim) + ", n " +
           std::to_string(n) + ", parts " + std::to_string(c.options.parts) + ", weights " + std::to_string(style);
  return c;
}

Problem all_of(const Case& c) {
  return {{c.x, c.dim}, c.weights, &c.graph};
}
Problem mine_of(const Communicator& comm, const Case& c) {
  Problem mine = share_of(all_of(c), c.cuts, comm.rank());
  if (!comm.is_root()) mine.graph = nullptr;
  return mine;
}

TEST(Assign, GivesThePartsOfOneRankByEveryMethod) {
  const Communicator comm = Communicator::world();
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(48, 8)); seed <= last; ++seed) {
    const Case c = random_case(seed, comm.size());
    SCOPED_TRACE(c.name);
    const auto begin = static_cast<std::ptrdiff_t>(c.cuts[static_cast<std::size_t>(comm.rank())]);
    const auto end = static_cast<std::ptrdiff_t>(c.cuts[static_cast<std::size_t>(comm.rank()) + 1]);
    for (const PartitionerEntry& entry : partitioner_registry()) {
      SCOPED_TRACE(entry.name);
      const auto method = entry.make();
      if (method->needs_graph() && c.graph.vertices() > 2000) continue;
      const PartitionResult one = method->partition(all_of(c), c.options);
      const std::vector<std::int32_t> expected(one.part.begin() + begin, one.part.begin() + end);
      const Assignment assigned = assign(comm, *method, mine_of(comm, c), c.options);
      ASSERT_EQ(assigned.part, expected);
      ASSERT_EQ(assigned.gathered, comm.size() > 1 && !method->runs_on_ranks(c.options));
      if (!method->runs_on_ranks(c.options)) continue;
      const RankResult result = method->partition_on_ranks(comm, mine_of(comm, c), c.options);
      ASSERT_EQ(result.part, expected);
      ASSERT_EQ(result.position.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(one.order[result.position[i]], static_cast<std::size_t>(begin) + i);
    }
  }
}

TEST(Assign, GivesThePartsOfOneRankInTwoLevels) {
  const Communicator comm = Communicator::world();
  std::mt19937_64 random(77);
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(36, 6)); seed <= last; ++seed) {
    Case c = random_case(seed, comm.size());
    // As many nodes as ranks, fewer and more.
    const int nodes = 1 + static_cast<int>(random() % (2 * static_cast<std::uint64_t>(comm.size()) + 2));
    c.options.parts = nodes * (1 + static_cast<int>(random() % 5));
    SCOPED_TRACE(c.name + ", then " + std::to_string(c.options.parts) + " parts on " + std::to_string(nodes) +
                 " nodes");
    const auto begin = static_cast<std::ptrdiff_t>(c.cuts[static_cast<std::size_t>(comm.rank())]);
    const auto end = static_cast<std::ptrdiff_t>(c.cuts[static_cast<std::size_t>(comm.rank()) + 1]);
    for (const PartitionerEntry& entry : partitioner_registry()) {
      SCOPED_TRACE(entry.name);
      const auto method = entry.make();
      if (method->needs_graph() && c.graph.vertices() > 2000) continue;
      TwoLevelPartitioner two_level(*method, nodes);
      const PartitionResult one = two_level.partition(all_of(c), c.options);
      const std::vector<std::int32_t> expected(one.part.begin() + begin, one.part.begin() + end);
      ASSERT_EQ(assign(comm, two_level, mine_of(comm, c), c.options).part, expected);
      ASSERT_EQ(two_level.runs_on_ranks(c.options), method->runs_on_ranks(c.options));
      if (!two_level.runs_on_ranks(c.options)) continue;
      const RankResult result = two_level.partition_on_ranks(comm, mine_of(comm, c), c.options);
      ASSERT_EQ(result.part, expected);
      ASSERT_EQ(result.position.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(one.order[result.position[i]], static_cast<std::size_t>(begin) + i);
    }
  }
}

/// The message that every rank throws alike; empty when none does.
std::string refusal(const Communicator& comm, std::string_view method, const Problem& mine,
                    const PartitionOptions& options) {
  try {
    (void)assign(comm, *make_partitioner(method), mine, options);
  } catch (const support::InputError& error) {
    EXPECT_EQ(support::broadcast_string(comm, error.what()), error.what());
    return error.what();
  }
  return "";
}

TEST(Assign, RefusesAlikeOnEveryRank) {
  const Communicator comm = Communicator::world();
  const bool last = comm.rank() == comm.size() - 1;
  const std::string bad = "weight " + std::to_string(20 * comm.size() - 1) + " is -1";
  const auto x = make_points<double>(Kind::uniform, 20, 3, 7 + static_cast<std::uint64_t>(comm.rank()));
  const std::vector<double> good(20, 2.0);
  std::vector<double> negative = good;
  negative.back() = -1;
  for (const PartitionerEntry& entry : partitioner_registry()) {
    SCOPED_TRACE(entry.name);
    const bool graph = entry.make()->needs_graph();
    if (graph) {
      EXPECT_NE(refusal(comm, entry.name, {{x, 3}, good}, {.parts = 2}).find("cuts a graph"), std::string::npos);
      continue;
    }
    EXPECT_EQ(refusal(comm, entry.name, {{x, 3}, good}, {.parts = 2}), "");
    EXPECT_NE(refusal(comm, entry.name, {{x, 3}, good}, {.parts = 0}).find("parts"), std::string::npos);
    EXPECT_NE(refusal(comm, entry.name, {{x, 3}, last ? negative : good}, {.parts = 2}).find(bad), std::string::npos);
    const auto few = std::span(good).first(last ? 19 : 20);
    EXPECT_NE(refusal(comm, entry.name, {{x, 3}, few}, {.parts = 2}).find("19 weights for 20 points"),
              std::string::npos);
  }
}

/// Slices over ranks are those of one order on one rank.
TEST(SliceOnRanks, CutsWhereSliceOrderDoes) {
  const Communicator comm = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 rng(seed);
    const std::size_t n = rng() % (seed % 3 == 0 ? 10 : 2000);
    const int parts = static_cast<int>(1 + rng() % (seed % 2 == 0 ? 8 : 300));
    std::vector<std::uint64_t> weights(seed % 4 == 0 ? 0 : n);
    for (auto& w : weights) w = seed % 4 == 1 ? 0 : seed % 4 == 2 ? rng() % 3 : rng() >> (9 + rng() % 50);
    const auto spread = random_spread(n, comm.size(), rng);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", n " + std::to_string(n) + ", parts " + std::to_string(parts));
    const std::size_t begin = spread[static_cast<std::size_t>(comm.rank())];
    const std::size_t items = spread[static_cast<std::size_t>(comm.rank()) + 1] - begin;
    const auto mine = weights.empty() ? std::span<const std::uint64_t>{} : std::span(weights).subspan(begin, items);
    const auto cuts = slice_on_ranks(comm, mine, items, parts);
    std::vector<std::uint32_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    const auto part = slice_order<std::uint32_t>(order, weights, parts, 1);
    ASSERT_EQ(cuts.size(), static_cast<std::size_t>(parts) + 1);
    for (int p = 0; p <= parts; ++p)
      ASSERT_EQ(cuts[static_cast<std::size_t>(p)], std::lower_bound(part.begin(), part.end(), p) - part.begin()) << p;
  }
}

}  // namespace
}  // namespace amrbench::partitioners
