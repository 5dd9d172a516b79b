// Names of parts: against all namings on small cases.
#include "partitioners/rename_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace amrbench::partitioners {
namespace {

std::vector<Overlap> random_overlaps(std::mt19937_64& random, int parts) {
  std::vector<Overlap> overlaps(random() % 30);
  for (Overlap& o : overlaps)
    o = {static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(parts)),
         static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(parts)),
         static_cast<std::int64_t>(random() % 100)};
  return overlaps;
}

std::int64_t best_kept(const std::vector<Overlap>& overlaps, int parts) {
  std::vector<std::int32_t> names(static_cast<std::size_t>(parts));
  std::iota(names.begin(), names.end(), 0);
  std::int64_t best = 0;
  do best = std::max(best, kept_weight(overlaps, names));
  while (std::next_permutation(names.begin(), names.end()));
  return best;
}

TEST(RenameParts, KeepsNearlyWhatTheBestNamingKeeps) {
  std::mt19937_64 random(4711);
  double kept_sum = 0.0, best_sum = 0.0;
  for (int number = 0; number < 500; ++number) {
    SCOPED_TRACE("seed 4711, case " + std::to_string(number));
    const int parts = 1 + static_cast<int>(random() % 6);
    const auto overlaps = random_overlaps(random, parts);
    const auto names = rename_parts(overlaps, parts);
    auto sorted = names;
    std::ranges::sort(sorted);
    for (int r = 0; r < parts; ++r) EXPECT_EQ(sorted[static_cast<std::size_t>(r)], r);
    std::vector<std::int32_t> same(static_cast<std::size_t>(parts));
    std::iota(same.begin(), same.end(), 0);
    const std::int64_t kept = kept_weight(overlaps, names), best = best_kept(overlaps, parts);
    EXPECT_GE(kept, kept_weight(overlaps, same));
    EXPECT_GE(2 * kept, best);
    EXPECT_LE(kept, best);
    kept_sum += static_cast<double>(kept);
    best_sum += static_cast<double>(best);
  }
  EXPECT_GT(kept_sum, 0.93 * best_sum);
}

TEST(RenameParts, NodesStayTogether) {
  std::mt19937_64 random(815);
  int renamed_nodes = 0;
  for (int number = 0; number < 500; ++number) {
    SCOPED_TRACE("seed 815, case " + std::to_string(number));
    const int nodes = 1 + static_cast<int>(random() % 4), tasks = 1 + static_cast<int>(random() % 4);
    const int parts = nodes * tasks;
    const auto overlaps = random_overlaps(random, parts);
    const auto names = rename_in_nodes(overlaps, parts, tasks);
    auto sorted = names;
    std::ranges::sort(sorted);
    for (int r = 0; r < parts; ++r) ASSERT_EQ(sorted[static_cast<std::size_t>(r)], r);
    for (int p = 0; p < parts; ++p) {
      const int node = p / tasks * tasks;
      const auto first = static_cast<std::size_t>(node);
      EXPECT_EQ(names[static_cast<std::size_t>(p)] / tasks, names[first] / tasks) << "part " << p;
      renamed_nodes += tasks > 1 && names[static_cast<std::size_t>(p)] / tasks != p / tasks ? 1 : 0;
    }
    std::vector<std::int32_t> same(static_cast<std::size_t>(parts));
    std::iota(same.begin(), same.end(), 0);
    EXPECT_GE(kept_weight(overlaps, names), kept_weight(overlaps, same));
    if (tasks == 1) {
      EXPECT_EQ(names, rename_parts(overlaps, parts));
    }
  }
  EXPECT_GT(renamed_nodes, 0);
}

TEST(RenameParts, ANodeAndItsTasksThatWereOnlyRenamedStay) {
  // Nodes 0 and 1 changed places, and so did two tasks of one of them.
  const std::vector<std::int32_t> names =
      rename_in_nodes({{0, 4, 9}, {1, 3, 9}, {2, 5, 9}, {3, 0, 9}, {4, 1, 9}}, 6, 3);
  EXPECT_EQ(names, (std::vector<std::int32_t>{4, 3, 5, 0, 1, 2}));
}

TEST(RenameParts, PartsThatWereOnlyRenamedStay) {
  std::mt19937_64 random(5);
  for (const int parts : {1, 2, 17, 1000}) {
    std::vector<std::int32_t> before(static_cast<std::size_t>(parts));
    std::iota(before.begin(), before.end(), 0);
    std::ranges::shuffle(before, random);
    std::vector<Overlap> overlaps;
    for (int p = 0; p < parts; ++p) overlaps.push_back({p, before[static_cast<std::size_t>(p)], 10});
    std::ranges::shuffle(overlaps, random);
    EXPECT_EQ(rename_parts(overlaps, parts), before);
  }
}

TEST(RenameParts, TheOrderOfOverlapsDoesNotMatterAndPairsAddUp) {
  std::mt19937_64 random(6);
  for (int number = 0; number < 100; ++number) {
    auto overlaps = random_overlaps(random, 5);
    const auto names = rename_parts(overlaps, 5);
    std::ranges::shuffle(overlaps, random);
    EXPECT_EQ(rename_parts(overlaps, 5), names);
  }
  EXPECT_EQ(rename_parts({{0, 1, 3}, {0, 2, 5}, {0, 1, 3}}, 3)[0], 1);
  EXPECT_EQ(rename_parts({}, 3), (std::vector<std::int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace amrbench::partitioners
