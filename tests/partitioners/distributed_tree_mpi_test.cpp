// Trees and curves over ranks: the order and the parts of one process, for any spread of the points.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "partitioners/bounded_exchange.hpp"
#include "partitioners/curve_methods.hpp"
#include "partitioners/distributed_tree.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"
#include "tests/partitioners/grid_cut.hpp"
#include "tests/partitioners/point_sets.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

enum class Spread { even, first_only, last_most };

/// Points of this rank: [begin, end) of n.
std::pair<std::size_t, std::size_t> mine(const Communicator& comm, std::size_t n, Spread spread) {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  if (spread == Spread::first_only) return rank == 0 ? std::pair{std::size_t{0}, n} : std::pair{n, n};
  if (spread == Spread::last_most) {
    const std::size_t few = std::min<std::size_t>(3, n / size);
    return {rank * few, rank + 1 == size ? n : (rank + 1) * few};
  }
  return {n * rank / size, n * (rank + 1) / size};
}

struct Case {
  std::string splitter = "midpoint";
  std::size_t bucket = 1;
  int parts = 1;
  TreeCurve curve = TreeCurve::gensfc;
  bool parts_tree = false;
  bool compact = false;
  std::uint64_t cell_points = 0;
  std::size_t message_bytes = 1U << 20U;
  Spread spread = Spread::even;
};

PartitionResult on_one_rank(const std::vector<double>& x, int dim, const std::vector<double>& weights, const Case& c) {
  const auto method = c.parts_tree ? make_parts_tree_method(c.curve, c.compact) : make_curve_method(c.curve);
  return method->partition({.points = {x, dim}, .weights = weights},
                           {.parts = c.parts, .threads = 1, .bucket = c.bucket, .splitter = c.splitter});
}

DistributedTree on_ranks(const Communicator& comm, const std::vector<double>& x, int dim,
                         const std::vector<double>& weights, const Case& c, int threads) {
  const auto [begin, end] = mine(comm, x.size() / static_cast<std::size_t>(dim), c.spread);
  const auto d = static_cast<std::size_t>(dim);
  DistributedTreeOptions options;
  options.tree.rule = split_rule_from_name(c.splitter);
  options.tree.bucket = c.bucket;
  options.tree.threads = threads;
  options.tree.parts = c.parts_tree ? c.parts : 0;
  options.tree.compact_parts = c.compact;
  options.curve = c.curve;
  options.slices = c.parts;
  options.cell_points = c.cell_points;
  options.message_bytes = c.message_bytes;
  const auto w = weights.empty() ? std::span<const double>{} : std::span(weights).subspan(begin, end - begin);
  return distributed_tree<double>(comm, {std::span(x).subspan(begin * d, (end - begin) * d), dim}, w, options);
}

/// Both agree on the part and the place of every point.
void compare(const Communicator& comm, const std::vector<double>& x, int dim, const std::vector<double>& weights,
             const Case& c, int threads) {
  const PartitionResult serial = on_one_rank(x, dim, weights, c);
  const DistributedTree result = on_ranks(comm, x, dim, weights, c, threads);
  const auto [begin, end] = mine(comm, serial.part.size(), c.spread);
  ASSERT_EQ(result.part.size(), end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    ASSERT_EQ(result.part[i - begin], serial.part[i]) << "point " << i;
    ASSERT_EQ(serial.order[result.position[i - begin]], i);
  }
  ASSERT_EQ(support::all_sum(comm, result.points_here), serial.part.size());
}

TEST(DistributedTree, EqualsOneProcess) {
  const Communicator comm = Communicator::world();
  const char* splitters[] = {"midpoint", "selection", "median", "selection:3:midpoint", "midpoint:2:median"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[rng() % std::size(kKinds)];
    const int dim = static_cast<int>(seed % 12 == 0 ? 4 + rng() % 13 : 2 + rng() % 2);
    const std::size_t n = seed % 15 == 0 ? 30000 : rng() % 2000;
    Case c;
    c.splitter = splitters[rng() % std::size(splitters)];
    c.bucket = 1 + rng() % 40;
    c.parts = static_cast<int>(1 + rng() % 100);
    c.parts_tree = rng() % 2 == 0;
    c.compact = seed % 3 == 0;
    c.curve = dim > 3 ? TreeCurve::morton : static_cast<TreeCurve>(rng() % 3);
    c.cell_points = rng() % 4 == 0 ? 0 : 1 + rng() % 300;
    c.message_bytes = rng() % 2 == 0 ? 1U << 20U : 1 + rng() % 400;
    c.spread = static_cast<Spread>(rng() % 3);
    std::vector<double> weights(rng() % 2 == 0 ? n : 0);
    const auto style = rng() % 3;
    for (double& w : weights) w = style == 0 ? 0 : style == 1 ? double(rng() % 5) : std::exp(double(rng() % 20));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", dim " + std::to_string(dim) + ", n " +
                 std::to_string(n) + ", " + c.splitter + ", parts " + std::to_string(c.parts) +
                 (c.parts_tree ? " of the tree" : " of the curve") + (c.compact ? ", compact" : ""));
    compare(comm, make_points<double>(kind, n, dim, rng()), dim, weights, c, static_cast<int>(1 + seed % 2));
    if (HasFatalFailure()) return;
  }
}

TEST(DistributedTree, GridsAndEveryCurve) {
  const Communicator comm = Communicator::world();
  for (const Grid grid : {Grid{32, 32, 32}, Grid{20, 10, 15}, Grid{96, 64, 1}, Grid{33, 17, 1}})
    for (const TreeCurve curve : {TreeCurve::morton, TreeCurve::hilbert, TreeCurve::gensfc})
      for (const bool tree : {false, true}) {
        for (const bool compact : {false, true}) {
          if (tests::fewer_cases() && compact == tree) continue;
          Case c{.parts = 37, .curve = curve, .parts_tree = tree, .compact = compact, .cell_points = 50};
          SCOPED_TRACE(std::string(tree_curve_name(curve)) + ", " + std::to_string(grid.size()) + " points");
          compare(comm, grid_points(grid), grid.dim(), {}, c, 2);
          if (HasFatalFailure()) return;
        }
      }
}

/// Cells are small and messages short as asked, and work is spread.
TEST(DistributedTree, SpreadsPointsInBoundedMessages) {
  const Communicator comm = Communicator::world();
  const auto x = make_points<double>(Kind::uniform, 40000, 3, 5);
  Case c{.parts = 64, .cell_points = 100, .message_bytes = 4096, .spread = Spread::first_only};
  const DistributedTree result = on_ranks(comm, x, 3, {}, c, 1);
  const std::uint64_t most = support::all_max(comm, result.points_here);
  EXPECT_LE(most, 40000 / static_cast<std::uint64_t>(comm.size()) + 100);
  EXPECT_GE(result.cells, 400U);
  EXPECT_GE(result.upper_nodes, result.cells);
  // Rank 0 has all points: records of at least 40 bytes.
  EXPECT_GE(result.stages.transfer_rounds, 40000 / static_cast<std::size_t>(comm.size()) * 40 / 4096);
}

TEST(DistributedTree, RefusesAlikeOnEveryRank) {
  const Communicator comm = Communicator::world();
  std::vector<double> points(3 * 40, 0.5);
  const auto message = [&](const DistributedTreeOptions& options) {
    try {
      (void)distributed_tree<double>(comm, {points, 3}, {}, options);
    } catch (const support::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  DistributedTreeOptions sampled;
  sampled.tree.rule = split_rule_from_name("sampled_median:2:midpoint");
  EXPECT_NE(message(sampled).find("sampled_median"), std::string::npos);
  EXPECT_EQ(message({}), "");
  if (comm.rank() == comm.size() - 1) points[3 * 7 + 1] = std::numeric_limits<double>::quiet_NaN();
  const std::size_t bad = 40 * (static_cast<std::size_t>(comm.size()) - 1) + 7;
  EXPECT_NE(message({}).find("point " + std::to_string(bad) + " has coordinate 1 = nan"), std::string::npos);
}

TEST(ExchangeInRounds, DeliversByRankInOrder) {
  const Communicator comm = Communicator::world();
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{40}, std::size_t{1} << 20U}) {
    SCOPED_TRACE(bytes);
    // Rank s sends r + 3 s numbers to rank r, none to itself when s is odd.
    const auto length = [](std::size_t s, std::size_t r) { return s == r && s % 2 == 1 ? 0 : r + 3 * s; };
    const auto self = static_cast<std::size_t>(comm.rank());
    std::vector<std::uint64_t> send, received;
    std::vector<std::size_t> counts, received_counts;
    for (std::size_t r = 0; r < ranks; ++r) {
      counts.push_back(length(self, r));
      for (std::size_t k = 0; k < counts.back(); ++k) send.push_back(self * 1000000 + r * 1000 + k);
    }
    const std::size_t rounds = exchange_in_rounds<std::uint64_t>(comm, send, counts, bytes, received, received_counts);
    std::size_t at = 0, longest = 0;
    for (std::size_t s = 0; s < ranks; ++s) {
      ASSERT_EQ(received_counts[s], length(s, self));
      for (std::size_t k = 0; k < received_counts[s]; ++k, ++at) {
        ASSERT_LT(at, received.size());
        ASSERT_EQ(received[at], s * 1000000 + self * 1000 + k);
      }
      for (std::size_t r = 0; r < ranks; ++r) longest = std::max(longest, length(s, r));
    }
    EXPECT_EQ(at, received.size());
    const std::size_t most = std::max<std::size_t>(1, bytes / 8);
    EXPECT_EQ(rounds, (longest + most - 1) / most);
  }
}

}  // namespace
}  // namespace amrbench::partitioners
