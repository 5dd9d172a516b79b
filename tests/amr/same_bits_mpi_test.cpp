// The same bits whatever the ranks, threads, kernel, placement and balancing: whole runs with random objects, each
// against a run of one rank and one thread.
//
// In CI every object set meets a quarter of the combinations, so that each combination is met more than twice; with
// AMRBENCH_FULL=1 in the environment all sets meet all of them.
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "amr/objects.hpp"
#include "amr/scatter.hpp"
#include "amr/simulation.hpp"
#include "loadbalance/balancer.hpp"

namespace amrbench::amr {
namespace {

using support::Communicator;

constexpr int kSets = 10;
constexpr std::uint64_t kSeed = 7300;

/// How a run is carried out, which must not show in its result.
struct Way {
  int threads = 1;
  bool overlap = false;
  std::string method = "morton";
  std::string policy = "never";
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const int threads : {1, 2})
    for (const bool overlap : {false, true})
      for (const char* method : {"morton", "hilbert", "gensfc", "orb", "kd_parts"})
        for (const char* policy : {"never", "every", "threshold", "scatter"})
          ways.push_back({threads, overlap, method, policy});
  return ways;
}

std::string name_of(const Way& way) {
  return std::to_string(way.threads) + " threads, " + (way.overlap ? "overlapped, " : "blocking, ") + way.method +
         ", " + way.policy;
}

/// A number in [low, high).
double between(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

ObjectConfig random_object(std::mt19937_64& random, std::size_t shape) {
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
Config random_config(int set) {
  std::mt19937_64 random(kSeed + set);
  Config config;
  config.mesh.max_level = 2 + set % 2;
  for (int d = 0; d < 3; ++d) config.mesh.root[d] = 1 + static_cast<int>(random() % (set % 2 != 0 ? 2 : 3));
  config.mesh.block = set % 3 == 0 ? std::array{2, 4, 6} : std::array{4, 4, 4};
  config.mesh.block_change = static_cast<int>(random() % 3);
  config.mesh.refine_ghost = set == 4;
  config.fields = {1 + static_cast<int>(random() % 9), "random", kSeed + set};
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

Result run(const Communicator& comm, Config config, const Way& way) {
  omp_set_num_threads(way.threads);
  config.run.overlap = way.overlap;
  config.partition.method = way.method;
  const bool scatter = way.policy == "scatter";
  config.balance = {scatter ? "never" : way.policy, 0.3};
  loadbalance::Balancer balancer(config.balance, way.method);
  checks::Scatter scattering(kSeed);
  support::Metrics metrics;
  Simulation simulation(comm, config, loadbalance::make_key_space(config),
                        scatter ? static_cast<Rebalancer&>(scattering) : balancer, metrics);
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

/// Results of every set on one rank, one thread; the sets are shared out over the ranks and then shown to all.
std::array<Result, kSets> references(const Communicator& world) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  std::array<Result, kSets> all{};
  for (int set = world.rank(); set < kSets; set += world.size()) all[set] = run(self, random_config(set), {});
  for (int set = 0; set < kSets; ++set) all[set] = support::broadcast(world, all[set], set % world.size());
  return all;
}

bool full_matrix() {
  const char* full = std::getenv("AMRBENCH_FULL");
  return full != nullptr && std::string(full) == "1";
}

TEST(SameBits, WhateverTheRanksThreadsKernelPlacementAndPolicy) {
  const Communicator world = Communicator::world();
  const auto expected = references(world);
  const std::vector<Way> ways = all_ways();
  for (int set = 0; set < kSets; ++set) {
    SCOPED_TRACE("object set " + std::to_string(set) + ", seed " + std::to_string(kSeed + set));
    for (std::size_t w = 0; w < ways.size(); ++w) {
      // A set meets each of threads, kernels and methods with one policy, and all policies.
      if (!full_matrix() && (w * 5 + set + w / 4) % 4 != 0) continue;
      SCOPED_TRACE(name_of(ways[w]));
      const Result result = run(world, random_config(set), ways[w]);
      EXPECT_EQ(result.mesh, expected[set].mesh);
      EXPECT_EQ(result.history, expected[set].history);
      EXPECT_EQ(result.fields, expected[set].fields);
      EXPECT_EQ(result.sums, expected[set].sums);
      EXPECT_TRUE(result.conserved);
      EXPECT_TRUE(result == expected[set])
          << "blocks " << result.blocks << " of " << expected[set].blocks << ", block-stages " << result.block_stages
          << " of " << expected[set].block_stages;
    }
  }
}

TEST(SameBits, TheObjectSetsAreWorthRunning) {
  // Every shape at least once, meshes that split and merge, and results that differ from set to set.
  const Communicator world = Communicator::world();
  const auto expected = references(world);
  std::set<std::string> shapes;
  std::set<std::uint64_t> meshes, fields;
  std::int64_t splits = 0, merges = 0;
  for (int set = 0; set < kSets; ++set) {
    for (const ObjectConfig& object : random_config(set).objects) shapes.insert(object.shape);
    meshes.insert(expected[set].history);
    fields.insert(expected[set].fields[0]);
    splits += expected[set].split;
    merges += expected[set].merged;
    EXPECT_GT(expected[set].most, 8) << "set " << set;
  }
  EXPECT_EQ(shapes.size(), shape_names().size());
  EXPECT_EQ(meshes.size(), std::size_t(kSets));
  EXPECT_EQ(fields.size(), std::size_t(kSets));
  EXPECT_GT(splits, 500);
  EXPECT_GT(merges, 50);
}

TEST(SameBits, TheSeedOfTheFieldsShows) {
  // A digest that ignored the fields would make everything above pass.
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  Config config = random_config(1);
  const Result first = run(self, config, {});
  ++config.fields.seed;
  const Result second = run(self, config, {});
  EXPECT_EQ(first.mesh, second.mesh);
  EXPECT_NE(first.fields[0], second.fields[0]);
}

}  // namespace
}  // namespace amrbench::amr
