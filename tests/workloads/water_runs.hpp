#pragma once
// Whole runs of the shallow-water equations, and what they leave as plain numbers.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "apps/config_check.hpp"
#include "loadbalance/balancer.hpp"
#include "support/hash.hpp"
#include "workloads/shallow_water/shallow_water.hpp"

namespace amrbench::workloads::checks {

inline apps::Config make_config(const std::string& problem, std::array<int, 3> root, int max_level,
                                double refine_above) {
  apps::Config config;
  config.mesh.dim = 2;
  config.mesh.root = root;
  config.mesh.block = {8, 8, 1};
  config.mesh.max_level = max_level;
  config.mesh.block_change = 1;
  config.run.workload = "shallow_water";
  config.run.refine_every = 2;
  config.run.checksum_every = 10;
  config.run.tolerance = 1e-13;
  config.run.steps = 0;
  config.shallow_water.problem = problem;
  config.shallow_water.refine_above = refine_above;
  config.shallow_water.coarsen_below = 0.2 * refine_above;
  config.balance.policy = "every";
  apps::complete_config(config);
  return config;
}

/// What a run leaves, on every rank alike.
struct Result {
  std::uint64_t mesh = 0, history = 0;
  std::vector<std::uint64_t> fields;
  std::map<std::string, double> findings;
  double drift = 0.0, cells = 0.0, computed_imbalance = 0.0;
  std::int64_t split = 0, merged = 0, steps = 0;
  bool passed = false;
  [[nodiscard]] bool same_bits(const Result& other) const {
    return mesh == other.mesh && history == other.history && fields == other.fields && steps == other.steps;
  }
};

inline Result result_of(const amr::Simulation<2>& simulation, std::uint64_t history) {
  Result r;
  r.history = history;
  r.mesh = amr::mesh_digest(simulation.mesh());
  for (const auto& stats : simulation.statistics()) r.fields.push_back(stats.hash().value());
  for (const amr::Finding& f : simulation.findings()) r.findings[f.name] = f.value;
  r.computed_imbalance = r.findings["computed_imbalance"];
  r.findings.erase("computed_imbalance");  // which is another on other ranks
  const amr::RunTotals& totals = simulation.totals();
  r.drift = simulation.conservation().worst_drift();
  r.passed = simulation.conservation().passed() && simulation.conservation().checks() > 0;
  r.cells = totals.blocks_mean() * static_cast<double>(simulation.fields().layout().block_cells());
  r.split = totals.blocks_split;
  r.merged = totals.blocks_merged;
  r.steps = totals.steps;
  return r;
}

/// From the start, or from where `restart` is; `at_step` is called after every step.
inline Result run(const support::Communicator& comm, const apps::Config& config, const amr::Restart* restart = nullptr,
                  const std::function<void(amr::Simulation<2>&, std::int64_t)>& at_step = {}) {
  ShallowWater workload(config, config);
  loadbalance::Balancer<2> balancer(config.balance, config.partition);
  support::Metrics metrics;
  amr::Simulation<2> simulation(comm, config, loadbalance::make_key_space<2>(config.mesh, config.partition), workload,
                                balancer, metrics, restart);
  std::uint64_t history = 0;
  simulation.run([&](std::int64_t step, double, const amr::RunTotals&) {
    if (restart == nullptr && !at_step) history = support::mix64(history, amr::mesh_digest(simulation.mesh()));
    if (at_step) at_step(simulation, step);
  });
  return result_of(simulation, history);
}

/// What every block costs after each step of a run, by step and key; of this rank's blocks.
using Costs = std::map<std::pair<std::int64_t, amr::Key>, double>;

inline Costs costs_of_run(const support::Communicator& comm, const apps::Config& config) {
  ShallowWater workload(config, config);
  Costs costs;
  static_cast<void>(run(comm, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    const amr::Mesh<2>& mesh = simulation.mesh();
    const std::vector<double> of_blocks = workload.block_costs(mesh, simulation.fields());
    for (std::int32_t i = 0; i < mesh.size(); ++i) costs[{step, mesh.key_of(i)}] = of_blocks.at(std::size_t(i));
  }));
  return costs;
}

/// Of runs on `comm` beside those of one rank on the host, which has dry blocks as well as wet ones: every block of
/// every step costs the same.
inline void expect_costs_of_one_rank(const support::Communicator& comm, const std::string& backend) {
  for (const char* const problem : {"bowl_planar", "lake_low", "walled_dam_break", "dam_break_dry"}) {
    for (const char* const precision : {"double", "single"}) {
      SCOPED_TRACE(std::string(problem) + ", " + precision);
      const bool is_narrow = std::string(problem) == "dam_break_dry";
      apps::Config config = make_config(problem, is_narrow ? std::array{12, 1, 1} : std::array{6, 6, 1}, 1, 5e-3);
      config.run.steps = 20;
      config.balance.weights = "workload";
      config.shallow_water.precision = precision;
      const Costs wanted = costs_of_run(support::Communicator::duplicate(MPI_COMM_SELF), config);
      std::set<double> kinds;
      for (const auto& [where, cost] : wanted) kinds.insert(cost);
      EXPECT_EQ(kinds.size(), 2U);
      config.device.backend = backend;
      const Costs found = costs_of_run(comm, config);
      for (const auto& [where, cost] : found) {
        const auto same = wanted.find(where);
        ASSERT_NE(same, wanted.end()) << "step " << where.first;
        ASSERT_EQ(cost, same->second) << "step " << where.first;
      }
      EXPECT_EQ(support::all_sum(comm, found.size()), wanted.size());
    }
  }
}

}  // namespace amrbench::workloads::checks
