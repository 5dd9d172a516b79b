// Bins of a range of keys: every key in one of them, in order, and where each begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "partitioners/orb/key_bins.hpp"

namespace amrbench::partitioners::detail {
namespace {

/// Of `bins`, that keys beside a bin's first one fall where they should.
template <class T, class Key>
void expect_firsts(const KeyBins<T, Key>& bins, std::mt19937_64& random) {
  ASSERT_EQ(bins.first(0), bins.low);
  ASSERT_EQ(bins.first(kBins), bins.high + 1);
  for (int k = 0; k < 200; ++k) {
    const std::size_t wanted = random() % kBins;
    const Key first = bins.first(wanted);
    ASSERT_GE(first, bins.low);
    ASSERT_LE(first, bins.high + 1);
    if (first <= bins.high) {
      ASSERT_GE(bins.bin(first), wanted);
    }
    if (first > bins.low) {
      ASSERT_LT(bins.bin(first - 1), wanted);
    }
  }
  for (const Key key : {bins.low, bins.high}) ASSERT_LT(bins.bin(key), kBins);
}

template <class T>
void coordinates(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " bytes " + std::to_string(sizeof(T)));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int k = 0; k < 100; ++k) {
    // Sides of all sizes, some of one number or a few.
    const T middle = static_cast<T>(unit(random) * std::pow(10.0, std::floor(20 * unit(random))));
    const T half = k % 10 == 0 ? T(0) : static_cast<T>(std::abs(middle) * std::pow(10.0, -9 + 9 * unit(random)));
    const T lower = middle - half, upper = middle + half;
    const auto low = ordered_bits(lower), high = ordered_bits(upper);
    using Key = decltype(ordered_bits(T{}));
    const T scale = value_scale(lower, upper);
    EXPECT_EQ(scale > 0, lower < upper) << lower << " " << upper;
    expect_firsts(KeyBins<T, Key>(low, high, scale), random);
    expect_firsts(KeyBins<T, Key>(low, high, T(0)), random);
    expect_firsts(KeyBins<T, std::uint64_t>(low, high, scale), random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(OrbKeyBins, FirstKeysAreThoseOfTheirBins) {
  coordinates<float>(11);
  coordinates<double>(12);
}

TEST(OrbKeyBins, ASideBeyondAllNumbersHasNoScale) {
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(value_scale(-kMost, kMost), 0);
  EXPECT_EQ(value_scale(0.0, std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(value_scale(1.0, 1.0), 0);
  std::mt19937_64 random(13);
  expect_firsts(KeyBins<double, std::uint64_t>(ordered_bits(-kMost), ordered_bits(kMost), 0.0), random);
}

TEST(OrbKeyBins, EqualValuesShareABin) {
  std::mt19937_64 random(14);
  std::uniform_real_distribution<double> unit(0, 1);
  const KeyBins<double, std::uint64_t> bins(ordered_bits(0.0), ordered_bits(1.0), value_scale(0.0, 1.0));
  for (int k = 0; k < 1000; ++k) {  // evenly by value, not by bits
    const double x = unit(random);
    EXPECT_EQ(bins.bin(ordered_bits(x)), std::min(static_cast<std::size_t>(x * kBins), kBins - 1));
  }
}

}  // namespace
}  // namespace amrbench::partitioners::detail
