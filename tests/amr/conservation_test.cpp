// The conservation check must be able to fail: on drift, on slow drift, on values that are no numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "amr/verify.hpp"

namespace amrbench::amr {
namespace {

constexpr double kTolerance = 1e-8;

/// A check of `variables` variables whose first total is 1000 each.
ConservationCheck check_of(int variables, int conserved) {
  std::vector<support::FieldStats> first(variables);
  for (auto& stats : first) {
    for (int cell = 0; cell < 1000; ++cell) stats.add(1.0, cell);
  }
  return {first, conserved, kTolerance};
}

TEST(ConservationCheck, AcceptsTotalsWithinTheTolerance) {
  ConservationCheck check = check_of(2, 2);
  EXPECT_TRUE(check.check({1000.0, 1000.0 * (1.0 + 0.9 * kTolerance)}, 1, 1));
  EXPECT_FALSE(check.failure().has_value());
  EXPECT_EQ(check.checks(), 1);
  EXPECT_NEAR(check.worst_drift(), 0.9 * kTolerance, 1e-13);
}

TEST(ConservationCheck, RefusesADriftBeyondIt) {
  ConservationCheck check = check_of(2, 2);
  EXPECT_FALSE(check.check({1000.0, 1000.0 * (1.0 - 1.1 * kTolerance)}, 3, 7));
  ASSERT_TRUE(check.failure().has_value());
  EXPECT_NE(check.failure()->find("variable 1"), std::string::npos) << *check.failure();
  EXPECT_NE(check.failure()->find("step 3"), std::string::npos) << *check.failure();
}

TEST(ConservationCheck, MeasuresAgainstTheFirstSumSoThatSlowDriftAddsUp) {
  ConservationCheck check = check_of(1, 1);
  double total = 1000.0;
  int passed = 0;
  while (passed < 100 && check.check({total *= 1.0 + 0.3 * kTolerance}, passed, passed)) ++passed;
  EXPECT_EQ(passed, 3) << "each step is within the tolerance, the fourth leaves it";
}

TEST(ConservationCheck, NotANumberAndInfinityFailEvenWhereNothingIsConserved) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    ConservationCheck conserving = check_of(1, 1);
    EXPECT_FALSE(conserving.check({bad}, 1, 1));
    ConservationCheck other = check_of(1, 0);
    EXPECT_FALSE(other.check({bad}, 1, 1));
    EXPECT_FALSE(other.passed());
  }
}

TEST(ConservationCheck, StaysFailedAndKeepsTheFirstMessage) {
  ConservationCheck check = check_of(1, 1);
  EXPECT_FALSE(check.check({2000.0}, 1, 1));
  const std::string message = *check.failure();
  EXPECT_FALSE(check.check({1000.0}, 2, 2));
  EXPECT_EQ(*check.failure(), message);
}

TEST(ConservationCheck, ScaleTakesEveryValueThatTheFirstTotalsAllow) {
  const ConservationCheck check = check_of(1, 1);
  EXPECT_GE(std::ldexp(1.0, check.scale().exponent()), 1000.0);
}

}  // namespace
}  // namespace amrbench::amr
