// The searches for the cut of a weighted cell, by windows and by sums, find the cut that rule 5's words tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners {
namespace {

using Weights = std::vector<std::uint64_t>;

struct Found {
  std::uint64_t left = 0;
  std::uint64_t weight = 0;
  int searches = 0;
};

std::uint64_t sum(const Weights& weights, std::size_t begin, std::size_t end) {
  std::uint64_t total = 0;
  for (std::size_t i = begin; i < end; ++i) total += weights[i];
  return total;
}

/// Narrows windows to one of `bins` equal parts each until at most `few` points are left.
Found search_by_windows(const Weights& weights, const WeightGoal& goal, std::uint64_t few, std::uint64_t bins) {
  Found found;
  WeightSearch search = first_search(goal);
  while (++found.searches < 4) {
    std::uint64_t begin = 0;
    std::uint64_t size = weights.size();
    std::uint64_t before = 0;
    while (size > few) {
      std::uint64_t bin = 0;
      const auto edge = [&](std::uint64_t b) { return begin + size * b / bins; };
      while (bin + 1 < bins && !search.reached(edge(bin + 1), before + sum(weights, edge(bin), edge(bin + 1)))) {
        before += sum(weights, edge(bin), edge(bin + 1));
        ++bin;
      }
      const std::uint64_t end = edge(bin + 1);
      begin = edge(bin);
      size = end - begin;
    }
    const CutVerdict verdict =
        decide_cut(goal, search, begin, before, static_cast<std::uint32_t>(size), weights.data() + begin);
    if (verdict.kind == CutVerdict::Kind::cut) {
      found.left = begin + verdict.left;
      found.weight = verdict.weight_left;
      return found;
    }
    EXPECT_EQ(verdict.kind, CutVerdict::Kind::again);
    if (verdict.kind != CutVerdict::Kind::again) break;
    search = verdict.search;
  }
  ADD_FAILURE() << "no cut after " << found.searches << " searches";
  return found;
}

/// Rule 5, one place after another.
std::uint64_t place_by_rule(const Weights& weights, std::uint64_t leaves, std::uint64_t leaves_left) {
  __extension__ typedef __int128 Wide;
  const std::uint64_t n = weights.size();
  const Wide target = Wide{sum(weights, 0, n)} * leaves_left;
  const auto unit = static_cast<std::int64_t>(n * leaves_left / leaves);
  const auto worth = [&](std::uint64_t k) {
    const Wide weight = sum(weights, 0, k);
    const Wide apart = weight * leaves - target;
    return std::tuple(apart < 0 ? -apart : apart, weight, std::abs(static_cast<std::int64_t>(k) - unit));
  };
  std::uint64_t best = leaves_left;
  for (std::uint64_t k = best; k <= n - (leaves - leaves_left); ++k)
    if (worth(k) < worth(best)) best = k;
  return best;
}

/// Where chosen_before() is sure of a sum, it is the rule's. number_search() finds the place from a window that ends
/// (left) or begins (right) at that sum and has the cut by number. Returns how often.
int compare_sums(const Weights& weights, const WeightGoal& goal, std::uint64_t left) {
  int sure = 0;
  std::uint64_t before = sum(weights, 0, goal.least());
  for (std::uint32_t k = goal.least(); k <= goal.most(); before += k < weights.size() ? weights[k] : 0, ++k) {
    const bool behind = before < first_search(goal).weight;  // the target
    std::uint32_t i = k;
    if (behind)
      while (i < weights.size() && weights[i] == 0) ++i;
    else
      while (i > 0 && weights[i - 1] == 0) --i;
    if (behind ? i == weights.size() : i == 0) continue;
    if (!chosen_before(goal, before, weights[behind ? i : i - 1])) continue;
    EXPECT_EQ(sum(weights, 0, left), before);
    if (behind ? goal.unit() > k : goal.unit() < k) continue;
    ++sure;
    const WeightSearch search = number_search(goal, behind ? SearchPhase::left : SearchPhase::right, before);
    std::uint32_t place = 0;
    std::uint64_t so_far = 0;
    while (!search.reached(place, so_far)) so_far += weights[place++];
    EXPECT_EQ(behind ? place : place - 1, left) << "sum " << before << " at " << k;
  }
  return sure;
}

void compare(const Weights& weights, std::uint32_t leaves, std::uint32_t leaves_left, int& most_searches) {
  const auto n = static_cast<std::uint32_t>(weights.size());
  const std::uint64_t total = sum(weights, 0, n);
  const std::uint64_t left = place_by_rule(weights, leaves, leaves_left);
  for (std::uint64_t begin = 0; begin < n; begin += 1 + n / 16)
    for (std::uint64_t size = n - begin; size > 0; size /= 2) {
      const OrbGoal goal{n, leaves, leaves_left, total};
      const auto verdict =
          decide_cut(goal, first_search(goal), begin, sum(weights, 0, begin), size, weights.data() + begin);
      ASSERT_TRUE(verdict.kind == VerdictKind::cut || size < n);
      if (verdict.kind != VerdictKind::cut) continue;
      ASSERT_EQ(begin + verdict.left, left);
      ASSERT_EQ(verdict.weight_left, sum(weights, 0, left));
    }
  const WeightGoal goal{n, leaves, leaves_left, total};
  int looks = 0;
  const auto weight_of = [&](std::uint32_t k) {
    EXPECT_LE(k, n);
    ++looks;
    return sum(weights, 0, k);
  };
  ASSERT_EQ(cut_by_sums(goal, weight_of), left);
  ASSERT_LE(looks, 2 * std::bit_width(n) + 6);
  for (const std::uint64_t few : {1U, 3U, 16U, 1000U})
    for (const std::uint64_t bins : {2U, 7U}) {
      SCOPED_TRACE("windows of " + std::to_string(few) + ", bins " + std::to_string(bins));
      const Found found = search_by_windows(weights, goal, few, bins);
      ASSERT_EQ(found.left, left);
      ASSERT_EQ(found.weight, sum(weights, 0, left));
      ASSERT_TRUE(few < n || found.searches == 1);
      most_searches = std::max(most_searches, found.searches);
    }
}

TEST(OrbWeightSearch, EqualsTheCutOfAllPoints) {
  int most_searches = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t n = 2 + random() % 60;
    const std::uint64_t most = std::uint64_t{1} << random() % 57;  // sums stay below 2^63
    const std::uint64_t zeros = random() % 4;                      // in eighths and more
    Weights weights(n);
    for (std::uint64_t& w : weights) w = random() % 8 < 3 * zeros ? 0 : random() % most;
    if (random() % 4 == 0) weights[random() % n] = most * 50;
    const auto leaves = static_cast<std::uint32_t>(2 + random() % (n - 1));
    const auto leaves_left = static_cast<std::uint32_t>(1 + random() % (leaves - 1));
    compare(weights, leaves, leaves_left, most_searches);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(most_searches, 2);  // points of weight zero beyond the window occur, and one more search suffices
}

TEST(OrbWeightSearch, SumsThatAreTheRulesWhateverComesNext) {
  int sure = 0;
  for (std::uint64_t seed = 1; seed <= 4000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t n = 2 + random() % 60;
    const std::uint64_t most = std::uint64_t{1} << random() % 57;
    const bool equal = random() % 2 == 0;  // ties are frequent
    Weights weights(n);
    for (std::uint64_t& w : weights) w = random() % 8 < 6 ? 0 : equal ? most : random() % most;
    const auto leaves = static_cast<std::uint32_t>(2 + random() % (n - 1));
    const auto leaves_left = static_cast<std::uint32_t>(1 + random() % (leaves - 1));
    sure += compare_sums(weights, {static_cast<std::uint32_t>(n), leaves, leaves_left, sum(weights, 0, n)},
                         place_by_rule(weights, leaves, leaves_left));
  }
  EXPECT_GT(sure, 4000);  // more than one a seed
}

TEST(OrbWeightSearch, AllZeroAndLargeLeafCounts) {
  int most_searches = 0;
  for (const std::uint32_t leaves : {2U, 3U, 7U, 64U, 100U}) {
    compare(Weights(100, 0), leaves, (leaves + 1) / 2, most_searches);
    compare(Weights(100, (std::uint64_t{1} << 56) - 1), leaves, (leaves + 1) / 2, most_searches);
    Weights one(100, 0);
    one[37] = std::uint64_t{1} << 62;
    compare(one, leaves, leaves / 2, most_searches);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace amrbench::partitioners
