// The same bits whatever the ranks, threads, kernel, placement and balancing: whole runs with random objects, each
// against a run of one rank and one thread.
//
// In CI every object set meets a quarter of the combinations, so that each combination is met more than twice; with
// AMRBENCH_FULL=1 in the environment all sets meet all of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "amr/random_runs.hpp"
#include "sanitized.hpp"

namespace amrbench::amr {
namespace {

using checks::kSeed;
using checks::kSets;
using checks::name_of;
using checks::random_config;
using checks::Result;
using checks::run;
using checks::Way;
using support::Communicator;

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const int threads : {1, 2})
    for (const bool overlap : {false, true})
      for (const char* method : {"morton", "hilbert", "gensfc", "orb", "kd_parts"})
        for (const char* policy : {"never", "every", "threshold", "scatter"})
          ways.push_back({.threads = threads, .overlap = overlap, .method = method, .policy = policy});
  return ways;
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
      if (!full_matrix() && (w * 5 + set + w / 4) % (tests::fewer_cases() ? 16 : 4) != 0) continue;
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
  apps::Config config = random_config(1);
  const Result first = run(self, config, {});
  ++config.fields.seed;
  const Result second = run(self, config, {});
  EXPECT_EQ(first.mesh, second.mesh);
  EXPECT_NE(first.fields[0], second.fields[0]);
}

}  // namespace
}  // namespace amrbench::amr
