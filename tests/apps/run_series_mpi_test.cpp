// The series of a run record: a row a refinement, over ranks, and few rows however long the run.
#include <gtest/gtest.h>

#include "amr/random_runs.hpp"
#include "apps/run_series.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::apps {
namespace {

using support::Communicator;

TEST(RunSeries, TellsWhatARunDid) {
  const Communicator world = Communicator::world();
  Config config = amr::checks::random_config(3);
  config.run.refine_every = 1;
  loadbalance::Balancer balancer(config.balance, config.partition);
  support::Metrics metrics;
  workloads::Averages workload(config);
  amr::Simulation simulation(world, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload,
                             balancer, metrics);
  RunSeries series;
  simulation.run(
      [&](std::int64_t, double, const amr::RunTotals& totals) { series.observe(totals, balancer, metrics); });
  const std::vector<SeriesRow> rows = series.reduce(world);
  const loadbalance::BalanceTotals totals = balancer.totals(world);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(config.run.steps) + 1);  // one before the first step
  std::int64_t moved = 0, cuts = 0;
  double worst = 0.0, refining = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].step, static_cast<std::int64_t>(i));
    EXPECT_EQ(rows[i].refinements, 1);
    std::int64_t blocks = 0;
    for (const std::int64_t n : rows[i].blocks_by_level) blocks += n;
    EXPECT_EQ(blocks, rows[i].blocks);
    EXPECT_EQ(rows[i].stage_s > 0.0, i > 0);
    moved += rows[i].blocks_migrated;
    cuts += rows[i].decision.action != loadbalance::Action::leave ? 1 : 0;
    worst = std::max(worst, rows[i].decision.imbalance_after);
    refining += rows[i].refine_s;
    if (rows[i].decision.action == loadbalance::Action::leave) {
      EXPECT_EQ(rows[i].blocks_migrated, 0);
    }
  }
  EXPECT_EQ(rows.back().blocks, simulation.totals().blocks);
  EXPECT_EQ(moved, totals.blocks_migrated);
  EXPECT_EQ(worst, totals.imbalance_max);
  EXPECT_EQ(cuts > 0, world.size() > 1);
  EXPECT_GT(refining, 0.0);
}

TEST(RunSeries, StaysShort) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const loadbalance::Balancer balancer(loadbalance::BalanceConfig{});
  const support::Metrics metrics;
  for (const std::int64_t count : {1, 100, 4095, 4096, 4097, 20001}) {
    SCOPED_TRACE(count);
    RunSeries series;
    amr::RunTotals totals;
    for (std::int64_t i = 0; i < count; ++i) {
      totals.steps = i;
      totals.refine_steps = i + 1;
      totals.blocks = 3 * i;
      series.observe(totals, balancer, metrics);
      series.observe(totals, balancer, metrics);  // a step without a refinement
    }
    const auto rows = series.reduce(self);
    EXPECT_LE(rows.size(), RunSeries::kMost);
    EXPECT_GE(static_cast<std::int64_t>(rows.size()), std::min<std::int64_t>(count, RunSeries::kMost / 2));
    std::int64_t covered = 0;
    for (const SeriesRow& row : rows) {
      covered += row.refinements;
      EXPECT_EQ(row.step, covered - 1);  // the last one it stands for
      EXPECT_EQ(row.blocks, 3 * row.step);
    }
    EXPECT_EQ(covered, count);
  }
}

}  // namespace
}  // namespace amrbench::apps
