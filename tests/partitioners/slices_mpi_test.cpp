// Slices: even cuts, and cuts by weight that do not depend on how many ranks hold the items.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "partitioners/slices.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

TEST(EvenCuts, FollowTheMiddleOfEachItem) {
  EXPECT_EQ(even_cuts(10, 4), (std::vector<std::int64_t>{0, 2, 5, 7, 10}));
  EXPECT_EQ(even_cuts(2, 5), (std::vector<std::int64_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(even_cuts(0, 3), (std::vector<std::int64_t>{0, 0, 0, 0}));
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(even_cuts(large, 2), (std::vector<std::int64_t>{0, large / 2, large}));
  for (int parts = 1; parts < 40; ++parts) {
    for (std::int64_t items = 0; items < 100; ++items) {
      const auto cuts = even_cuts(items, parts);
      ASSERT_EQ(cuts.size(), std::size_t(parts) + 1);
      EXPECT_EQ(cuts.front(), 0);
      EXPECT_EQ(cuts.back(), items);
      for (int p = 0; p < parts; ++p) {
        EXPECT_GE(cuts[p + 1] - cuts[p], items / parts);
        EXPECT_LE(cuts[p + 1] - cuts[p], (items + parts - 1) / parts);
      }
    }
  }
}

TEST(EvenCuts, FollowShares) {
  const std::vector<double> shares{0.5, 0.25, 0.0, 0.25};
  EXPECT_EQ(even_cuts(8, 4, shares), (std::vector<std::int64_t>{0, 4, 6, 6, 8}));
  EXPECT_EQ(even_cuts(0, 4, shares), (std::vector<std::int64_t>{0, 0, 0, 0, 0}));
  const std::vector<double> even(7, 1.0 / 7);
  for (std::int64_t items = 0; items < 200; ++items) {
    const auto cuts = even_cuts(items, 7, even), expected = even_cuts(items, 7);
    EXPECT_EQ(cuts.back(), items);
    for (std::size_t p = 0; p < cuts.size(); ++p) EXPECT_LE(std::abs(cuts[p] - expected[p]), 1) << items;
  }
}

using Weights = std::vector<std::uint64_t>;

/// The rule of the header, item by item: cuts[p] = how many items have a part below p.
std::vector<std::int64_t> cuts_by_rule(const Weights& weights, int parts) {
  Mass total = 0, before = 0;
  for (const std::uint64_t w : weights) total += w;
  std::vector<std::int64_t> cuts(parts + 1, 0);
  if (weights.empty()) return cuts;
  if (total == 0) return cuts_by_rule(Weights(weights.size(), 1), parts);
  for (const std::uint64_t w : weights) {
    const Mass part = std::min<Mass>((2 * before + w) * parts / (2 * total), parts - 1);
    for (int p = static_cast<int>(part) + 1; p <= parts; ++p) ++cuts[p];
    before += w;
  }
  return cuts;
}

enum class Kind { ones, small, zeros, mostly_zero, spread, huge, one_heavy };

Weights weights_of(Kind kind, std::size_t items, std::mt19937_64& random) {
  Weights weights(items, 0);
  for (std::uint64_t& w : weights) {
    const std::uint64_t draw = random();
    switch (kind) {
      case Kind::ones:
        w = 1;
        break;
      case Kind::small:
        w = draw % 10;
        break;
      case Kind::zeros:
        break;
      case Kind::mostly_zero:
        w = draw % 20 == 0 ? draw >> 40 : 0;
        break;
      case Kind::spread:
        w = (draw >> 24) >> (draw % 40);
        break;
      case Kind::huge:  // their sum stays just below 2^62
        w = (draw >> 2) / (items + 1);
        break;
      case Kind::one_heavy:
        w = 1;
        break;
    }
  }
  if (kind == Kind::one_heavy && items > 0) weights[random() % items] = std::uint64_t{1} << 50;
  return weights;
}

constexpr std::array kKinds{Kind::ones,   Kind::small, Kind::zeros,    Kind::mostly_zero,
                            Kind::spread, Kind::huge,  Kind::one_heavy};

/// This rank's stretch of the items; some ranks have none.
std::span<const std::uint64_t> stretch(const Weights& all, int rank, int ranks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> cuts{0, all.size()};
  for (int r = 1; r < ranks; ++r) cuts.push_back(random() % 3 == 0 ? cuts.back() : random() % (all.size() + 1));
  std::sort(cuts.begin(), cuts.end());
  return {all.data() + cuts[rank], cuts[rank + 1] - cuts[rank]};
}

std::vector<std::int64_t> sliced(const Communicator& comm, std::span<const std::uint64_t> weights, int parts) {
  return slice_on_ranks(comm, weights, weights.size(), parts);
}

TEST(SliceOnRanks, IsTheSerialRuleOnAnyNumberOfRanks) {
  const Communicator world = Communicator::world();
  std::mt19937_64 random(515);
  for (int repeat = 0; repeat < 200; ++repeat) {
    SCOPED_TRACE("seed 515, repeat " + std::to_string(repeat));
    const Kind kind = kKinds[repeat % kKinds.size()];
    const auto weights = weights_of(kind, random() % (repeat % 3 == 0 ? 4 : 500), random);
    const int parts = 1 + static_cast<int>(random() % 40);
    const std::uint64_t seed = random();
    const auto cuts = sliced(world, stretch(weights, world.rank(), world.size(), seed), parts);
    EXPECT_EQ(cuts, cuts_by_rule(weights, parts)) << weights.size() << " items, " << parts << " parts";
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
  }
}

TEST(SliceOnRanks, NoPartExceedsTheMeanByMoreThanTheHeaviestItem) {
  const Communicator world = Communicator::world();
  std::mt19937_64 random(616);
  for (int repeat = 0; repeat < 100; ++repeat) {
    SCOPED_TRACE("seed 616, repeat " + std::to_string(repeat));
    const auto weights = weights_of(kKinds[repeat % kKinds.size()], 1 + random() % 300, random);
    const int parts = 1 + static_cast<int>(random() % 20);
    const auto cuts = sliced(world, stretch(weights, world.rank(), world.size(), random()), parts);
    Mass total = 0;
    for (const std::uint64_t w : weights) total += w;
    const std::uint64_t heaviest = *std::max_element(weights.begin(), weights.end());
    for (int p = 0; p < parts; ++p) {
      Mass part = 0;
      for (std::int64_t k = cuts[p]; k < cuts[p + 1]; ++k) part += weights[k];
      EXPECT_TRUE(part * parts <= total + static_cast<Mass>(heaviest) * parts) << "part " << p;
    }
  }
}

TEST(SliceOnRanks, EqualWeightsGiveEvenParts) {
  const Communicator world = Communicator::world();
  for (const int items : {0, 1, 7, 64, 1000}) {
    const Weights weights(items, 12345);
    for (const int parts : {1, 2, 3, 8, 100}) {
      const auto cuts = sliced(world, stretch(weights, world.rank(), world.size(), 9), parts);
      for (int p = 0; p < parts; ++p) {
        EXPECT_LE(cuts[p + 1] - cuts[p], (items + parts - 1) / parts);
        EXPECT_GE(cuts[p + 1] - cuts[p], items / parts);
      }
    }
  }
}

TEST(SliceOnRanks, PartsGetTheirShares) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int parts = 1 + static_cast<int>(random() % 9);
    std::vector<double> shares(parts);
    for (double& share : shares) share = static_cast<double>(random() % 5);
    shares[0] += 1.0;
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= all;
    Weights weights(random() % 300 + 1);
    for (std::uint64_t& w : weights) w = random() % 100;
    weights[0] += 1;
    const std::size_t begin = weights.size() * world.rank() / world.size();
    const std::size_t end = weights.size() * (world.rank() + 1) / world.size();
    const auto cuts = slice_on_ranks(world, std::span(weights).subspan(begin, end - begin), end - begin, parts,
                                     SliceRule::midpoint, shares);
    ASSERT_EQ(cuts.size(), std::size_t(parts) + 1);
    EXPECT_EQ(cuts.front(), 0);
    EXPECT_EQ(cuts.back(), static_cast<std::int64_t>(weights.size()));
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    const auto total = static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    const auto heaviest = static_cast<double>(*std::max_element(weights.begin(), weights.end()));
    for (int p = 0; p < parts; ++p) {
      double mine = 0.0;
      for (std::int64_t i = cuts[p]; i < cuts[p + 1]; ++i) mine += static_cast<double>(weights[i]);
      EXPECT_LE(std::abs(mine - shares[p] * total), heaviest + 1e-6 * total) << "part " << p;
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
