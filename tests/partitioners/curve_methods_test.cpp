#include "partitioners/curve_methods.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "partitioners/slices.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "tests/partitioners/grid_cut.hpp"
#include "tests/partitioners/point_sets.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::partitioners {
namespace {

/// Slices by the definition, one point after another.
std::vector<std::int32_t> slice_reference(std::span<const std::uint32_t> order, std::span<const std::uint64_t> weights,
                                          int parts) {
  Mass total = 0, before = 0;
  for (const auto w : weights) total += w;
  const bool counted = total == 0;
  if (counted) total = static_cast<Mass>(order.size());
  std::vector<std::int32_t> part(order.size());
  for (const auto id : order) {
    const Mass w = counted ? 1 : static_cast<Mass>(weights[id]);
    part[id] = static_cast<std::int32_t>(std::min<Mass>((2 * before + w) * parts / (2 * total), parts - 1));
    before += w;
  }
  return part;
}

TEST(Slices, FollowTheirDefinitionForAnyThreads) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 rng(seed);
    const std::size_t n = rng() % (seed % 20 == 0 ? 200000 : 500);
    const int parts = static_cast<int>(1 + rng() % 600);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", n " + std::to_string(n) + ", parts " + std::to_string(parts));
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), rng);
    std::vector<double> weights(seed % 3 == 0 ? 0 : n);
    for (auto& w : weights) w = seed % 3 == 1 ? 0.0 : std::exponential_distribution<double>(1)(rng);
    const auto fixed = fixed_point_weights(weights);
    const auto expected = slice_reference(order, fixed, parts);
    for (const int threads : {1, 2, 3, 4}) {
      ASSERT_EQ(expected, (slice_order<std::uint32_t>(order, fixed, parts, threads))) << threads << " threads";
    }
    std::vector<std::uint64_t> load(static_cast<std::size_t>(parts));
    for (std::size_t i = 0; i < n; ++i) load[static_cast<std::size_t>(expected[i])] += fixed.empty() ? 1 : fixed[i];
    const auto sum = std::accumulate(load.begin(), load.end(), std::uint64_t{0});
    const std::uint64_t heaviest = fixed.empty()             ? 1
                                   : fixed.empty() || n == 0 ? 0
                                                             : *std::max_element(fixed.begin(), fixed.end());
    for (const auto l : load) ASSERT_LE(l, sum / static_cast<std::uint64_t>(parts) + heaviest + 1);
    if (fixed.empty() || sum == 0) {
      std::vector<std::size_t> count(static_cast<std::size_t>(parts));
      for (const auto p : expected) ++count[static_cast<std::size_t>(p)];
      const auto [least, most] = std::minmax_element(count.begin(), count.end());
      ASSERT_LE(*most - *least, 1U);
    }
  }
}

std::vector<std::unique_ptr<Partitioner>> all_methods() {
  std::vector<std::unique_ptr<Partitioner>> methods;
  for (const TreeCurve curve : {TreeCurve::morton, TreeCurve::hilbert, TreeCurve::gensfc}) {
    methods.push_back(make_curve_method(curve));
    methods.push_back(make_parts_tree_method(curve));
  }
  return methods;
}

TEST(CurveMethods, GiveEveryPointAPartOnAnyThreads) {
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(40, 12)); seed <= last; ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[rng() % std::size(kKinds)];
    const int dim = static_cast<int>(2 + rng() % 2);
    const std::size_t n = rng() % 3000;
    const auto x = make_points<double>(kind, n, dim, rng());
    std::vector<double> weights(seed % 2 == 0 ? 0 : n);
    for (auto& w : weights) w = static_cast<double>(rng() % 5);
    PartitionOptions options;
    options.parts = static_cast<int>(1 + rng() % 200);
    options.bucket = 1 + rng() % 4;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", n " + std::to_string(n) + ", parts " +
                 std::to_string(options.parts));
    for (const auto& method : all_methods()) {
      EXPECT_FALSE(method->needs_graph());
      options.threads = 1;
      const auto one = method->partition({{x, dim}, weights, nullptr}, options);
      ASSERT_EQ(one.part.size(), n);
      for (const auto p : one.part) ASSERT_TRUE(p >= 0 && p < options.parts);
      auto sorted = one.order;
      std::sort(sorted.begin(), sorted.end());
      ASSERT_EQ(sorted.size(), n);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
      // Parts are stretches of the order, ascending.
      for (std::size_t i = 1; i < n; ++i) ASSERT_LE(one.part[one.order[i - 1]], one.part[one.order[i]]);
      options.order = false;
      for (const int threads : {1, 3}) {
        options.threads = threads;
        ASSERT_EQ(one.part, method->partition({{x, dim}, weights, nullptr}, options).part) << "parts alone";
      }
      options.order = true;
      const auto three = method->partition({{x, dim}, weights, nullptr}, options);
      ASSERT_EQ(one.part, three.part);
      ASSERT_EQ(one.order, three.order);
    }
  }
}

TEST(CurveMethods, RefuseBadInput) {
  const auto x = make_points<double>(Kind::uniform, 10, 2, 1);
  std::vector<double> weights(10, 1.0);
  for (const auto& method : all_methods()) {
    EXPECT_THROW(method->partition({{x, 2}, {}, nullptr}, {.parts = 0}), support::InputError);
    EXPECT_THROW(method->partition({{x, 2}, std::span(weights).first(9), nullptr}, {.parts = 2}), support::InputError);
    weights[4] = -1;
    EXPECT_THROW(method->partition({{x, 2}, weights, nullptr}, {.parts = 2}), support::InputError);
    weights[4] = 1;
    auto bad = x;
    bad[5] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(method->partition({{bad, 2}, {}, nullptr}, {.parts = 2}), support::InputError);
  }
  EXPECT_THROW(make_curve_method(TreeCurve::gensfc)->partition({{x, 5}, {}, nullptr}, {.parts = 2}),
               support::InputError);
  EXPECT_THROW(make_curve_method(TreeCurve::gensfc)->partition({{x, 2}, {}, nullptr}, {.parts = 2, .splitter = "no"}),
               support::InputError);
}

struct Row {
  int parts, cut, degree;
};

/// Cuts and degrees that document 001 reports for its curve, which this one must keep up with (tables 3.3 and 4.3).
TEST(CurveMethods, GenSfcCutsNoMoreThanTheDocuments) {
  const Grid plane{768, 1152, 1};
  const auto x = grid_points(plane);
  for (const Row& row : {Row{256, 716, 8}, Row{512, 572, 9}, Row{1024, 356, 8}, Row{2048, 284, 9}, Row{4096, 176, 8},
                         Row{8192, 140, 9}}) {
    if (tests::fewer_cases() && row.parts > 256) break;
    const auto result = make_curve_method(TreeCurve::gensfc)->partition({{x, 2}, {}, nullptr}, {.parts = row.parts});
    const auto found = cut_and_degree(plane, result.part, row.parts, false);
    EXPECT_LE(found.cut, row.cut) << row.parts;
    EXPECT_LE(found.degree, row.degree) << row.parts;
  }
  const Grid cube{100, 100, 100};
  const auto y = grid_points(cube);
  for (const Row& row :
       {Row{512, 1218, 12}, Row{1000, 828, 15}, Row{2000, 536, 15}, Row{5000, 310, 16}, Row{16384, 150, 16}}) {
    if (tests::fewer_cases() && row.parts > 512) break;
    const auto result = make_curve_method(TreeCurve::gensfc)->partition({{y, 3}, {}, nullptr}, {.parts = row.parts});
    const auto found = cut_and_degree(cube, result.part, row.parts, true);
    EXPECT_LE(found.cut, row.cut) << row.parts;
    EXPECT_LE(found.degree, row.degree) << row.parts;
  }
}

/// The parts-aware tree against METIS as document 001 reports it (table 4.1), at perfect balance.
TEST(CurveMethods, PartsTreeCutsLessThanGraphPartitioning) {
  const Grid cube{100, 100, 100};
  const auto x = grid_points(cube);
  for (const Row& row :
       {Row{512, 1286, 20}, Row{1000, 842, 20}, Row{2000, 554, 24}, Row{5000, 302, 22}, Row{6000, 262, 23}}) {
    if (tests::fewer_cases() && row.parts > 512) break;
    const auto result =
        make_parts_tree_method(TreeCurve::gensfc)->partition({{x, 3}, {}, nullptr}, {.parts = row.parts});
    const auto found = cut_and_degree(cube, result.part, row.parts, true);
    EXPECT_LE(found.cut, row.cut) << row.parts;
    EXPECT_LE(found.degree, row.degree) << row.parts;
    std::vector<int> load(static_cast<std::size_t>(row.parts));
    for (const auto p : result.part) ++load[static_cast<std::size_t>(p)];
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, 1);
  }
}

}  // namespace
}  // namespace amrbench::partitioners
