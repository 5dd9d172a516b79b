// Morton keys: against strings of bits, compared and sorted by the standard library.
#include "partitioners/keys/morton_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "partitioners/slices.hpp"
#include "support/error.hpp"
#include "tests/partitioners/point_sets.hpp"

namespace amrbench::partitioners {
namespace {

/// The longest side of the points' box, and its low corner.
struct Bounds {
  std::vector<double> low;
  double side = 0;
};
Bounds bounds_of(const std::vector<double>& x, int dim) {
  Bounds bounds;
  for (int d = 0; d < dim; ++d) {
    double low = x[static_cast<std::size_t>(d)], high = low;
    for (std::size_t i = static_cast<std::size_t>(d); i < x.size(); i += static_cast<std::size_t>(dim)) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    bounds.low.push_back(low);
    bounds.side = std::max(bounds.side, 0.5 * high - 0.5 * low);
  }
  return bounds;
}

/// The bits of a point's cell, the highest of the last axis first, as digits of a string.
std::string bits_of(const Bounds& bounds, const double* x, int dim) {
  const int bits = dim == 1 ? 52 : 64 / dim;
  std::vector<std::string> of_axis;
  for (int d = 0; d < dim; ++d) {
    const double share =
        bounds.side > 0 ? (0.5 * x[d] - 0.5 * bounds.low[static_cast<std::size_t>(d)]) / bounds.side : 0.0;
    const double cells = std::pow(2.0, bits);
    auto cell = static_cast<std::uint64_t>(std::min(std::floor(share * cells), cells - 1));
    std::string digits;
    for (int b = 0; b < bits; ++b, cell /= 2) digits.insert(digits.begin(), cell % 2 != 0 ? '1' : '0');
    of_axis.push_back(digits);
  }
  std::string all;
  for (std::size_t b = 0; b < static_cast<std::size_t>(bits); ++b)
    for (std::size_t d = of_axis.size(); d-- > 0;) all += of_axis[d][b];
  return all;
}

TEST(MortonKeys, SortAsTheInterleavedBitsOfCells) {
  std::mt19937_64 random(2718);
  for (int number = 0; number < 120; ++number) {
    const int dim = 1 + static_cast<int>(random() % 16);
    const std::size_t n = 1 + random() % 400;
    const auto kind = static_cast<Kind>(random() % 6);
    SCOPED_TRACE("seed 2718, case " + std::to_string(number) + ", " + kind_name(kind) + ", dim " + std::to_string(dim) +
                 ", n " + std::to_string(n));
    const std::vector<double> x = make_points<double>(kind, n, dim, random());
    std::vector<double> weights(random() % 2 == 0 ? 0 : n);
    for (double& w : weights) w = static_cast<double>(random() % 7);
    const Bounds bounds = bounds_of(x, dim);
    std::vector<std::string> bits;
    for (std::size_t i = 0; i < n; ++i) bits.push_back(bits_of(bounds, &x[i * static_cast<std::size_t>(dim)], dim));
    std::vector<std::uint32_t> expected(n);
    std::iota(expected.begin(), expected.end(), 0U);
    std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) { return bits[a] < bits[b]; });
    const int parts = 1 + static_cast<int>(random() % 20);
    for (const int threads : {1, 3}) {
      const PartitionResult result =
          make_morton_keys()->partition({{x, dim}, weights}, {.parts = parts, .threads = threads});
      ASSERT_EQ(result.order, expected);
      // Whole weights: a point's slice is that of the middle of its weight.
      const double total =
          weights.empty() ? static_cast<double>(n) : std::accumulate(weights.begin(), weights.end(), 0.0);
      double before = 0;
      for (const std::uint32_t i : result.order) {
        const double w = weights.empty() || total == 0 ? 1.0 : weights[i];
        const double of_all = total == 0 ? static_cast<double>(n) : total;
        const auto part = static_cast<std::int32_t>(std::floor((2 * before + w) * parts / (2 * of_all)));
        ASSERT_EQ(result.part[i], std::min(part, parts - 1)) << "point " << i;
        before += w;
      }
    }
  }
}

TEST(MortonKeys, CellsOfAGridOfPowersOfTwoComeQuarterByQuarter) {
  // 8 x 8 points: the parts of 4 are the quarters, and of 16 their quarters.
  std::vector<double> x;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 8; ++i) x.insert(x.end(), {i + 0.5, j + 0.5});
  const auto four = make_morton_keys()->partition({{x, 2}, {}}, {.parts = 4}).part;
  const auto sixteen = make_morton_keys()->partition({{x, 2}, {}}, {.parts = 16}).part;
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 8; ++i) {
      const auto at = std::size_t{8} * static_cast<std::size_t>(j) + static_cast<std::size_t>(i);
      EXPECT_EQ(four[at], 2 * (j / 4) + i / 4);
      EXPECT_EQ(sixteen[at], 4 * four[at] + 2 * (j / 2 % 2) + i / 2 % 2);
    }
}

TEST(MortonKeys, LargestAndEqualCoordinatesHaveAPlace) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<double> extreme{-kMost, 0.0, kMost, 0.0, 0.0, kMost};
  EXPECT_EQ(make_morton_keys()->partition({{extreme, 2}, {}}, {.parts = 3}).order,
            (std::vector<std::uint32_t>{0, 1, 2}));
  const std::vector<double> same(30, 4.25);
  std::vector<std::uint32_t> by_number(10);
  std::iota(by_number.begin(), by_number.end(), 0U);
  EXPECT_EQ(make_morton_keys()->partition({{same, 3}, {}}, {.parts = 3}).order, by_number);
  EXPECT_TRUE(make_morton_keys()->partition({{std::span<const double>{}, 3}, {}}, {.parts = 3}).part.empty());
}

TEST(MortonKeys, RefusesWhatItCannotOrder) {
  const std::vector<double> x{0, 1, std::numeric_limits<double>::quiet_NaN(), 3}, fine(34, 1.0);
  const auto refusal = [&](PointView<double> points) -> std::string {
    try {
      (void)make_morton_keys()->partition({points, {}}, {.parts = 2});
    } catch (const support::InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({x, 2}).find("point 1 has coordinate 0 = nan"), std::string::npos) << refusal({x, 2});
  EXPECT_NE(refusal({fine, 17}).find("morton_keys takes 1 to 16"), std::string::npos) << refusal({fine, 17});
}

}  // namespace
}  // namespace amrbench::partitioners
