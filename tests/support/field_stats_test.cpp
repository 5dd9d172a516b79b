// support/field_stats.hpp against plain loops.
#include "support/field_stats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace amrbench::support {
namespace {

TEST(Mix64, IsSensitiveToEveryBit) {
  // Flipping an input bit flips about half of the output bits, for every bit and for both arguments.
  std::mt19937_64 random(11);
  for (int bit = 0; bit < 64; ++bit) {
    int flipped_a = 0;
    int flipped_b = 0;
    for (int i = 0; i < 256; ++i) {
      const std::uint64_t a = random();
      const std::uint64_t b = random();
      flipped_a += std::popcount(mix64(a, b) ^ mix64(a ^ (std::uint64_t{1} << bit), b));
      flipped_b += std::popcount(mix64(a, b) ^ mix64(a, b ^ (std::uint64_t{1} << bit)));
    }
    EXPECT_NEAR(flipped_a / 256.0, 32.0, 2.0) << bit;  // standard error 0.25
    EXPECT_NEAR(flipped_b / 256.0, 32.0, 2.0) << bit;
  }
  EXPECT_NE(mix64(1, 2), mix64(2, 1));
}

TEST(FieldHash, SeesValuesAndPlacesButNotOrder) {
  FieldHash a;
  a.add(1.0, 10);
  a.add(2.0, 20);
  FieldHash b;
  b.add(2.0, 20);
  FieldHash rest;
  rest.add(1.0, 10);
  b.merge(rest);
  EXPECT_EQ(a.value(), b.value());
  FieldHash swapped;
  swapped.add(1.0, 20);
  swapped.add(2.0, 10);
  EXPECT_NE(a.value(), swapped.value());
  FieldHash off;
  off.add(std::nextafter(1.0, 2.0), 10);
  off.add(2.0, 20);
  EXPECT_NE(a.value(), off.value());
  EXPECT_EQ(FieldHash().to_hex(), "0000000000000000");
  // No two of 100,000 small neighbouring inputs collide.
  std::set<std::uint64_t> seen;
  for (std::uint64_t place = 0; place < 1000; ++place) {
    for (int v = 0; v < 100; ++v) {
      FieldHash one;
      one.add(v, place);
      seen.insert(one.value());
    }
  }
  EXPECT_EQ(seen.size(), 100'000U);
}

TEST(FieldStats, MatchesPlainLoopsInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<double> values(5000);
    for (double& x : values) x = std::ldexp(static_cast<double>(random() >> 11), -53) - 0.5;
    FieldStats reference;
    ExactSum sum;
    ExactSum squares;
    for (std::size_t i = 0; i < values.size(); ++i) {
      reference.add(values[i], i);
      sum.add(values[i]);
      squares.add(values[i] * values[i]);
    }
    EXPECT_EQ(reference.sum(), sum);
    EXPECT_EQ(reference.sum_squares(), squares);
    EXPECT_EQ(reference.min(), *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(reference.max(), *std::max_element(values.begin(), values.end()));
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<FieldStats> parts(3);
    for (const std::size_t i : order) parts[random() % 3].add(values[i], i);
    parts[0].merge(parts[1]);
    parts[0].merge(parts[2]);
    EXPECT_EQ(parts[0].sum(), sum);
    EXPECT_EQ(parts[0].sum_squares(), squares);
    EXPECT_EQ(parts[0].min(), reference.min());
    EXPECT_EQ(parts[0].max(), reference.max());
    EXPECT_EQ(parts[0].hash().value(), reference.hash().value());
  }
}

TEST(FieldStats, NansAndZeros) {
  FieldStats stats;
  EXPECT_GT(stats.min(), stats.max());
  stats.add(-0.0, 1);
  EXPECT_FALSE(std::signbit(stats.min()));  // whichever zero comes first
  EXPECT_FALSE(std::signbit(stats.max()));
  stats.add(0.0, 2);
  EXPECT_FALSE(std::signbit(stats.min()));
  stats.add(std::numeric_limits<double>::quiet_NaN(), 3);
  stats.add(-4.0, 4);
  EXPECT_EQ(stats.nan_count(), 1);
  EXPECT_EQ(stats.min(), -4.0);
  EXPECT_EQ(stats.max(), 0.0);
  EXPECT_TRUE(std::isnan(stats.sum().to_double()));
}

}  // namespace
}  // namespace amrbench::support
