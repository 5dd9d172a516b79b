// Families that stay together and limits on what moves, against plain versions and over ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "amr/random_mesh.hpp"
#include "amr/random_runs.hpp"
#include "loadbalance/balancer.hpp"
#include "loadbalance/gentle_cuts.hpp"
#include "support/error.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::loadbalance {
namespace {

using support::Communicator;

/// First place of the family of eight leaves that place i stands in, or -1; by parents alone.
std::int64_t family_begin(const sfc::KeySpace<3>& space, const std::vector<amr::Key>& keys, std::int64_t i) {
  const amr::Key key = keys[i];
  if (space.level(key) == 0) return -1;
  const std::int64_t first = i - space.child_index(key);
  if (first < 0 || first + 8 > static_cast<std::int64_t>(keys.size())) return -1;
  for (std::int64_t k = first; k < first + 8; ++k)
    if (space.level(keys[k]) != space.level(key) || space.parent(keys[k]) != space.parent(key)) return -1;
  return first;
}

/// Random leaves of a forest, in the order of the keys.
std::vector<amr::Key> random_leaves(const sfc::KeySpace<3>& space, std::mt19937_64& random) {
  std::vector<amr::Key> leaves = amr::root_keys(space, 0, space.root()[0] * space.root()[1] * space.root()[2]);
  for (int round = 0; round < space.max_level(); ++round) {
    std::vector<amr::Key> next;
    for (const amr::Key key : leaves) {
      if (random() % 3 == 0 && space.level(key) < space.max_level())
        for (int child = 0; child < 8; ++child) next.push_back(space.child(key, child));
      else
        next.push_back(key);
    }
    leaves = std::move(next);
  }
  return leaves;
}

TEST(KeepFamilies, CutsLieAtTheNearerEnd) {
  const Communicator world = Communicator::world();
  std::int64_t inside = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const sfc::KeySpace<3> space(seed % 2 != 0 ? sfc::Curve::morton : sfc::Curve::hilbert, {2, 1, 1}, 3);
    const std::vector<amr::Key> keys = random_leaves(space, random);
    const auto n = static_cast<std::int64_t>(keys.size());
    std::vector<std::int64_t> cuts(2 + random() % 12);
    for (std::int64_t& cut : cuts) cut = static_cast<std::int64_t>(random() % (keys.size() + 1));
    cuts.front() = 0;
    cuts.back() = n;
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::int64_t> expected = cuts;
    for (std::int64_t& cut : expected) {
      const std::int64_t first = cut < n ? family_begin(space, keys, cut) : -1;
      if (first < 0 || first == cut) continue;
      cut = cut - first > 4 ? first + 8 : first;
      ++inside;
    }
    // Any stretches, empty and short ones too.
    std::vector<std::int64_t> at(static_cast<std::size_t>(world.size()) + 1);
    for (std::int64_t& a : at) a = static_cast<std::int64_t>(random() % (keys.size() + 1));
    at.front() = 0;
    at.back() = n;
    std::sort(at.begin(), at.end());
    const auto begin = static_cast<std::size_t>(at[world.rank()]), end = static_cast<std::size_t>(at[world.rank() + 1]);
    keep_families(world, std::span(keys).subspan(begin, end - begin), cuts);
    EXPECT_EQ(cuts, expected);
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
  }
  EXPECT_GT(inside, 50);
}

TEST(LimitCuts, NoRankSendsMoreThanItsShare) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t ranks = 1 + random() % 9;
    std::vector<std::int64_t> sizes(ranks), cuts(ranks + 1), now(ranks + 1);
    for (std::int64_t& s : sizes) s = static_cast<std::int64_t>(random() % 40);
    std::partial_sum(sizes.begin(), sizes.end(), now.begin() + 1);
    for (std::int64_t& cut : cuts)
      cut = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(now.back() + 1));
    cuts.front() = 0;
    cuts.back() = now.back();
    std::sort(cuts.begin(), cuts.end());
    const std::vector<std::int64_t> wanted = cuts;
    const auto percent = static_cast<double>(random() % 101);
    limit_cuts(cuts, sizes, percent);
    EXPECT_EQ(cuts.front(), 0);
    EXPECT_EQ(cuts.back(), now.back());
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    for (std::size_t r = 0; r < ranks; ++r) {
      std::int64_t sent = 0;
      for (std::int64_t i = now[r]; i < now[r + 1]; ++i) sent += i < cuts[r] || i >= cuts[r + 1] ? 1 : 0;
      EXPECT_LE(static_cast<double>(sent), static_cast<double>(sizes[r]) * percent / 100.0);
    }
    // Never away from where they are wanted.
    for (std::size_t p = 0; p <= ranks; ++p) {
      EXPECT_LE(std::min(now[p], wanted[p]), cuts[p]);
      EXPECT_GE(std::max(now[p], wanted[p]), cuts[p]);
    }
  }
}

TEST(LimitMoves, TheFirstOnesMove) {
  const std::vector<std::int32_t> owners{0, 0, 0, 0, 1, 1, 1, 1, 1, 2};
  std::vector<std::int32_t> to{1, 1, 0, 2, 0, 0, 1, 2, 2, 0};
  limit_moves(to, owners, 3, 50.0);
  EXPECT_EQ(to, (std::vector<std::int32_t>{1, 1, 0, 0, 0, 0, 1, 1, 1, 2}));
}

TEST(GentleCuts, LeaveTheBitsAndDoWhatTheySay) {
  const Communicator world = Communicator::world();
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  for (const int set : {2, 3, 5}) {
    apps::Config config = amr::checks::random_config(set);
    config.run.refine_every = 1;
    const auto digest = [&](const Communicator& comm, Balancer<3>& balancer) {
      support::Metrics metrics;
      workloads::Averages workload(config);
      amr::Simulation simulation(comm, config, make_key_space<3>(config.mesh, config.partition), workload, balancer,
                                 metrics);
      simulation.run([&](std::int64_t, double, const amr::RunTotals&) {
        if (!config.partition.group_blocks || comm.size() == 1) return;
        // Families are whole: the mesh's stretches begin at no middle of one.
        const amr::Mesh<3>& mesh = simulation.mesh();
        std::vector<amr::Key> mine(mesh.keys().begin(), mesh.keys().end());
        const std::vector<amr::Key> all = support::all_gather_v<amr::Key>(comm, mine);
        if (mesh.size() == 0 || mesh.global_begin() == 0) return;
        const std::int64_t first = family_begin(mesh.space(), all, mesh.global_begin());
        EXPECT_TRUE(first < 0 || first == mesh.global_begin());
      });
      std::uint64_t bits = amr::mesh_digest(simulation.mesh());
      for (const auto& stats : simulation.statistics()) bits = support::mix64(bits, stats.hash().value());
      return bits;
    };
    Balancer plain({.policy = "never"});
    const std::uint64_t expected = digest(self, plain);
    config.partition.group_blocks = true;
    config.partition.method = "hilbert";
    Balancer grouped({.policy = "every"}, config.partition);
    EXPECT_EQ(digest(world, grouped), expected);
    for (const char* method : {"hilbert", "orb"}) {
      config.partition = {.method = method};
      Balancer limited({.policy = "every", .limit_move = 10.0}, config.partition);
      Balancer unlimited({.policy = "every"}, config.partition);
      EXPECT_EQ(digest(world, limited), expected);
      EXPECT_EQ(digest(world, unlimited), expected);
    }
  }
}

TEST(GentleCuts, FamiliesNeedKeys) {
  EXPECT_THROW(Placement({.method = "orb", .group_blocks = true}), support::InputError);
  EXPECT_THROW(Placement({.method = "hilbert", .splitter = "median", .group_blocks = true}), support::InputError);
}

}  // namespace
}  // namespace amrbench::loadbalance
