#pragma once
// A run with its trace, and the replay of it: what must agree.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "loadbalance/balancer.hpp"
#include "loadbalance/nodes.hpp"
#include "loadbalance/replay/replay.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "temporary_folder.hpp"
#include "workloads/registry.hpp"

namespace amrbench::loadbalance::checks {

struct Ran {
  BalanceTotals totals;
  std::int64_t degree_max, edge_cut_max, bytes_max, blocks;
  NodeTraffic nodes;  ///< each rank is a node where blocks are placed over none
};

/// One run with its trace. Collective.
template <int Dim>
Ran run_traced(const support::Communicator& world, const apps::Config& config, const std::string& file) {
  const std::unique_ptr<amr::Workload<Dim>> workload =
      workloads::make_workload<Dim>(config.run.workload, config, config);
  Balancer<Dim> balancer(config.balance, config.partition, config.work);
  TraceRecorder<Dim> recorder(world, balancer, file, config, workload->halo_shape());
  support::Metrics metrics;
  amr::Simulation<Dim> simulation(world, config, make_key_space<Dim>(config.mesh, config.partition), *workload,
                                  recorder, metrics);
  simulation.run([](std::int64_t, double, const amr::RunTotals&) {});
  recorder.finish(world, simulation.totals().steps, simulation.totals().stages);
  const amr::HaloSize halo = simulation.stage().halo_size();
  return {balancer.totals(world),
          support::all_max(world, std::int64_t{halo.neighbors}),
          support::all_max(world, halo.pieces),
          support::all_max(world, halo.bytes_sent),
          simulation.totals().blocks,
          node_traffic(world, halo, simulation.mesh().neighbors(),
                       even_nodes(world.size(), config.partition.nodes > 0 ? config.partition.nodes : world.size()))};
}

/// Returns the replay's row.
template <int Dim>
ReplayRow expect_replayed(const support::Communicator& world, const apps::Config& config) {
  const tests::TemporaryFolder folder(world);
  const std::string file = folder.path("run.trace");
  const Ran ran = run_traced<Dim>(world, config, file);
  ReplayRequest request;
  request.strategies = {{world.size(), config.partition, config.balance}};
  ReplayRow row = replay(file, request).at(0);
  EXPECT_EQ(row.totals.rebalances, ran.totals.rebalances);
  EXPECT_EQ(row.totals.blocks_migrated, ran.totals.blocks_migrated);
  EXPECT_EQ(row.totals.decisions, ran.totals.decisions);
  EXPECT_EQ(row.totals.imbalance_mean(), ran.totals.imbalance_mean());
  EXPECT_EQ(row.totals.imbalance_max, ran.totals.imbalance_max);
  EXPECT_EQ(row.last_halo.degree_max, ran.degree_max);
  EXPECT_EQ(row.last_halo.edge_cut_max, ran.edge_cut_max);
  EXPECT_EQ(row.last_halo.bytes_max, ran.bytes_max);
  EXPECT_EQ(row.last_halo.nodes, ran.nodes);
  EXPECT_EQ(row.totals.bytes_migrated, ran.totals.bytes_migrated);
  EXPECT_EQ(row.totals.bytes_migrated_least, ran.totals.bytes_migrated_least);
  EXPECT_LE(row.totals.bytes_migrated_least, row.totals.bytes_migrated);
  EXPECT_GE(row.times.total(), row.ideal_s);
  EXPECT_LE(row.optimum_s, row.times.total());
  EXPECT_GE(row.optimum_s, row.ideal_s);
  support::barrier(world);  // all have read the file
  return row;
}

}  // namespace amrbench::loadbalance::checks
