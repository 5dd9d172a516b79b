#pragma once
// Whole runs with random objects, and what they leave as plain numbers.
#include <omp.h>

#include <array>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "amr/objects.hpp"
#include "amr/scatter.hpp"
#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "loadbalance/balancer.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::amr::checks {

inline constexpr int kSets = 10;
inline constexpr std::uint64_t kSeed = 7300;

/// How a run is carried out, which must not show in its result.
struct Way {
  int threads = 1;
  bool overlap = false;
  std::string method = "morton";
  std::string policy = "never";
  std::string backend = "cpu";
  std::string transport = "auto";
  std::string weights = "uniform";
  std::string splitter = "octree";
  std::string slices = "midpoint";
};

inline std::string name_of(const Way& way) {
  return std::to_string(way.threads) + " threads, " + (way.overlap ? "overlapped, " : "blocking, ") + way.method +
         ", " + way.splitter + ", " + way.slices + ", " + way.policy + ", " + way.weights + ", " + way.backend +
         (way.backend == "cpu" ? "" : ", " + way.transport);
}

/// A number in [low, high).
inline double between(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

inline ObjectConfig random_object(std::mt19937_64& random, std::size_t shape) {
  ObjectConfig object;
  object.shape = shape_names()[shape % shape_names().size()];
  object.volume = random() % 2 != 0;
  object.bounce = random() % 2 != 0 ? "center" : "none";
  for (int d = 0; d < 3; ++d) {
    object.center[d] = between(random, -0.1, 1.1);
    object.velocity[d] = between(random, -0.12, 0.12);
    object.size[d] = between(random, 0.02, 0.35);
    object.growth[d] = random() % 2 != 0 ? between(random, -0.02, 0.03) : 0.0;
  }
  return object;
}

/// Object set `set`: two to four objects; over the ten sets every shape comes up at least twice.
inline apps::Config random_config(int set, std::uint64_t seed = kSeed) {
  std::mt19937_64 random(seed + set);
  apps::Config config;
  config.mesh.max_level = 2 + set % 2;
  for (int d = 0; d < 3; ++d) config.mesh.root[d] = 1 + static_cast<int>(random() % (set % 2 != 0 ? 2 : 3));
  config.mesh.block = set % 3 == 0 ? std::array{2, 4, 6} : std::array{4, 4, 4};
  config.mesh.block_change = static_cast<int>(random() % 3);
  config.mesh.refine_ghost = set == 4;
  config.fields = {1 + static_cast<int>(random() % 9), "random", seed + static_cast<std::uint64_t>(set)};
  config.run.steps = 6;
  config.run.stages_per_step = 2;
  config.run.refine_every = 1 + set % 3;
  config.run.checksum_every = 3;
  const std::size_t count = 2 + random() % 3;
  for (std::size_t k = 0; k < count; ++k) config.objects.push_back(random_object(random, set * 2 + k));
  return config;
}

/// What a run leaves, as plain numbers.
struct Result {
  static constexpr int kMost = 12;
  std::uint64_t mesh = 0;
  std::uint64_t history = 0;  ///< digests of the mesh after every step, chained
  std::array<std::uint64_t, kMost> fields{};
  std::uint64_t sums = 0;  ///< exact sums and squares, min and max
  std::int64_t blocks = 0, block_stages = 0, split = 0, merged = 0, most = 0;
  bool conserved = false;
  bool operator==(const Result&) const = default;
};

inline Result run(const support::Communicator& comm, apps::Config config, const Way& way) {
  omp_set_num_threads(way.threads);
  config.run.overlap = way.overlap;
  config.partition.method = way.method;
  config.partition.splitter = way.splitter;
  config.partition.slices = way.slices;
  config.device.backend = way.backend;
  config.device.transport = way.transport;
  const bool scatter = way.policy == "scatter";
  config.balance = {.policy = scatter ? "never" : way.policy, .threshold = 0.3, .weights = way.weights};
  loadbalance::Balancer balancer(config.balance, config.partition, config.work);
  Scatter scattering(kSeed);
  support::Metrics metrics;
  workloads::Averages workload(config);
  Simulation simulation(comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload,
                        scatter ? static_cast<Rebalancer<3>&>(scattering) : balancer, metrics);
  Result r;
  simulation.run([&](std::int64_t, double, const RunTotals&) {
    r.history = support::mix64(r.history, mesh_digest(simulation.mesh()));
  });
  r.mesh = mesh_digest(simulation.mesh());
  const auto stats = simulation.statistics();
  for (std::size_t v = 0; v < stats.size(); ++v) {
    r.fields.at(v) = stats[v].hash().value();
    for (const double x :
         {stats[v].sum().to_double(), stats[v].sum_squares().to_double(), stats[v].min(), stats[v].max()})
      r.sums = support::mix64(r.sums, std::bit_cast<std::uint64_t>(x));
  }
  const RunTotals& totals = simulation.totals();
  r.blocks = totals.blocks;
  r.block_stages = totals.block_stages;
  r.split = totals.blocks_split;
  r.merged = totals.blocks_merged;
  r.most = totals.blocks_max;
  r.conserved = simulation.conservation().passed() && simulation.conservation().checks() > 0;
  omp_set_num_threads(1);
  return r;
}

}  // namespace amrbench::amr::checks
