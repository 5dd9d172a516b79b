#include "support/hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace amrbench::support {
namespace {

// Values of records, seeds and samples depend on these bits.
TEST(Hash, KnownValues) {
  // SplitMix64 from state 0 gives these first three numbers (Steele, Lea, Flood; Vigna's splitmix64.c).
  static_assert(splitmix64(0) == 0xe220a8397b1dcdafU);
  static_assert(splitmix64(kGoldenRatio64) == 0x6e789e6aa1b965f4U);
  static_assert(splitmix64(2 * kGoldenRatio64) == 0x06c45d188009454fU);
  EXPECT_EQ(mix64(0), 0U);
  EXPECT_EQ(mix64(kGoldenRatio64), splitmix64(0));
  EXPECT_EQ(mix64(1, 2), mix64(splitmix64(1) ^ 2U));
  // MurmurHash3's fmix64 of 1, as its author's code gives it.
  static_assert(murmur64(0) == 0 && murmur64(1) == 0xb456bcfc34c2cb2cU);
}

TEST(Hash, DrawsHave24BitsAndDependOnPlaceAndSize) {
  EXPECT_EQ(draw24(0, 0), ((kGoldenRatio64 ^ (kGoldenRatio64 >> 31)) * 0xbf58476d1ce4e5b9U) >> 40);
  std::uint64_t most = 0, sum = 0;
  constexpr std::uint64_t kDraws = 100000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    most = std::max(most, draw24(i, kDraws));
    sum += draw24(i, kDraws);
  }
  EXPECT_LT(most, std::uint64_t{1} << 24);
  EXPECT_NEAR(static_cast<double>(sum) / kDraws, 0x1p23, 0x1p23 * 0.01);
  EXPECT_NE(draw24(3, 10), draw24(3, 11));
}

}  // namespace
}  // namespace amrbench::support
