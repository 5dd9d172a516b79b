// Problems drawn by a seed leave the same mesh, fields, sums and numbers of blocks on any number of ranks and threads,
// under every partitioner with every policy.
//
// AMRBENCH_FULL=1: five problems under all of them, on 1, 2, 3, 4, 5, 7, 8, 12 and 16 ranks (tests/CMakeLists.txt);
// else two on 1, 2 and 3 ranks, under some that the seed draws, too. AMRBENCH_SEED=N is the seed; without it every call
// has another, which is printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "amr/random_runs.hpp"
#include "partitioners/partitioner.hpp"
#include "sanitized.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::checks::kSets;
using amr::checks::name_of;
using amr::checks::random_config;
using amr::checks::Result;
using amr::checks::run;
using amr::checks::Way;
using support::Communicator;

bool in_full() {
  const char* full = std::getenv("AMRBENCH_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

/// The same on all ranks, and printed. Collective.
std::uint64_t drawn_seed(const Communicator& world) {
  std::uint64_t seed = std::random_device{}() % 1'000'000'000;
  if (const char* given = std::getenv("AMRBENCH_SEED"); given != nullptr) {
    const std::string_view text = given;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    EXPECT_TRUE(error == std::errc{} && end == text.data() + text.size()) << "AMRBENCH_SEED=" << text;
  }
  seed = support::broadcast(world, seed);
  if (world.is_root()) std::printf("seed of the problems: AMRBENCH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

/// `most` of the names in a registry, drawn; all where there are no more.
template <class Registry>
std::vector<std::string> drawn_names(const Registry& registry, std::size_t most, std::mt19937_64& random) {
  std::vector<std::string> names;
  for (const auto& entry : registry) names.emplace_back(entry.name);
  std::shuffle(names.begin(), names.end(), random);
  names.resize(std::min(most, names.size()));
  return names;
}

struct Draw {
  std::vector<apps::Config> problems;
  std::vector<std::string> methods, policies;
};

Draw draw(std::uint64_t seed, bool full) {
  std::mt19937_64 random(seed);
  std::vector<int> sets(kSets);
  for (int set = 0; set < kSets; ++set) sets[static_cast<std::size_t>(set)] = set;
  std::shuffle(sets.begin(), sets.end(), random);
  Draw drawn;
  for (std::size_t p = 0; p < (full ? 5U : 2U); ++p) drawn.problems.push_back(random_config(sets[p], random()));
  drawn.methods = drawn_names(partitioners::partitioner_registry(), full ? 1000 : 4, random);
  drawn.policies = drawn_names(policy_registry(), full ? 1000 : 3, random);
  return drawn;
}

TEST(Invariance, TheAnswerDoesNotDependOnRanksThreadsPartitionerAndPolicy) {
  const Communicator world = Communicator::world();
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const std::uint64_t seed = drawn_seed(world);
  const Draw drawn = draw(seed, in_full());
  std::int64_t splits = 0;
  int runs = 0, different = 0;
  for (std::size_t p = 0; p < drawn.problems.size(); ++p) {
    Result expected;
    if (world.is_root()) expected = run(self, drawn.problems[p], {});
    expected = support::broadcast(world, expected);
    EXPECT_TRUE(expected.conserved);
    splits += expected.split;
    for (const int threads : {1, 2})
      for (const std::string& method : drawn.methods)
        for (const std::string& policy : drawn.policies) {
          const Way way{.threads = threads, .overlap = threads == 2, .method = method, .policy = policy};
          const Result result = run(world, drawn.problems[p], way);
          ++runs;
          different += result == expected ? 0 : 1;
          EXPECT_TRUE(result == expected)
              << "AMRBENCH_SEED=" << seed << ", problem " << p << ", " << name_of(way) << ": mesh " << result.mesh
              << " of " << expected.mesh << ", first field " << result.fields[0] << " of " << expected.fields[0]
              << ", blocks " << result.blocks << " of " << expected.blocks << ", block-stages " << result.block_stages
              << " of " << expected.block_stages;
          ASSERT_LT(different, 10) << "and so on";
        }
  }
  EXPECT_GT(splits, 0);
  EXPECT_EQ(runs, int(2 * drawn.problems.size() * drawn.methods.size() * drawn.policies.size()));
  if (world.is_root())
    std::printf("%d runs on %d ranks: %zu problems, %zu partitioners, %zu policies, 1 and 2 threads\n", runs,
                world.size(), drawn.problems.size(), drawn.methods.size(), drawn.policies.size());
}

TEST(Invariance, TheAnswerDoesNotDependOnNodes) {
  const Communicator world = Communicator::world();
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const std::uint64_t seed = drawn_seed(world);
  const Draw drawn = draw(seed, in_full());
  const std::size_t problems = tests::fewer_cases() ? 1 : drawn.problems.size();
  for (std::size_t p = 0; p < problems; ++p) {
    Result expected;
    if (world.is_root()) expected = run(self, drawn.problems[p], {});
    expected = support::broadcast(world, expected);
    for (const partitioners::PartitionerEntry& method : partitioners::partitioner_registry())
      for (int nodes = 1; nodes <= world.size(); ++nodes) {
        if (tests::left_out(method.name)) continue;
        if (world.size() % nodes != 0) continue;
        apps::Config config = drawn.problems[p];
        config.partition.nodes = nodes;
        config.partition.rename = (static_cast<std::size_t>(nodes) + p) % 2 == 0;
        const Way way{.method = std::string(method.name), .policy = "every", .splitter = "median"};
        EXPECT_TRUE(run(world, config, way) == expected)
            << "AMRBENCH_SEED=" << seed << ", problem " << p << ", " << nodes << " nodes, " << name_of(way);
      }
  }
}

TEST(Invariance, TheSeedDrawsTheProblems) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const Draw one = draw(1, false), again = draw(1, false), other = draw(2, false);
  EXPECT_EQ(one.methods, again.methods);
  EXPECT_EQ(one.policies, again.policies);
  const Result result = run(self, one.problems[0], {});
  EXPECT_TRUE(result == run(self, again.problems[0], {}));
  EXPECT_FALSE(result == run(self, other.problems[0], {}));
}

}  // namespace
}  // namespace amrbench::loadbalance
