// Replays of runs in two dimensions, and of workloads whose blocks differ in cost: cuts, blocks that move, loads and
// halos are those of the run.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "loadbalance/replay/trace_mesh.hpp"
#include "loadbalance/replayed_run.hpp"
#include "support/error.hpp"
#include "workloads/water_runs.hpp"

namespace amrbench::loadbalance {
namespace {

using support::Communicator;

/// Water on ground that is mostly dry: shores move, blocks split and merge.
apps::Config water_config(int steps) {
  apps::Config config = workloads::checks::make_config("bowl_planar", {3, 3, 1}, 3, 5e-3);
  config.run.steps = steps;
  return config;
}

apps::Config walled_config() {
  apps::Config config = workloads::checks::make_config("walled_dam_break", {8, 8, 1}, 2, 1.0);
  config.mesh.frozen = true;
  config.run.steps = 60;
  config.run.refine_every = 4;
  return config;
}

TEST(ReplayOfWater, IsTheRunForEveryPlacing) {
  const Communicator world = Communicator::world();
  const std::array weights{"workload", "uniform", "level"};
  std::size_t at = 0;
  for (const char* method : {"morton", "hilbert", "gensfc", "slabs", "orb", "kd_parts"}) {
    for (int turn = 0; turn < 2; ++turn, ++at) {
      apps::Config config = water_config(16);
      config.partition.method = method;
      config.partition.rename = turn == 1;
      config.partition.slices = at % 4 == 1 ? "exact" : "midpoint";
      config.balance.weights = turn == 0 ? weights[0] : weights[1 + at % 2];
      SCOPED_TRACE(std::string(method) + ", " + config.balance.weights);
      checks::expect_replayed<2>(world, config);
    }
  }
}

TEST(ReplayOfWater, IsTheRunForEveryPolicyThatLooksAtLoads) {
  const Communicator world = Communicator::world();
  for (const char* policy : {"every", "every_n", "threshold", "never"}) {
    for (const bool limited : {false, true}) {
      apps::Config config = water_config(12);
      config.partition.method = "hilbert";
      config.balance.policy = policy;
      config.balance.every = 3;
      config.balance.threshold = 0.4;
      config.balance.weights = "workload";
      config.balance.limit_move = limited ? 20.0 : 0.0;
      SCOPED_TRACE(std::string(policy) + (limited ? ", limited" : ""));
      checks::expect_replayed<2>(world, config);
    }
  }
}

TEST(ReplayOfWater, IsTheRunWherePassesFollowEachOther) {
  const Communicator world = Communicator::world();
  for (const char* problem : {"bowl_radial", "dam_break_dry"}) {
    SCOPED_TRACE(problem);
    const bool is_dam = std::string(problem) == "dam_break_dry";
    apps::Config config = workloads::checks::make_config(problem, is_dam ? std::array{6, 1, 1} : std::array{3, 3, 1}, 4,
                                                         is_dam ? 1e-3 : 5e-3);
    config.mesh.block_change = 0;
    config.run.steps = 80;
    config.run.refine_every = 10;
    config.balance.weights = "workload";
    checks::expect_replayed<2>(world, config);
  }
}

TEST(ReplayOfWater, IsTheRunOnAMeshThatStays) {
  const Communicator world = Communicator::world();
  for (const char* method : {"hilbert", "slabs", "kd_parts"}) {
    SCOPED_TRACE(method);
    apps::Config config = walled_config();
    config.partition.method = method;
    config.balance.weights = "workload";
    const ReplayRow row = checks::expect_replayed<2>(world, config);
    EXPECT_GT(row.totals.decisions, 10);  // at refinements that change nothing, too
  }
}

TEST(ReplayOfWater, EvenSharesOfWorkTakeLessThanEvenSharesOfBlocks) {
  const Communicator world = Communicator::world();
  apps::Config config = walled_config();
  config.balance.weights = "workload";
  const tests::TemporaryFolder folder(world);
  const std::string file = folder.path("run.trace");
  checks::run_traced<2>(world, config, file);
  if (!world.is_root()) return;
  ReplayRequest request;
  request.machine.update_s = 1e-6;  // work, not messages, is what takes time
  for (const char* weights : {"uniform", "workload"}) {
    config.balance.weights = weights;
    request.strategies.push_back({8, config.partition, config.balance});
  }
  config.balance.policy = "feedback";
  config.balance.weights = "uniform";
  request.strategies.push_back({8, config.partition, config.balance});
  const auto rows = replay(file, request);
  EXPECT_LT(rows[1].times.stencil_s, 0.8 * rows[0].times.stencil_s);
  EXPECT_LT(rows[2].times.stencil_s, rows[0].times.stencil_s);  // it follows seconds, which follow costs
  EXPECT_LT(rows[1].optimum_s, rows[0].optimum_s);
  for (const ReplayRow& row : rows) {
    EXPECT_EQ(row.ideal_s, rows[0].ideal_s);
    EXPECT_LE(row.ideal_s, row.optimum_s);
    EXPECT_LE(row.optimum_s, row.times.total());
  }
  config.balance.weights = "measured";
  request.strategies = {{8, config.partition, config.balance}};
  EXPECT_THROW(replay(file, request), support::InputError);
}

TEST(ReplayOfCosts, StagesTakeWhatBlocksCostOnAverageOfBeginAndEnd) {
  const tests::TemporaryFolder folder;
  const TraceHeader header{{1, 1, 1}, 0, {4, 4, 1}, 1, 3, "one block", {}, 2, {1, 2}};
  TraceWriter writer(folder.path("t"), header);
  writer.write({0, 0, {}, {{1, 1.0}}});
  writer.write({1, 10, {}, {{1, 0.5}}});
  writer.finish(3, 30);
  ReplayRequest request;
  request.machine.update_s = 1.0;
  request.strategies = {{1, {}, {}}, {1, {}, {}}};
  request.strategies[1].balance.weights = "workload";
  for (const ReplayRow& row : replay(folder.path("t"), request)) {
    EXPECT_DOUBLE_EQ(row.times.stencil_s, 16.0 * (10.0 * 0.75 + 20.0 * 0.5));
    EXPECT_DOUBLE_EQ(row.ideal_s, row.times.stencil_s);
    EXPECT_LE(row.optimum_s, row.times.total());
  }
}

TEST(ReplayOfCosts, ChildrenCostWhatTheirParentDoesAndParentsTheMean) {
  const TraceHeader header{{2, 1, 1}, 1, {4, 4, 1}, 1, 3, "flat", {}, 2, {1, 2}};
  for (const char* curve : {"morton", "hilbert"}) {
    TraceMesh<2> mesh(header, curve);
    const auto costs_after = [&](const TracePass& pass) {
      mesh.apply(mesh.changes(pass));
      return std::vector<double>(mesh.mesh().weights().begin(), mesh.mesh().weights().end());
    };
    mesh.set_costs(mesh.costs({{1, 0.25}, {1, 3.0}}));
    EXPECT_EQ(costs_after({{{0}, {}}, {{}, {}}}), (std::vector{0.25, 0.25, 0.25, 0.25, 3.0}));
    EXPECT_EQ(mesh.costs({}), std::vector<double>(5, 1.0));
    for (const CostRuns& other : {CostRuns{{4, 1.0}}, CostRuns{{6, 1.0}}, CostRuns{{5, 1.0}, {1, 1.0}}})
      EXPECT_THROW(static_cast<void>(mesh.costs(other)), support::InputError);
    // In order of levels, then Morton codes: the coarse block comes first.
    mesh.set_costs(mesh.costs({{1, 5.0}, {1, 1.0}, {1, 0.5}, {2, 0.25}}));
    EXPECT_EQ(costs_after({{{}, {}}, {{0}, {}}}), (std::vector{0.5, 5.0}));
  }
}

TEST(ReplayOfCosts, FamiliesOfFourAreCountedAsOneBlockMade) {
  const TraceHeader header{{2, 1, 1}, 2, {4, 4, 1}, 1, 3, "flat", {}, 2, {1, 2}};
  Machine machine;
  machine.node_latency_s = machine.latency_s = machine.refine_pass_s = machine.refine_block_s = 0.0;
  machine.change_byte_s = 1.0;
  const Placer placer({1, {}, {}}, header, machine);
  const auto made = [&](const Owners& origin) {
    return placer.refine_seconds(Owners(origin.size(), 0), origin) / static_cast<double>(header.block_bytes());
  };
  EXPECT_EQ(made({0, 1, 2}), 0.0);        // nothing
  EXPECT_EQ(made({0, 4, 5}), 1.0);        // four merge
  EXPECT_EQ(made({0, 0, 0, 0, 1}), 4.0);  // one splits
}

TEST(ReplayOfAdvection, IsTheRunInTwoAndThreeDimensions) {
  const Communicator world = Communicator::world();
  for (const int dim : {2, 3}) {
    SCOPED_TRACE(dim);
    apps::Config config;
    config.mesh = {.dim = dim, .root = {3, 2, 2}, .block = {4, 4, 4}, .max_level = 2};
    config.run.workload = "advection";
    config.run.refine_every = 2;
    config.run.steps = 10;
    config.balance.policy = "every";
    apps::complete_config(config);
    if (dim == 2)
      checks::expect_replayed<2>(world, config);
    else
      checks::expect_replayed<3>(world, config);
  }
}

std::string bytes_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

TEST(TraceOfWater, DependsOnNeitherRanksNorStrategies) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(world);
  apps::Config config = water_config(12);
  if (world.is_root()) checks::run_traced<2>(self, config, folder.path("alone.trace"));
  for (const char* method : {"hilbert", "orb"}) {
    SCOPED_TRACE(method);
    config.partition.method = method;
    config.balance.weights = config.balance.weights == "uniform" ? "workload" : "uniform";
    const std::string file = folder.path(method);
    checks::run_traced<2>(world, config, file);
    if (!world.is_root()) continue;
    EXPECT_EQ(bytes_of(file), bytes_of(folder.path("alone.trace")));
  }
  if (!world.is_root()) return;
  TraceReader reader(folder.path("alone.trace"));
  EXPECT_EQ(reader.header().dim, 2);
  EXPECT_EQ(reader.header().block, (std::array{8, 8, 1}));
  TraceRefinement refinement;
  bool has_both = false;
  while (reader.next(refinement)) has_both = has_both || refinement.costs_after.size() > 1;
  EXPECT_TRUE(has_both);
}

TEST(TraceOfWater, AMeshThatFollowsValuesIsNotRecordedWithoutARun) {
  const tests::TemporaryFolder folder;
  EXPECT_THROW(record_mesh(water_config(2), folder.path("t")), support::InputError);
}

}  // namespace
}  // namespace amrbench::loadbalance
