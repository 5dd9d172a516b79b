// Policies and migration: when blocks move, that they arrive as they left, and in how many messages.
#include <gtest/gtest.h>

#include <random>

#include "amr/field_store.hpp"
#include "amr/initial.hpp"
#include "amr/migrate.hpp"
#include "amr/random_mesh.hpp"
#include "amr/verify.hpp"
#include "loadbalance/balancer.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::FieldStore;
using amr::Mesh;
using support::Communicator;

/// Every block holds values that name it.
void name_blocks(const Mesh<3>& mesh, FieldStore& fields) {
  fields.reset(mesh.size());
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    for (std::size_t k = 0; k < fields.layout().block_values(); ++k)
      fields.block(i)[k] = static_cast<double>(support::mix64(mesh.keys()[i], k) >> 11);
}

void expect_named(const Mesh<3>& mesh, const FieldStore& fields) {
  ASSERT_EQ(fields.size(), mesh.size());
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    for (std::size_t k = 0; k < fields.layout().block_values(); ++k)
      ASSERT_EQ(fields.block(i)[k], static_cast<double>(support::mix64(mesh.keys()[i], k) >> 11)) << "block " << i;
}

/// Random leaves dealt out by random cuts.
void scatter_leaves(Mesh<3>& mesh, std::uint64_t seed) {
  const auto& space = mesh.space();
  auto leaves = amr::checks::root_leaves<3>(space.root());
  for (int pass = 0; pass < space.max_level(); ++pass)
    leaves = amr::checks::random_refinement<3>(leaves, support::mix64(seed, pass), {30, 20}, space.max_level());
  const auto keys = amr::checks::keys_of<3>(space, leaves);
  const auto cuts = amr::checks::random_cuts(seed, static_cast<std::int64_t>(keys.size()), mesh.comm().size());
  mesh.set_blocks({keys.begin() + cuts[mesh.comm().rank()], keys.begin() + cuts[mesh.comm().rank() + 1]});
}

/// Blocks of this rank that belong elsewhere under `cuts`.
std::int64_t leaving(const Mesh<3>& mesh, const std::vector<std::int64_t>& cuts) {
  std::int64_t count = 0;
  for (std::int64_t p = mesh.global_begin(); p < mesh.global_begin() + mesh.size(); ++p)
    count += p < cuts[mesh.comm().rank()] || p >= cuts[mesh.comm().rank() + 1];
  return count;
}

TEST(Migrate, BlocksKeepTheirValuesAndOrderUnderRandomCuts) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto curve = seed % 2 != 0 ? sfc::Curve::morton : sfc::Curve::hilbert;
    Mesh<3> mesh(world, {curve, amr::checks::random_root<3>(random, 8), 1 + static_cast<int>(seed % 3)});
    scatter_leaves(mesh, seed);
    FieldStore fields(kernels::make_layout({2, 2, 4}, 1 + static_cast<int>(random() % 9)));
    name_blocks(mesh, fields);
    const std::uint64_t digest = amr::mesh_digest(mesh);
    for (int move = 0; move < 5; ++move) {
      const auto cuts = amr::checks::random_cuts(random(), mesh.global_size(), world.size());
      const std::int64_t expected = leaving(mesh, cuts);
      const amr::MigrationCount count = amr::migrate(mesh, fields, cuts);
      EXPECT_EQ(count.blocks, expected);
      // A block's values, its key, its weight and its pending change: nothing else travels.
      EXPECT_EQ(count.bytes,
                expected * std::int64_t((fields.layout().block_values() + 1) * sizeof(double) + sizeof(amr::Key) + 1));
      EXPECT_EQ(mesh.size(), cuts[world.rank() + 1] - cuts[world.rank()]);
      EXPECT_EQ(mesh.global_begin(), cuts[world.rank()]);
      EXPECT_EQ(amr::mesh_digest(mesh), digest);
      expect_named(mesh, fields);
      amr::checks::check_mesh(mesh);
    }
  }
}

TEST(Migrate, BlocksGoToAnyRankTheyAreSentTo) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Mesh<3> mesh(world, {sfc::Curve::morton, amr::checks::random_root<3>(random, 8), 1 + static_cast<int>(seed % 3)});
    scatter_leaves(mesh, seed);
    FieldStore fields(kernels::make_layout({2, 2, 4}, 1 + static_cast<int>(random() % 9)));
    name_blocks(mesh, fields);
    const std::uint64_t digest = amr::mesh_digest(mesh);
    for (int move = 0; move < 4; ++move) {
      const std::uint64_t draw = random();
      const auto goal = [&](amr::Key key) { return std::int32_t(support::mix64(draw, key) % world.size()); };
      const auto pending = [&](amr::Key key) { return amr::Change(int(support::mix64(key, draw) % 3) - 1); };
      std::vector<std::int32_t> destinations;
      std::vector<amr::Change> changes;
      std::int64_t expected = 0;
      for (const amr::Key key : mesh.keys()) {
        destinations.push_back(goal(key));
        changes.push_back(pending(key));
        expected += goal(key) != world.rank() ? 1 : 0;
      }
      EXPECT_EQ(amr::migrate_to(mesh, fields, changes, destinations).blocks, expected);
      ASSERT_EQ(changes.size(), mesh.keys().size());
      for (std::int32_t i = 0; i < mesh.size(); ++i) {
        EXPECT_EQ(goal(mesh.keys()[i]), world.rank());
        EXPECT_EQ(changes[i], pending(mesh.keys()[i]));
      }
      EXPECT_EQ(amr::mesh_digest(mesh), digest);
      expect_named(mesh, fields);
      amr::checks::check_mesh(mesh);
    }
    // And back to intervals.
    std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
    std::vector<std::int32_t> to_last(mesh.size(), world.size() - 1);
    amr::migrate_to(mesh, fields, none, to_last);
    EXPECT_TRUE(mesh.has_intervals());
    expect_named(mesh, fields);
  }
}

TEST(Migrate, ToWhereBlocksAreMovesNothing) {
  const Communicator world = Communicator::world();
  Mesh<3> mesh(world, {sfc::Curve::hilbert, {3, 2, 2}, 1});
  FieldStore fields(kernels::make_layout({4, 4, 4}, 2));
  name_blocks(mesh, fields);
  std::vector<std::int64_t> cuts{0};
  for (const std::int64_t blocks : mesh.rank_sizes()) cuts.push_back(cuts.back() + blocks);
  const auto count = amr::migrate(mesh, fields, cuts);
  EXPECT_EQ(count.blocks, 0);
  EXPECT_EQ(count.bytes, 0);
  expect_named(mesh, fields);
}

/// A mesh on which rank 0 holds `first` of n blocks and the others share the rest.
std::vector<std::int64_t> lopsided(std::int64_t n, std::int64_t first, int ranks) {
  std::vector<std::int64_t> cuts{0};
  for (int r = 0; r < ranks; ++r) cuts.push_back(ranks == 1 ? n : first + (n - first) * r / (ranks - 1));
  return cuts;
}

struct Rebalanced {
  bool moved;
  std::int64_t least, most;
  BalanceTotals totals;
};

Rebalanced rebalance(const Communicator& world, const BalanceConfig& config, std::int64_t first) {
  Mesh<3> mesh(world, {sfc::Curve::morton, {6, 5, 4}, 0});
  FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
  name_blocks(mesh, fields);
  amr::migrate(mesh, fields, lopsided(mesh.global_size(), first, world.size()));
  Balancer balancer(config);
  support::Metrics metrics;
  const bool moved = balancer.rebalance(mesh, fields, metrics);
  expect_named(mesh, fields);
  const auto [least, most] = std::ranges::minmax(mesh.rank_sizes());
  return {moved, least, most, balancer.totals(world)};
}

TEST(Balancer, PoliciesDecideByTheSpreadOfBlocks) {
  const Communicator world = Communicator::world();
  const std::int64_t n = 120, p = world.size();
  const std::int64_t heavy = p == 1 ? n : n / p + n / 4;  // rank 0's blocks
  const std::int64_t rest = p == 1 ? n : (n - heavy) / (p - 1);
  const double spread = static_cast<double>(heavy - rest) * static_cast<double>(p) / static_cast<double>(n);
  const auto every = rebalance(world, {"every", 0.0}, heavy);
  const auto never = rebalance(world, {"never", 0.0}, heavy);
  const auto below = rebalance(world, {"threshold", spread * 0.9 - 0.05}, heavy);
  const auto above = rebalance(world, {"threshold", spread * 1.1 + 0.05}, heavy);
  EXPECT_EQ(every.moved, p > 1);
  EXPECT_FALSE(never.moved);
  EXPECT_EQ(below.moved, p > 1);
  EXPECT_FALSE(above.moved);
  EXPECT_LE(every.most - every.least, 1);
  EXPECT_LE(below.most - below.least, 1);
  EXPECT_EQ(never.most, heavy);
  EXPECT_EQ(above.most, heavy);
  EXPECT_EQ(every.totals.rebalances, p > 1 ? 1 : 0);
  EXPECT_EQ(every.totals.decisions, 1);
  EXPECT_EQ(never.totals.rebalances, 0);
  EXPECT_EQ(never.totals.blocks_migrated, 0);
  EXPECT_EQ(never.totals.bytes_migrated, 0);
  if (p > 1) {
    EXPECT_GE(every.totals.blocks_migrated, heavy - (n + p - 1) / p);
  }
  EXPECT_EQ(every.totals.bytes_migrated, every.totals.blocks_migrated * (10 * 8 + 1));
  EXPECT_NEAR(never.totals.imbalance_max, static_cast<double>(heavy * p) / static_cast<double>(n) - 1.0, 1e-12);
}

TEST(Balancer, LeavesRanksOneBlockApartAlone) {
  const Communicator world = Communicator::world();
  Mesh<3> mesh(world, {sfc::Curve::morton, {7, 1, 1}, 0});  // 7 blocks on any number of ranks: at most one apart
  FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
  name_blocks(mesh, fields);
  support::Metrics metrics;
  for (const char* policy : {"every", "threshold", "never"}) {
    Balancer balancer(BalanceConfig{policy, 0.0});
    EXPECT_FALSE(balancer.rebalance(mesh, fields, metrics)) << policy;
  }
}

TEST(Balancer, UnknownPolicyIsNamedWithTheChoices) {
  try {
    Balancer balancer(BalanceConfig{"sometimes", 0.1});
    FAIL() << "accepted";
  } catch (const support::InputError& error) {
    const std::string text = error.what();
    for (const char* word : {"balance.policy", "sometimes", "every", "threshold", "never"})
      EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace amrbench::loadbalance
