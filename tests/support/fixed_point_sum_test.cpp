// support/fixed_point_sum.hpp against exact integer arithmetic.
#include "support/fixed_point_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/error.hpp"
#include "support/superaccumulator.hpp"

namespace amrbench::support {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// x / 2^unit rounded to an integer, ties to even, by exact integer arithmetic.
int128 rounded(double x, int unit) {
  using boost::multiprecision::cpp_int;
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(x), &exponent);
  cpp_int value = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  const int shift = exponent - 53 - unit;
  if (shift >= 0) {
    value <<= shift;
  } else if (shift < -200) {
    value = 0;
  } else {
    const cpp_int one = cpp_int(1) << -shift;
    const cpp_int quotient = value / one;
    const cpp_int twice_rest = 2 * (value % one);
    value = quotient + (twice_rest > one || (twice_rest == one && quotient % 2 != 0) ? 1 : 0);
  }
  const auto result = value.convert_to<int128>();
  return x < 0 ? -result : result;
}

/// Values within 2^e, of magnitudes from 2^e down past the resolution, zeros of both signs among them.
std::vector<double> random_values(std::mt19937_64& random, std::size_t n, int e) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    const double mantissa = static_cast<double>(random() >> 12) * 0x1p-52;  // in [0, 1)
    const double x = std::ldexp(mantissa * (1 - 0x1p-40), e - static_cast<int>(random() % 100));
    values.push_back((random() & 1U) != 0 ? x : -x);
  }
  return values;
}

template <int W>
std::vector<FixedPointSum> lane_sums(const std::vector<double>& values, const FixedPointScale& scale,
                                     std::size_t flush) {
  std::vector<FixedPointSum> sums(W, FixedPointSum(scale));
  LaneSum<W> partial(scale);
  for (std::size_t i = 0; i + W <= values.size(); i += W) {
    if constexpr (W == 1) {
      partial.accumulate(values[i]);
    } else {
      partial.accumulate(values.data() + i);
    }
    if (static_cast<std::size_t>(partial.count()) == flush) partial.flush_to(sums.data());
  }
  partial.flush_to(sums.data());
  return sums;
}

template <int W>
void expect_lanes_match_scalar(const std::vector<double>& values, const FixedPointScale& scale, std::size_t flush) {
  std::vector<FixedPointSum> expected(W, FixedPointSum(scale));
  for (std::size_t i = 0; i < values.size() / W * W; ++i) expected[i % W].add(values[i]);
  const std::vector<FixedPointSum> got = lane_sums<W>(values, scale, flush);
  for (std::size_t lane = 0; lane < W; ++lane) ASSERT_EQ(got[lane], expected[lane]) << "W " << W << " lane " << lane;
}

TEST(FixedPointScale, IsTheSmallestThatHoldsTheBound) {
  EXPECT_EQ(FixedPointScale::for_bound(1.0).exponent(), 1);
  EXPECT_EQ(FixedPointScale::for_bound(0.75).exponent(), 0);
  EXPECT_EQ(FixedPointScale::for_bound(1 - 0x1p-53).exponent(), 1);  // rounds up to 1 in hi
  EXPECT_EQ(FixedPointScale::for_bound(1 - 0x1p-47).exponent(), 0);
  EXPECT_EQ(FixedPointScale::for_bound(0.0).exponent(), FixedPointScale::kMinExponent);
  EXPECT_EQ(FixedPointScale::for_bound(5e-324).exponent(), FixedPointScale::kMinExponent);
  EXPECT_EQ(FixedPointScale::for_bound(0x1p1017).exponent(), FixedPointScale::kMaxExponent);
  EXPECT_THROW(FixedPointScale::for_bound(0x1p1018), RunError);
  EXPECT_THROW(FixedPointScale::for_bound(-1.0), RunError);
  EXPECT_THROW(FixedPointScale::for_bound(kInf), RunError);
  EXPECT_THROW(FixedPointScale::for_bound(kNan), RunError);
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const double bound = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 1700) - 850);
    if (bound == 0.0) continue;
    const FixedPointScale scale = FixedPointScale::for_bound(bound);
    FixedPointSum fits(scale);
    fits.add(bound);
    fits.add(-bound);
    EXPECT_TRUE(fits.valid());
    if (scale.exponent() > FixedPointScale::kMinExponent) {
      FixedPointSum smaller{FixedPointScale(scale.exponent() - 1)};
      smaller.add(bound);
      EXPECT_FALSE(smaller.valid());
    }
  }
}

TEST(FixedPointSum, RoundsEachValueOnceToTheResolution) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int e = static_cast<int>(random() % 1900) - 890;
    const FixedPointScale scale(e);
    FixedPointSum sum(scale);
    int128 expected = 0;
    for (const double x : random_values(random, 2000, e)) {
      FixedPointSum one(scale);
      one.add(x);
      ASSERT_TRUE(one.total() == rounded(x, e - 83)) << x << " at exponent " << e;
      if (std::abs(x) >= std::ldexp(1.0, e - 31)) {
        ASSERT_EQ(one.to_double(), x);
      }
      expected += rounded(x, e - 83);
      sum.add(x);
    }
    ASSERT_TRUE(sum.valid());
    ASSERT_TRUE(sum.total() == expected);
    ASSERT_EQ(sum.count(), 2000);
  }
}

TEST(FixedPointSum, LanesAndScalarGiveTheSameIntegers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const int e = static_cast<int>(random() % 1900) - 890;
    std::vector<double> values = random_values(random, 5000, e);
    if (seed % 4 == 0) values[random() % values.size()] = kNan;  // a bad lane must not spoil the others
    const std::size_t flush = 5000;  // one flush a lane: then validity and totals of a bad lane agree only as bad
    const FixedPointScale scale(e);
    if (seed % 4 != 0) {
      expect_lanes_match_scalar<1>(values, scale, 1 + random() % 700);
      expect_lanes_match_scalar<2>(values, scale, 1 + random() % 700);
      expect_lanes_match_scalar<4>(values, scale, 1 + random() % 700);
      expect_lanes_match_scalar<8>(values, scale, 1 + random() % 700);
      expect_lanes_match_scalar<16>(values, scale, flush);
    } else {
      const std::vector<FixedPointSum> sums = lane_sums<8>(values, scale, flush);
      EXPECT_EQ(std::count_if(sums.begin(), sums.end(), [](const auto& s) { return !s.valid(); }), 1);
    }
  }
}

TEST(FixedPointSum, PermutationsAndPartitionsGiveTheSameBits) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const FixedPointScale scale(3);
    std::vector<double> values = random_values(random, 20'000, 3);
    FixedPointSum reference(scale);
    for (const double x : values) reference.add(x);
    std::shuffle(values.begin(), values.end(), random);
    FixedPointSum merged(scale);
    std::size_t at = 0;
    while (at < values.size()) {
      const std::size_t n = std::min<std::size_t>(1 + random() % 4000, values.size() - at);
      const std::vector<double> part(values.begin() + static_cast<std::ptrdiff_t>(at),
                                     values.begin() + static_cast<std::ptrdiff_t>(at + n));
      merged.merge(lane_sums<1>(part, scale, 1000)[0]);
      at += n;
    }
    ASSERT_EQ(merged, reference);
    ASSERT_EQ(merged.to_hex(), reference.to_hex());
  }
}

TEST(FixedPointSum, FullFlushesOfExtremesDoNotOverflow) {
  const FixedPointScale scale(10);
  const double most = std::ldexp(1 - 0x1p-47, 10);
  for (const double x : {most, -most, -1024.0}) {
    const std::vector<double> values(8 * LaneSum<8>::kMostCells, x);
    const std::vector<FixedPointSum> sums = lane_sums<8>(values, scale, LaneSum<8>::kMostCells);
    for (const FixedPointSum& s : sums) {
      ASSERT_TRUE(s.valid());
      ASSERT_TRUE(s.total() == rounded(x, scale.unit_exponent()) * LaneSum<8>::kMostCells);
    }
  }
}

TEST(FixedPointSum, CatchesWhatDoesNotFit) {
  const FixedPointScale scale(0);
  for (const double bad :
       {1.0, 1.5, 31.0, 32.0, 1e300, -1.001, -31.0, -33.0, -66.0, -1e300, kInf, -kInf, kNan, -kNan}) {
    SCOPED_TRACE(bad);
    std::vector<double> values(800, 0.25);
    values[345] = bad;
    const std::vector<FixedPointSum> sums = lane_sums<8>(values, scale, 10);
    for (std::size_t lane = 0; lane < 8; ++lane) EXPECT_EQ(sums[lane].valid(), lane != 345 % 8);
    EXPECT_TRUE(std::isnan(sums[1].to_double()));
    EXPECT_EQ(sums[1].to_hex(), "out-of-range");
    EXPECT_EQ(sums[0].to_double(), 25.0);
    FixedPointSum all = sums[0];
    all.merge(sums[1]);
    EXPECT_FALSE(all.valid());
  }
}

TEST(FixedPointSum, TailLanesAndTextAndScales) {
  std::vector<FixedPointSum> sums(5, FixedPointSum(FixedPointScale(4)));
  LaneSum<8> partial(FixedPointScale(4));
  const std::vector<double> values{1, -2, 3, 0.1, -0.0, 7, 7, 7};
  partial.accumulate(values.data());
  partial.flush_to(sums.data(), 5);
  EXPECT_EQ(partial.count(), 0);
  for (std::size_t i = 0; i < 5; ++i) {
    ExactSum same;
    same.add(values[i]);
    EXPECT_EQ(sums[i].to_double(), values[i]);
    EXPECT_EQ(sums[i].to_hex(), same.to_hex());  // one text for one value
  }
  FixedPointSum other{FixedPointScale(5)};
  EXPECT_THROW(other.merge(sums[0]), RunError);
  EXPECT_THROW(FixedPointScale(-901), RunError);
  EXPECT_THROW(FixedPointScale(1019), RunError);
}

}  // namespace
}  // namespace amrbench::support
