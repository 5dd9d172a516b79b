// Slices whose heaviest is as light as can be: against all cuts there are, and the same on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "partitioners/exact_slices.hpp"
#include "partitioners/slices.hpp"
#include "support/mpi.hpp"
#include "tests/partitioners/rank_spread.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;
using ItemWeights = std::vector<std::uint64_t>;

ItemWeights draw_weights(std::size_t items, std::mt19937_64& rng) {
  ItemWeights weights(items);
  const auto style = rng() % 6;
  for (auto& w : weights) {
    const std::uint64_t draw = rng();
    w = style == 0   ? 1
        : style == 1 ? draw % 3
        : style == 2 ? std::uint64_t{1} << (draw % 20)
        : style == 3 ? draw >> 24U
        : style == 4 ? static_cast<std::uint64_t>(draw % 16 == 0)
                     : draw % 1000;
  }
  if (rng() % 4 == 0 && items > 0)
    weights[rng() % items] += std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  return weights;
}

std::uint64_t heaviest_part(const ItemWeights& weights, const std::vector<std::int64_t>& cuts) {
  std::uint64_t heaviest = 0;
  for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
    heaviest =
        std::max(heaviest, std::accumulate(weights.begin() + cuts[p], weights.begin() + cuts[p + 1], std::uint64_t{0}));
  }
  return heaviest;
}

void check_form(const ItemWeights& weights, const std::vector<std::int64_t>& cuts, int parts) {
  ASSERT_EQ(cuts.size(), static_cast<std::size_t>(parts) + 1);
  ASSERT_EQ(cuts.front(), 0);
  ASSERT_EQ(cuts.back(), static_cast<std::int64_t>(weights.size()));
  ASSERT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
}

/// least[i]: of the heaviest part when the first i items make p parts, for all places of the last cut.
std::uint64_t least_of_all_cuts(const ItemWeights& weights, int parts) {
  const std::size_t n = weights.size();
  constexpr auto kFar = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> least(n + 1, kFar);
  least[0] = 0;
  for (int p = 0; p < parts; ++p) {
    for (std::size_t end = n + 1; end-- > 0;) {
      std::uint64_t best = kFar, last = 0;
      for (std::size_t begin = end + 1; begin-- > 0;) {
        best = std::min(best, std::max(least[begin], last));
        if (begin > 0) last += weights[begin - 1];
      }
      least[end] = best;
    }
  }
  return least[n];
}

TEST(ExactSlices, NoCutsAreBetter) {
  const Communicator comm = Communicator::world();
  if (!comm.is_root()) return;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    std::mt19937_64 rng(seed);
    const auto weights = draw_weights(rng() % 16, rng);
    const int parts = static_cast<int>(1 + rng() % 9);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto cuts = exact_cuts(weights, parts);
    ASSERT_NO_FATAL_FAILURE(check_form(weights, cuts, parts));
    ASSERT_EQ(heaviest_part(weights, cuts), least_of_all_cuts(weights, parts));
  }
}

TEST(ExactSlices, AreTheEvenOnesWhereThoseAreAsGood) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 rng(seed);
    const auto weights = draw_weights(rng() % 3000, rng);
    const int parts = static_cast<int>(1 + rng() % 200);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto even = slice_on_ranks(Communicator(), weights, weights.size(), parts);
    const auto cuts = exact_cuts(weights, parts);
    ASSERT_NO_FATAL_FAILURE(check_form(weights, cuts, parts));
    ASSERT_LE(heaviest_part(weights, cuts), heaviest_part(weights, even));
    if (heaviest_part(weights, cuts) == heaviest_part(weights, even)) {
      ASSERT_EQ(cuts, even);
    }
  }
}

TEST(ExactSlices, AreTheSameOnAnyNumberOfRanks) {
  const Communicator comm = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 rng(seed);
    const std::size_t n = rng() % (seed % 3 == 0 ? 10 : 4000);
    const auto weights = draw_weights(n, rng);
    const int parts = static_cast<int>(1 + rng() % (seed % 2 == 0 ? 8 : 600));
    const auto spread = random_spread(n, comm.size(), rng);
    const std::size_t begin = spread[static_cast<std::size_t>(comm.rank())];
    const std::size_t items = spread[static_cast<std::size_t>(comm.rank()) + 1] - begin;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", n " + std::to_string(n) + ", parts " + std::to_string(parts));
    ASSERT_EQ(exact_cuts_on_ranks(comm, std::span(weights).subspan(begin, items), parts), exact_cuts(weights, parts));
  }
}

}  // namespace
}  // namespace amrbench::partitioners
