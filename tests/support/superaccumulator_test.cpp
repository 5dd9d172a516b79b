// support/superaccumulator.hpp against exact rational arithmetic.
#include "support/superaccumulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace amrbench::support {
namespace {

using boost::multiprecision::cpp_int;

/// x as an integer in units of 2^-1074.
cpp_int exact(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);
  cpp_int value = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  const int shift = exponent - 53 + 1074;
  return shift >= 0 ? cpp_int(value << shift) : cpp_int(value >> -shift);  // a subnormal has low zero bits: exact
}

cpp_int exact_sum(const std::vector<double>& values) {
  cpp_int sum = 0;
  for (const double x : values) sum += exact(x);
  return sum;
}

/// Is `result` the double nearest to value * 2^-1074? Judged by distances, not by the way the result was made.
void expect_nearest(const cpp_int& value, double result) {
  ASSERT_TRUE(std::isfinite(result));
  const cpp_int error = abs(value - exact(result));
  const double above = std::nextafter(result, std::numeric_limits<double>::infinity());
  const double below = std::nextafter(result, -std::numeric_limits<double>::infinity());
  for (const double other : {above, below}) {
    if (!std::isfinite(other)) continue;
    const cpp_int other_error = abs(value - exact(other));
    ASSERT_LE(error, other_error) << result;
    if (error == other_error && error != 0) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(result) & 1U, 0U) << "ties go to even";
    }
  }
}

/// Doubles with exponents spread over [low, high], signs mixed, subnormals included when low < -1022.
std::vector<double> random_values(std::mt19937_64& random, std::size_t n, int low, int high) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) {
    const auto mantissa = static_cast<double>(random() >> 11);
    const int exponent = low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
    const double x = std::ldexp(mantissa, exponent - 53);
    values.push_back((random() & 1U) != 0 ? x : -x);
  }
  return values;
}

ExactSum sum_of(const std::vector<double>& values) {
  ExactSum sum;
  sum.add(std::span<const double>(values));
  return sum;
}

struct Range {
  int low;
  int high;
};
constexpr Range kRanges[] = {{-1074, 1015}, {-1080, -1020}, {900, 1015}, {-3, 3}, {-40, 40}, {0, 0}};

TEST(ExactSum, MatchesRationalArithmetic) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (const Range range : kRanges) {
      const std::vector<double> values = random_values(random, 1 + random() % 5000, range.low, range.high);
      expect_nearest(exact_sum(values), sum_of(values).to_double());
    }
  }
}

TEST(ExactSum, SmallCasesRoundToNearestEven) {
  // Two or three values around a tie: the difference shows only in the last bit.
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const double x = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 200) - 100);
    const double half_ulp = (std::nextafter(x, 1e300) - x) / 2;
    const double tiny = half_ulp * std::ldexp(1.0, -60);
    for (const double third : {0.0, tiny, -tiny}) {
      const std::vector<double> values{x, half_ulp, third};
      expect_nearest(exact_sum(values), sum_of(values).to_double());
    }
  }
}

TEST(ExactSum, OrderAndPartitionDoNotMatter) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<double> values = random_values(random, 10'000, -1074, 1000);
    const ExactSum reference = sum_of(values);
    std::shuffle(values.begin(), values.end(), random);
    ASSERT_EQ(sum_of(values), reference);
    std::vector<ExactSum> parts(1 + random() % 7);
    for (const double x : values) parts[random() % parts.size()].add(x);
    ExactSum merged;
    for (const ExactSum& part : parts) merged.merge(part);
    ASSERT_EQ(merged, reference);
    ASSERT_EQ(merged.to_hex(), reference.to_hex());
    merged.add(5e-324);  // the smallest difference there is
    ASSERT_FALSE(merged == reference);
    ASSERT_NE(merged.to_hex(), reference.to_hex());
  }
}

TEST(ExactSum, CancelsToZero) {
  std::mt19937_64 random(7);
  std::vector<double> values = random_values(random, 5000, -1074, 1015);
  for (std::size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  std::shuffle(values.begin(), values.end(), random);
  const ExactSum sum = sum_of(values);
  EXPECT_EQ(sum.to_double(), 0.0);
  EXPECT_FALSE(std::signbit(sum.to_double()));
  EXPECT_EQ(sum.to_hex(), "0x0p+0");
  EXPECT_EQ(sum, ExactSum());
}

TEST(ExactSum, CarriesSurviveManyEqualValues) {
  // All ones in the mantissa, always into the same limbs, past the point where carries must move on.
  for (const double x : {0x1.fffffffffffffp+0, -0x1.fffffffffffffp+1023, 0x1.fffffffffffffp-1000, 5e-324}) {
    ExactSum sum;
    const int n = 100'000;
    for (int i = 0; i < n; ++i) sum.add(x);
    const cpp_int expected = exact(x) * n;
    ExactSum back = sum;
    for (int i = 0; i < n; ++i) back.add(-x);
    EXPECT_EQ(back, ExactSum());
    if (std::abs(x) < 1e300) {
      expect_nearest(expected, sum.to_double());
    } else {
      EXPECT_EQ(sum.to_double(), -std::numeric_limits<double>::infinity());  // overflow shows at the end only
    }
  }
}

TEST(ExactSum, CountsWhatIsNotFinite) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  ExactSum sum;
  sum.add(1.0);
  sum.add(kInf);
  EXPECT_EQ(sum.to_double(), kInf);
  EXPECT_EQ(sum.to_hex(), "inf");
  EXPECT_EQ(sum.inf_count(), 1);
  ExactSum negative;
  negative.add(-kInf);
  EXPECT_EQ(negative.to_double(), -kInf);
  EXPECT_EQ(negative.to_hex(), "-inf");
  sum.merge(negative);
  EXPECT_TRUE(std::isnan(sum.to_double()));
  ExactSum nan;
  nan.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(nan.to_double()));
  EXPECT_EQ(nan.to_hex(), "nan");
  EXPECT_EQ(nan.nan_count(), 1);
  EXPECT_FALSE(nan == ExactSum());
}

TEST(ExactSum, PrintsTheValue) {
  EXPECT_EQ(sum_of({1.0}).to_hex(), "0x1p+0");
  EXPECT_EQ(sum_of({-6.0}).to_hex(), "-0x3p+1");
  EXPECT_EQ(sum_of({0.1}).to_hex(), "0xccccccccccccdp-55");
  EXPECT_EQ(sum_of({-5e-324}).to_hex(), "-0x1p-1074");
  EXPECT_EQ(sum_of({0x1p1023, 0x1p1023}).to_hex(), "0x1p+1024");
  EXPECT_EQ(sum_of({0x1p100, 1.0}).to_hex(), "0x10000000000000000000000001p+0");
}

}  // namespace
}  // namespace amrbench::support
