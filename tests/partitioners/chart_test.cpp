// Two hemispheres in the plane, and the curve that runs over both.
#include "partitioners/chart.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "partitioners/inputs/point_input.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/traversal.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

std::vector<double> random_sphere(std::size_t n, std::uint64_t seed, double radius) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) {
    double p[3], square = 0;
    for (double& c : p) {
      c = normal(rng);
      square += c * c;
    }
    for (const double c : p) x.push_back(radius * c / std::sqrt(square));
  }
  return x;
}

double distance(const double* a, const double* b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(Hemispheres, RoundTrip) {
  const std::uint64_t seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<double> x = random_sphere(2000, seed, 3);
  x.insert(x.end(), {0, 0, 3, 0, 0, -3, 3, 0, 0, 0, -3, 0});  // poles, and the equator, which is of the north
  const PointView<double> points{x, 3};
  const auto half = hemispheres(points, {}, 2);
  ASSERT_EQ(half[0].point.size() + half[1].point.size(), points.size());
  std::vector<int> seen(points.size());
  for (std::size_t h = 0; h < 2; ++h) {
    EXPECT_TRUE(std::is_sorted(half[h].point.begin(), half[h].point.end()));
    for (std::size_t k = 0; k < half[h].point.size(); ++k) {
      const std::uint32_t i = half[h].point[k];
      ++seen[i];
      EXPECT_GE(points[i][2] * (h == 0 ? 1 : -1), -0.2);  // near the equator: equally many
      // Equations 3.1 to 3.6 backwards.
      const double u = half[h].flat[2 * k], v = half[h].flat[2 * k + 1], rho = std::hypot(u, v);
      EXPECT_LE(rho, std::numbers::pi / 2 + 0.1);
      const double longitude = h == 0 ? std::atan2(v, u) : -std::atan2(v, u);
      const double back[3] = {3 * std::sin(rho) * std::cos(longitude), 3 * std::sin(rho) * std::sin(longitude),
                              (h == 0 ? 3 : -3) * std::cos(rho)};
      EXPECT_LT(distance(back, points[i]), 1e-14);
    }
  }
  EXPECT_EQ(half[0].point.size(), half[1].point.size());
  EXPECT_EQ(seen, std::vector<int>(points.size(), 1));
}

TEST(Hemispheres, RefuseWhatIsNoSphere) {
  const auto refusal = [](std::vector<double> x, int dim) -> std::string {
    try {
      hemispheres({x, dim}, {}, 2);
    } catch (const support::InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({1, 0, 0, 0, 2, 0}, 3).find("point 1 is 2 from the origin"), std::string::npos);
  EXPECT_NE(refusal({0, 0, 0}, 3).find("point 0"), std::string::npos);
  EXPECT_NE(refusal({1, 0}, 2).find("2 dimensions"), std::string::npos);
  EXPECT_EQ(refusal({}, 3), "");
  EXPECT_EQ(refusal({0, 0, 5, 0, 5, 0}, 3), "");
  EXPECT_THROW(chart_from_name("mercator", "--chart"), support::InputError);
}

TEST(ConformalChart, KeepsAngles) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr double kStep = 1e-5;
  // Threes: a point, and a step from it along two tangents at a right angle.
  std::vector<double> x;
  const std::vector<double> centres = random_sphere(400, seed, 1);
  for (std::size_t i = 0; i < centres.size(); i += 3) {
    const double* p = &centres[i];
    const double q[3] = {p[1], p[2], p[0]};  // as good as random
    double u[3] = {p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]};
    const double length = std::hypot(u[0], u[1], u[2]);
    for (double& c : u) c /= length;
    const double v[3] = {p[1] * u[2] - p[2] * u[1], p[2] * u[0] - p[0] * u[2], p[0] * u[1] - p[1] * u[0]};
    x.insert(x.end(), p, p + 3);
    for (const double* t : {static_cast<const double*>(u), v})
      for (int d = 0; d < 3; ++d) x.push_back(p[d] + kStep * t[d]);
  }
  const auto half = hemispheres({x, 3}, {}, 2, 0, Chart::conformal);
  std::vector<std::array<double, 2>> flat(x.size() / 3);
  std::vector<int> side(flat.size());
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t k = 0; k < half[h].point.size(); ++k) {
      flat[half[h].point[k]] = {half[h].flat[2 * k], half[h].flat[2 * k + 1]};
      side[half[h].point[k]] = static_cast<int>(h);
    }
  }
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < flat.size(); i += 3) {
    if (side[i] != side[i + 1] || side[i] != side[i + 2]) continue;
    ++looked_at;
    const double a[2] = {flat[i + 1][0] - flat[i][0], flat[i + 1][1] - flat[i][1]};
    const double b[2] = {flat[i + 2][0] - flat[i][0], flat[i + 2][1] - flat[i][1]};
    const double length = std::hypot(a[0], a[1]);
    EXPECT_NEAR(std::hypot(b[0], b[1]) / length, 1, 1e-3);
    EXPECT_NEAR((a[0] * b[0] + a[1] * b[1]) / (length * length), 0, 1e-3);
  }
  EXPECT_GT(looked_at, 300U);
}

TEST(ConformalChart, PoleHalvesTheWeight) {
  // All weight at y > 0 and, mostly, z > 0; x halves it.
  std::vector<double> x = random_sphere(3000, 5, 2);
  std::vector<std::uint64_t> weights;
  for (std::size_t i = 0; i < x.size(); i += 3) weights.push_back(x[i + 1] < 0 ? 0 : x[i + 2] > 0 ? 10 : 1);
  const PointView<double> points{x, 3};
  const auto half = hemispheres(points, weights, 64, 0, Chart::conformal);
  EXPECT_NEAR(half[0].parts, 32, 2);  // points are random
  for (std::size_t h = 0; h < 2; ++h)
    for (const std::uint32_t i : half[h].point) EXPECT_GT(points[i][0] * (h == 0 ? 1 : -1), -0.3);
  EXPECT_GT(hemispheres(points, weights, 64)[0].parts, 50);
}

TEST(CurveEntrance, AnyCornerGivesTheReflectedCurve) {
  // A grid looks the same from all four corners: entering elsewhere mirrors the curve.
  const PointInput grid = load_input("grid:16x16");
  const PointView<double> points = grid.problem().points;
  const auto along = [&](std::uint8_t corner, std::uint8_t travel, bool whole_tree) {
    KdTreeOptions options;
    options.bucket = 1;
    options.rule = split_rule_from_name(whole_tree ? "median" : "midpoint");
    options.entrance = {corner, travel};
    std::vector<std::uint32_t> order(points.size());
    curve_order<std::uint32_t>(points, {}, options, TreeCurve::gensfc, std::span(order));
    std::vector<std::int32_t> part(points.size());
    curve_slices<std::uint32_t>(points, {}, options, TreeCurve::gensfc, 7, std::span(part));
    for (std::size_t k = 0; k < order.size(); ++k)
      EXPECT_EQ(part[order[k]], static_cast<std::int32_t>((2 * k + 1) * 7 / (2 * order.size())));
    return order;
  };
  for (const bool whole_tree : {false, true}) {
    for (std::uint8_t travel = 0; travel < 2; ++travel) {
      const auto first = along(0, travel, whole_tree);
      for (std::uint8_t corner = 0; corner < 4; ++corner) {
        const auto order = along(corner, travel, whole_tree);
        EXPECT_EQ((curve_jumps<double, std::uint32_t>(points, order, 1.0)), 0U);
        for (std::size_t k = 0; k < order.size(); ++k) {
          const auto mirrored = [&](std::size_t axis) {
            const double at = points[first[k]][axis];
            return (corner >> axis & 1) != 0 ? 16 - at : at;
          };
          ASSERT_EQ(points[order[k]][0], mirrored(0));
          ASSERT_EQ(points[order[k]][1], mirrored(1));
        }
      }
    }
  }
}

TEST(ChartedCurve, GoesOnInTheOtherHemisphere) {
  constexpr int kParts = 4096;
  for (const char* text : {"sphere:5", "sphere:6", "sphere-adaptive:5"}) {
    SCOPED_TRACE(text);
    const PointInput input = load_input(text);
    const PointView<double> points = input.problem().points;
    for (const TreeCurve curve : {TreeCurve::hilbert, TreeCurve::gensfc}) {
      KdTreeOptions options;
      options.bucket = 1;
      std::vector<std::uint32_t> order(points.size());
      charted_order(points, {}, options, curve, kParts, order);
      std::vector<std::uint32_t> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
      const auto half = hemispheres(points, {}, kParts);
      const auto south = order.begin() + static_cast<std::ptrdiff_t>(half[0].point.size());
      sorted.assign(order.begin(), south);
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(sorted, half[0].point);
      // The discs' ends meet at longitude -45 degrees: in the same eighth of the equator.
      for (const std::uint32_t end : {*(south - 1), *south}) {
        EXPECT_LT(std::abs(std::atan2(points[end][1], points[end][0]) + std::numbers::pi / 4), std::numbers::pi / 8);
        EXPECT_LT(std::abs(points[end][2]), 0.2);
      }
    }
  }
}

TEST(ChartedCurve, WeightsGoWithTheirPoints) {
  const PointInput input = load_input("sphere:3");
  const PointView<double> points = input.problem().points;
  auto partitioner = make_partitioner("gensfc");
  std::vector<double> weights(points.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = points[i][2] > 0.5 ? 5 : 1;
  for (const char* splitter : {"midpoint", "median", "selection"}) {
    PartitionOptions options;
    options.parts = 9;
    options.splitter = splitter;
    options.chart = Chart::hemispheres;
    EXPECT_FALSE(partitioner->runs_on_ranks(options));
    Problem problem = input.problem();
    problem.weights = weights;
    const PartitionResult result = partitioner->partition(problem, options);
    std::vector<double> load(9);
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      load[static_cast<std::size_t>(result.part[i])] += weights[i];
      total += weights[i];
    }
    for (const double l : load) EXPECT_LE(l, total / 9 + 5);
    for (const int threads : {1, 3}) {
      options.threads = threads;
      EXPECT_EQ(partitioner->partition(problem, options).part, result.part);
    }
  }
}

TEST(ChartedParts, AreEvenAndNumberedNorthFirst) {
  const PointInput input = load_input("sphere:4");
  const PointView<double> points = input.problem().points;
  struct Case {
    const char* name;
    Chart chart;
    const char* splitter;
  };
  for (const auto& [name, chart, splitter] :
       {Case{"kd_parts", Chart::hemispheres, "midpoint"}, Case{"kd_parts_hilbert", Chart::hemispheres, "midpoint"},
        Case{"kd_parts_morton", Chart::conformal, "midpoint"}, Case{"gensfc", Chart::hemispheres, "midpoint"},
        Case{"gensfc", Chart::conformal, "parts"}, Case{"hilbert", Chart::hemispheres, "compact_parts"},
        Case{"kd_compact", Chart::conformal, "midpoint"}}) {
    auto partitioner = make_partitioner(name);
    for (const int parts : {1, 2, 3, 16, 37, 300}) {
      SCOPED_TRACE(fmt::format("{} {} {} {}", name, chart_name(chart), splitter, parts));
      PartitionOptions options;
      options.parts = parts;
      options.chart = chart;
      options.splitter = splitter;
      const PartitionResult result = partitioner->partition(input.problem(), options);
      std::vector<std::size_t> load(static_cast<std::size_t>(parts));
      std::vector<double> height(static_cast<std::size_t>(parts));
      for (std::size_t i = 0; i < points.size(); ++i) {
        const auto p = static_cast<std::size_t>(result.part[i]);
        ++load[p];
        height[p] += points[i][2];
      }
      const auto [least, most] = std::minmax_element(load.begin(), load.end());
      EXPECT_LE(*most - *least, 2U);  // one by rounding in a hemisphere, one between them
      if (parts >= 16) {
        const auto south = std::find_if(height.begin(), height.end(), [](double z) { return z < 0; });
        EXPECT_TRUE(std::all_of(south, height.end(), [](double z) { return z < 0; }));
        EXPECT_NEAR(static_cast<double>(south - height.begin()), parts / 2.0, 1);
      }
      std::vector<std::int32_t> along;
      for (const std::uint32_t i : result.order) along.push_back(result.part[i]);
      EXPECT_TRUE(std::is_sorted(along.begin(), along.end()));
      std::vector<std::uint32_t> sorted = result.order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
