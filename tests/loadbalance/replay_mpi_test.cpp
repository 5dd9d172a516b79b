// Replays against runs: cuts, blocks that move, loads and halos of a replay are those of the run's record, on as many
// ranks as the test has.
#include <gtest/gtest.h>

#include "amr/random_runs.hpp"
#include "loadbalance/replayed_run.hpp"
#include "partitioners/partitioner.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::checks::random_config;
using support::Communicator;

TEST(Replay, IsTheRunForEveryPlacing) {
  const Communicator world = Communicator::world();
  int set = 1;
  for (const char* method : {"morton", "hilbert", "gensfc", "orb", "kd_parts", "linear"}) {
    for (const char* splitter : {"octree", "median"}) {
      if (std::string(splitter) == "median" && std::string(method) != "hilbert") continue;
      set = set % 6 + 1;
      apps::Config config = random_config(set);
      config.partition.method = method;
      config.partition.splitter = splitter;
      config.partition.slices = set % 2 == 0 ? "exact" : "midpoint";
      config.balance.weights = set % 3 == 0 ? "uniform" : "level";
      config.partition.rename = set % 2 == 1;
      SCOPED_TRACE(std::string(method) + ", " + splitter + ", set " + std::to_string(set));
      checks::expect_replayed<3>(world, config);
    }
  }
}

TEST(Replay, IsTheRunForPartitionersOfGraphs) {
  const Communicator world = Communicator::world();
  int tried = 0;
  for (const partitioners::PartitionerEntry& method : partitioners::partitioner_registry()) {
    if (!method.make()->needs_graph()) continue;
    apps::Config config = random_config(++tried);
    config.partition.method = method.name;
    config.partition.rename = tried % 2 == 0;
    SCOPED_TRACE(method.name);
    checks::expect_replayed<3>(world, config);
  }
  if (tried == 0) GTEST_SKIP() << "no partitioner of graphs in this build";
}

TEST(Replay, IsTheRunInTwoLevels) {
  const Communicator world = Communicator::world();
  int set = 0;
  for (const partitioners::PartitionerEntry& method : partitioners::partitioner_registry()) {
    for (int nodes = 1; nodes <= world.size(); ++nodes) {
      if (tests::left_out(method.name)) continue;
      if (world.size() % nodes != 0) continue;
      if (tests::fewer_cases() && nodes == 1) continue;
      set = set % 6 + 1;
      apps::Config config = random_config(set);
      config.partition.method = method.name;
      config.partition.splitter = set % 2 == 0 ? "median" : "octree";
      config.partition.nodes = nodes;
      config.balance.weights = set % 3 == 0 ? "uniform" : "level";
      config.partition.rename = set % 4 == 1;
      SCOPED_TRACE(std::string(method.name) + ", " + std::to_string(nodes) + " nodes, set " + std::to_string(set));
      const ReplayRow row = checks::expect_replayed<3>(world, config);
      EXPECT_EQ(row.last_halo.nodes.nodes, nodes);
      EXPECT_EQ(row.node_halo_bytes > 0.0, nodes > 1);
      EXPECT_EQ(row.node_halo_bytes == row.halo_bytes, nodes == world.size());
    }
  }
}

TEST(Replay, NodesAreTheMachinesWhereThatIsAskedFor) {
  const tests::TemporaryFolder folder(Communicator::world());
  if (!Communicator::world().is_root()) return;
  const std::string file = folder.path("mesh.trace");
  (void)record_mesh(random_config(3), file);
  const auto row_of = [&](int ranks, int nodes, int ranks_per_node) {
    ReplayRequest request;
    Strategy strategy;
    strategy.ranks = ranks;
    strategy.partition.method = "kd_parts";
    strategy.partition.nodes = nodes;
    request.strategies = {strategy};
    request.machine.ranks_per_node = ranks_per_node;
    request.optimum = false;
    return replay(file, request).at(0);
  };
  const ReplayRow asked = row_of(12, 3, 1), machine = row_of(12, kNodesOfRun, 4), one_level = row_of(12, 0, 4);
  EXPECT_EQ(asked.halo.nodes, machine.halo.nodes);
  EXPECT_EQ(asked.times.total(), machine.times.total());
  EXPECT_EQ(one_level.halo.nodes.nodes, 3);
  EXPECT_EQ(row_of(12, kNodesOfRun, 100).halo.nodes.nodes, 1);
  EXPECT_EQ(row_of(12, 0, 5).halo.nodes.nodes, 3);  // the last has two ranks
  EXPECT_THROW(row_of(12, kNodesOfRun, 5), support::InputError);
  EXPECT_THROW(row_of(12, 5, 1), support::InputError);
  EXPECT_THROW(row_of(12, 24, 1), support::InputError);
}

TEST(Replay, IsTheRunForEveryPolicyThatLooksAtLoads) {
  const Communicator world = Communicator::world();
  for (const char* policy : {"every", "every_n", "threshold", "never"}) {
    for (const char* weights : {"uniform", "level"}) {
      apps::Config config = random_config(policy[0] + (weights[0] == 'u' ? 1 : 0));
      config.run.refine_every = 1;
      config.balance.policy = policy;
      config.balance.every = 3;
      config.balance.threshold = 0.4;
      config.balance.weights = weights;
      SCOPED_TRACE(std::string(policy) + ", " + weights);
      checks::expect_replayed<3>(world, config);
    }
  }
}

TEST(Replay, IsTheRunWithGentleCuts) {
  const Communicator world = Communicator::world();
  for (const char* method : {"hilbert", "orb"}) {
    for (const bool limited : {false, true}) {
      apps::Config config = random_config(limited ? 3 : 2);
      config.run.refine_every = 1;
      config.partition.method = method;
      config.partition.group_blocks = method == std::string("hilbert");
      config.balance.limit_move = limited ? 20.0 : 0.0;
      SCOPED_TRACE(std::string(method) + (limited ? ", limited" : ""));
      checks::expect_replayed<3>(world, config);
    }
  }
}

TEST(Replay, IsTheRunWhereRegionsWeighMore) {
  const Communicator world = Communicator::world();
  for (const int set : {2, 3, 5}) {
    apps::Config config = random_config(set);
    config.work = {
        {.factor = 6, .hi = {0.5, 1.0, 1.0}}, {.factor = 3, .lo = {0.25, 0.0, 0.0}}, {.factor = 2, .rank = 0}};
    config.balance.weights = "region";
    config.partition.method = set == 3 ? "orb" : "hilbert";
    SCOPED_TRACE("set " + std::to_string(set));
    checks::expect_replayed<3>(world, config);
  }
}

TEST(Replay, TheMeshAloneMakesTheTraceOfARun) {
  const Communicator world = Communicator::world();
  for (const int set : {2, 3}) {
    const apps::Config config = random_config(set);
    const tests::TemporaryFolder folder(world);
    const checks::Ran ran = checks::run_traced<3>(world, config, folder.path("run.trace"));
    if (!world.is_root()) continue;
    const TraceSummary told = record_mesh(config, folder.path("mesh.trace"));
    EXPECT_EQ(told.blocks_final, ran.blocks);
    TraceReader a(folder.path("run.trace")), b(folder.path("mesh.trace"));
    TraceRefinement x, y;
    bool more = true;
    for (int refinement = 0; more; ++refinement) {
      SCOPED_TRACE(refinement);
      more = a.next(x);
      ASSERT_EQ(b.next(y), more);
      if (!more) break;
      EXPECT_EQ(x.step, y.step);
      EXPECT_EQ(x.stages, y.stages);
      ASSERT_EQ(x.passes.size(), y.passes.size());
      for (std::size_t p = 0; p < x.passes.size(); ++p) {
        EXPECT_EQ(x.passes[p].splits, y.passes[p].splits);
        EXPECT_EQ(x.passes[p].merges, y.passes[p].merges);
      }
    }
    EXPECT_EQ(a.stages(), b.stages());
  }
}

TEST(Replay, AFileThatCannotBeWrittenEndsTheRunOnEveryRank) {
  const Communicator world = Communicator::world();
  const apps::Config config = random_config(2);
  Balancer balancer(config.balance, config.partition);
  EXPECT_THROW(TraceRecorder(world, balancer, "/no/such/folder/run.trace", config), support::RunError);
}

}  // namespace
}  // namespace amrbench::loadbalance
