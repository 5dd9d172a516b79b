// Reciprocals, quotients and roots of the shallow-water kernels on a GPU: the bits that IEEE 754 has.
#include <gtest/gtest.h>

#include "kernels/water_arithmetic.hpp"
#include "support/cuda_info.hpp"

namespace amrbench::kernels {
namespace {

class WaterArithmetic : public testing::Test {
 protected:
  void SetUp() override {
    if (support::cuda_info().devices.empty()) GTEST_SKIP() << "no GPU here";
  }
  static void expect_none(const checks::WrongResults& wrong) {
    EXPECT_GT(wrong.tried, 0U);
    EXPECT_EQ(wrong.reciprocals, 0U);
    EXPECT_EQ(wrong.quotients, 0U);
    EXPECT_EQ(wrong.roots, 0U);
  }
};

constexpr std::uint64_t kPairs = std::uint64_t{1} << 30;

TEST_F(WaterArithmetic, OfDoublesIsRoundedRight) {
  for (const std::uint64_t seed : {1U, 20261124U}) {
    SCOPED_TRACE(seed);
    expect_none(checks::count_wrong<double>(kPairs, seed));
  }
}

TEST_F(WaterArithmetic, OfFloatsIsRoundedRight) {
  expect_none(checks::count_wrong_floats());
  for (const std::uint64_t seed : {1U, 20261124U}) {
    SCOPED_TRACE(seed);
    expect_none(checks::count_wrong<float>(kPairs, seed));
  }
}

}  // namespace
}  // namespace amrbench::kernels
