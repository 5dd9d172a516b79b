// Orthogonal recursive bisection: the document's example, and every method against the sort-based reference.
#include "partitioners/orb/orb.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/orb_partitioner.hpp"
#include "partitioners/orb/round_tree.hpp"
#include "support/error.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::partitioners {
namespace {

template <class T, int Dim>
OrbResult<T, Dim> run(const std::vector<T>& points, const std::vector<double>& weights, OrbOptions options) {
  OrbResult<T, Dim> result;
  options.points = true;
  orb<T, Dim>({points, Dim}, weights, options, result);
  return result;
}

/// What must hold for any result, by the rules and not by another method.
template <class T, int Dim>
void check_rules(const std::vector<T>& points, const OrbResult<T, Dim>& result, bool weighted) {
  const std::size_t n = points.size() / Dim;
  const OrbTree<T, Dim>& tree = result.tree;
  ASSERT_EQ(tree.cells[1].count, n);
  for (std::size_t i = 1; i < tree.cells.size(); ++i) {
    const OrbCell<T, Dim>& cell = tree.cells[i];
    ASSERT_GE(cell.count, cell.leaves);
    ASSERT_EQ(cell.axis < 0, cell.leaves == 1);
    if (cell.leaves == 1) continue;
    const OrbCell<T, Dim>& left = tree.cells[2 * i];
    ASSERT_EQ(left.leaves + tree.cells[2 * i + 1].leaves, cell.leaves);
    if (!weighted) {
      ASSERT_EQ(left.count, cell.count * left.leaves / cell.leaves);
    }
  }
  std::vector<bool> seen(n, false);
  for (std::uint32_t leaf = 0; leaf < tree.leaves; ++leaf) {
    const OrbCell<T, Dim>& cell = tree.cells[tree.leaf_cell[leaf]];
    ASSERT_EQ(cell.first_leaf, leaf);
    for (std::uint64_t k = cell.begin; k < cell.begin + cell.count; ++k) {
      const std::uint32_t id = result.permutation[k];
      ASSERT_FALSE(seen[id]);
      seen[id] = true;
      ASSERT_EQ(result.labels[id], leaf);
      if (k > cell.begin) {
        ASSERT_LT(result.permutation[k - 1], id);
      }
      for (std::size_t a = 0; a < Dim; ++a) {
        const T x = points[id * Dim + a];
        ASSERT_EQ(result.points[k * Dim + a], x);
        ASSERT_GE(x, cell.box.lower[a]);
        ASSERT_LE(x, cell.box.upper[a]);
      }
    }
  }
}

template <class T, int Dim>
void expect_same(const OrbResult<T, Dim>& a, const OrbResult<T, Dim>& b) {
  ASSERT_EQ(tree_hash(a.tree), tree_hash(b.tree));
  ASSERT_EQ(labels_hash(a.labels.span()), labels_hash(b.labels.span()));
  ASSERT_TRUE(std::equal(a.permutation.begin(), a.permutation.end(), b.permutation.begin(), b.permutation.end()));
}

template <class T, int Dim>
void compare_methods(const std::vector<T>& points, const std::vector<double>& weights, std::uint32_t leaves,
                     double side_tolerance = kOrbSideTolerance) {
  OrbOptions options{.leaves = leaves, .threads = 1, .method = "sort", .side_tolerance = side_tolerance};
  const auto reference = run<T, Dim>(points, weights, options);
  check_rules(points, reference, !weights.empty());
  if (testing::Test::HasFatalFailure()) return;
  for (const std::string_view method : {"bisection", "multiway"})
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(std::string(method) + " threads " + std::to_string(threads));
      options.method = method;
      options.threads = threads;
      const auto result = run<T, Dim>(points, weights, options);
      expect_same(reference, result);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Orb, DocumentExample) {
  const std::vector<double> points{0.4, 0.3, 0.2, 0.6, 0.8, 0.9, 0.6, 0.5, 0.3, 0.8, 0.7, 0.1, 0.9, 0.3};
  const OrbBox<double, 2> domain{{0, 0}, {1, 1}};
  for (const OrbMethod& method : orb_methods()) {
    SCOPED_TRACE(method.name);
    OrbResult<double, 2> result;
    orb<double, 2>({points, 2}, {}, {.leaves = 3, .method = method.name}, result, domain);
    const auto& cells = result.tree.cells;
    ASSERT_EQ(cells.size(), 6U);  // 5 cells, heap indices 1 to 5
    EXPECT_EQ(cells[1].axis, 0);
    EXPECT_DOUBLE_EQ(cells[1].cut, 0.65);
    EXPECT_EQ(cells[2].count, 4U);
    EXPECT_EQ(cells[2].leaves, 2U);
    EXPECT_EQ(cells[3].count, 3U);
    EXPECT_EQ(cells[3].leaves, 1U);
    EXPECT_EQ(cells[2].axis, 1);
    EXPECT_DOUBLE_EQ(cells[2].cut, 0.55);
    EXPECT_EQ(cells[4].count, 2U);
    EXPECT_EQ(cells[5].count, 2U);
    const std::vector<std::uint32_t> labels(result.labels.begin(), result.labels.end());
    EXPECT_EQ(labels, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 2}));
    const std::vector<std::uint32_t> order(result.permutation.begin(), result.permutation.end());
    EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 3, 1, 4, 2, 5, 6}));
  }
}

TEST(Orb, LeafCountsFollowEquationFour) {
  EXPECT_EQ(left_leaves(2), 1U);
  EXPECT_EQ(left_leaves(3), 2U);
  EXPECT_EQ(left_leaves(5), 3U);
  EXPECT_EQ(left_leaves(6), 4U);
  EXPECT_EQ(left_leaves(7), 4U);
  EXPECT_EQ(left_leaves(4096), 2048U);
  for (std::uint32_t d = 2; d < 3000; ++d) {
    const double depth = std::ceil(std::log2(d));
    EXPECT_EQ(left_leaves(d), std::min(d - std::exp2(depth - 2), std::exp2(depth - 1))) << d;
  }
}

enum class Shape { uniform, cluster, plummer, field, lattice, line, coincident, two_values, signed_zeros, wide };
constexpr Shape kShapes[] = {Shape::uniform, Shape::cluster,    Shape::plummer,    Shape::field,        Shape::lattice,
                             Shape::line,    Shape::coincident, Shape::two_values, Shape::signed_zeros, Shape::wide};

template <class T, int Dim>
std::vector<T> points_of(Shape shape, std::size_t n, std::uint64_t seed) {
  std::vector<T> points(n * Dim);
  if (shape <= Shape::field) {
    make_points<T>(static_cast<PointKind>(shape), Dim, seed, 0, points);
    return points;
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto draw = static_cast<T>(random() % 16);
    switch (shape) {
      case Shape::lattice:
        points[i] = draw;
        break;
      case Shape::line:
        points[i] = i % Dim == 0 ? static_cast<T>(random() % 1000) : T(2);
        break;
      case Shape::coincident:
        points[i] = T(-3.5);
        break;
      case Shape::two_values:
        points[i] = draw < 1 ? T(1) : T(0);
        break;
      case Shape::signed_zeros:
        points[i] = draw < 4 ? T(-0.0) : draw < 8 ? T(0.0) : draw - T(10);
        break;
      default:
        points[i] = (draw < 8 ? T(-1) : T(1)) * std::ldexp(T(1), static_cast<int>(random() % 250) - 124);
    }
  }
  return points;
}

enum class Weights { none, random, zero, mostly_zero, one_huge, one_only, spread };
constexpr Weights kWeights[] = {Weights::none,     Weights::random,   Weights::zero,  Weights::mostly_zero,
                                Weights::one_huge, Weights::one_only, Weights::spread};

std::vector<double> weights_of(Weights kind, std::size_t n, std::uint64_t seed) {
  if (kind == Weights::none) return {};
  std::mt19937_64 random(seed);
  std::vector<double> weights(n);
  for (double& w : weights) {
    const double draw = std::generate_canonical<double, 53>(random);
    w = kind == Weights::random                              ? draw
        : kind == Weights::zero || kind == Weights::one_only ? 0
        : kind == Weights::one_huge                          ? 1
                                                             : std::exp(20 * draw);
    if (kind == Weights::mostly_zero) w = draw < 0.99 ? 0 : 1;
  }
  if (kind == Weights::one_huge || kind == Weights::one_only) weights[random() % n] = 1e12;
  return weights;
}

template <class T, int Dim>
void random_cases(std::size_t cases, std::size_t most, std::uint64_t seed) {
  if (tests::fewer_cases()) cases /= 4;
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kPrimes[] = {2, 3, 5, 7, 13, 61, 67, 127, 131, 509, 1021, 4093};
  for (std::size_t c = 0; c < cases; ++c) {
    const std::uint64_t case_seed = random();
    const Shape shape = kShapes[c % std::size(kShapes)];
    const Weights kind = kWeights[random() % std::size(kWeights)];
    const std::size_t n = 1 + static_cast<std::size_t>(std::exp(std::log(most) * (random() % 1001) / 1000.0));
    std::uint32_t leaves = random() % 2 ? kPrimes[random() % std::size(kPrimes)] : 1 + random() % 4096;
    leaves = static_cast<std::uint32_t>(std::min<std::size_t>(leaves, n));
    if (random() % 8 == 0 && n < 3000) leaves = static_cast<std::uint32_t>(n);
    const double tolerance = random() % 3 == 0 ? 0 : kOrbSideTolerance;
    SCOPED_TRACE("case seed " + std::to_string(case_seed) + " shape " + std::to_string(static_cast<int>(shape)) +
                 " weights " + std::to_string(static_cast<int>(kind)) + " n " + std::to_string(n) + " leaves " +
                 std::to_string(leaves) + " tolerance " + std::to_string(tolerance));
    compare_methods<T, Dim>(points_of<T, Dim>(shape, n, case_seed), weights_of(kind, n, case_seed), leaves, tolerance);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Orb, EqualsReferenceFloat3) {
  random_cases<float, 3>(80, 60000, 1);
}
TEST(Orb, EqualsReferenceDouble3) {
  random_cases<double, 3>(60, 40000, 2);
}
TEST(Orb, EqualsReferenceFloat2) {
  random_cases<float, 2>(60, 40000, 3);
}
TEST(Orb, EqualsReferenceDouble2) {
  random_cases<double, 2>(60, 40000, 4);
}

/// Large enough for two rounds with brackets, and for several threads in the first.
TEST(Orb, EqualsReferenceOnEveryShapeAtScale) {
  for (const Shape shape : kShapes) {
    if (tests::fewer_cases() && shape != Shape::cluster) continue;
    SCOPED_TRACE("shape " + std::to_string(static_cast<int>(shape)));
    compare_methods<float, 3>(points_of<float, 3>(shape, 300000, 11), {}, 4096);
    compare_methods<double, 3>(points_of<double, 3>(shape, 100000, 12), {}, 61);
    compare_methods<double, 2>(points_of<double, 2>(shape, 100000, 13), weights_of(Weights::random, 100000, 5), 127);
  }
}

TEST(Orb, EqualsReferenceWithEveryWeightAtScale) {
  for (const Weights kind : kWeights) {
    if (tests::fewer_cases() && kind != Weights::random) continue;
    SCOPED_TRACE("weights " + std::to_string(static_cast<int>(kind)));
    compare_methods<float, 3>(points_of<float, 3>(Shape::field, 150000, 21), weights_of(kind, 150000, 6), 1021);
    compare_methods<float, 3>(points_of<float, 3>(Shape::lattice, 150000, 22), weights_of(kind, 150000, 7), 64);
  }
}

TEST(Orb, NearestReachableWeight) {
  // 10 points on a line; half of the weight is 50: 1 + 48 = 49 is nearer than 59.
  const std::vector<double> x{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> points;
  for (const double v : x) points.insert(points.end(), {v, 0});
  const std::vector<double> weights{1, 48, 10, 41, 0, 0, 0, 0, 0, 0};
  const auto result = run<double, 2>(points, weights, {.leaves = 2, .method = "sort"});
  EXPECT_EQ(result.tree.cells[2].count, 2U);
  EXPECT_EQ(result.tree.cells[2].weight * result.tree.weight_unit, 49);
  // All weight in the first point: a cut behind it leaves all zeros right, and of the equal cuts the middle is taken.
  const auto first = run<double, 2>(points, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {.leaves = 2, .method = "sort"});
  EXPECT_EQ(first.tree.cells[2].count, 5U);
}

/// Walks of whole blocks, by coordinates alone, give the codes that a point's own walk gives.
template <class T, int Dim>
void compare_walks(std::uint64_t seed, double side_tolerance) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  constexpr int kBlock = RoundTree<T, Dim>::kBlock;
  std::mt19937_64 random(seed);
  std::vector<OrbPoint<T, Dim>> sample(300 + random() % 20000);
  const auto draw = [&] {
    OrbPoint<T, Dim> p;
    for (T& x : p.x) x = static_cast<T>(random() % 4096) / T(4096);
    p.id = static_cast<std::uint32_t>(random());
    return p;
  };
  for (auto& p : sample) p = draw();
  OrbBox<T, Dim> box;
  box.upper.fill(T(1));
  box.upper[0] = static_cast<T>(1 + random() % 5);
  RoundTree<T, Dim> tree;
  const auto leaves = static_cast<std::uint32_t>(2 + random() % 80);
  tree.guess(sample, SampleWeights{}, leaves, box, side_tolerance, 1);
  std::vector<OrbPoint<T, Dim>> points(kBlock);
  std::vector<T> x(Dim * kBlock);
  for (std::size_t i = 0; i < kBlock; ++i) {
    points[i] = draw();
    for (std::size_t a = 0; a < Dim; ++a) x[a * kBlock + i] = points[i].x[a];
  }
  std::vector<std::uint8_t> codes(kBlock);
  tree.classify(x.data(), codes.data());
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::uint8_t code = tree.code_from(1, points[i]);
    const std::size_t stopped = codes[i] - std::size_t{kStopped};
    if (codes[i] >= kStopped && tree.on_end(stopped, points[i].x[tree.node(stopped).axis])) {
      ASSERT_EQ(code, tree.code_from(stopped, points[i])) << i;
    } else {
      ASSERT_EQ(code, codes[i]) << i;
    }
  }
}

TEST(Orb, WalksAgree) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    compare_walks<float, 3>(seed, 0.0625);
    compare_walks<float, 2>(seed, 0);
    compare_walks<double, 3>(seed, 0);
    compare_walks<double, 2>(seed, 0.0625);
    if (HasFatalFailure()) return;
  }
}

/// Brackets divide points that have one coordinate, or all of them: else nearly all would stop.
TEST(Orb, FewPointsStopWherePointsCoincide) {
  constexpr std::size_t kPoints = 200000;
  for (const Shape shape : {Shape::uniform, Shape::lattice, Shape::coincident, Shape::two_values})
    for (const Weights kind : {Weights::none, Weights::random}) {
      SCOPED_TRACE("shape " + std::to_string(int(shape)) + " weights " + std::to_string(int(kind)));
      const std::vector<float> x = points_of<float, 3>(shape, kPoints, 17);
      std::vector<std::uint64_t> weights;
      for (const double w : weights_of(kind, kPoints, 18)) weights.push_back(static_cast<std::uint64_t>(w * 1e6));
      const auto point = [&](std::size_t i) {
        return OrbPoint<float, 3>{{x[3 * i], x[3 * i + 1], x[3 * i + 2]}, static_cast<std::uint32_t>(i)};
      };
      std::vector<OrbPoint<float, 3>> sample(detail::sample_size(kPoints));
      for (std::size_t i = 0; i < sample.size(); ++i)
        sample[i] = point(detail::sample_position(i, kPoints, sample.size()));
      RoundTree<float, 3> tree;
      tree.guess(sample, SampleWeights{weights.empty() ? nullptr : weights.data()}, 8, {{0, 0, 0}, {16, 16, 16}},
                 kOrbSideTolerance, 1);
      std::size_t stopped = 0;
      for (std::size_t i = 0; i < kPoints; ++i) stopped += tree.code_from(1, point(i)) >= kStopped ? 1 : 0;
      // Three levels whose brackets have so many standard deviations of the ranks of their cells' samples to either
      // side; a third more with weights.
      const double share = kBracketSigmas * (1 + std::sqrt(2) + 2) / std::sqrt(static_cast<double>(sample.size()));
      EXPECT_LT(static_cast<double>(stopped), (weights.empty() ? 1.1 : 1.33) * share * kPoints);
      EXPECT_GT(stopped, kPoints / 100);
    }
}

/// A point that outweighs all others was drawn many times: the cuts beside it lie in narrow brackets around it.
TEST(Orb, AHeavyPointGoesToOneSide) {
  constexpr std::size_t kPoints = 100000, kDrawn = 4000;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<float> x = points_of<float, 3>(Shape::uniform, kPoints, seed);
    const auto point = [&](std::size_t i) {
      return OrbPoint<float, 3>{{x[3 * i], x[3 * i + 1], x[3 * i + 2]}, static_cast<std::uint32_t>(i)};
    };
    const std::size_t heavy = random() % kPoints;
    std::vector<std::uint64_t> weights(kPoints, 1);
    weights[heavy] = std::uint64_t{1} << 40U;
    std::vector<OrbPoint<float, 3>> sample;
    for (std::size_t k = 0; k < kDrawn; ++k) sample.push_back(point(k % 2 == 0 ? heavy : random() % kPoints));
    const double even = std::ldexp(1.0, 40) / kPoints;
    const std::uint32_t leaves = 3 + static_cast<std::uint32_t>(random() % 5);
    RoundTree<float, 3> tree;
    tree.guess(sample, SampleWeights{weights.data(), even}, leaves, {{0, 0, 0}, {16, 16, 16}}, kOrbSideTolerance, 1);
    const RoundNode<float, 3>& root = tree.node(1);
    const auto inside = [&](std::size_t i) { return tree.code_from(1, point(i)) == kStopped + 1; };
    EXPECT_TRUE(inside(heavy));
    // As near to the target as points can come: just before the heavy point, or just behind it.
    const std::uint32_t left = left_leaves(leaves);
    std::size_t nearest = kPoints, stopped = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      stopped += inside(i) ? 1 : 0;
      const bool behind = orb_before(point(heavy), point(i), root.axis);
      if (i == heavy || behind != (2 * left > leaves)) continue;
      if (nearest == kPoints || orb_before(point(i), point(nearest), root.axis) == behind) nearest = i;
    }
    EXPECT_TRUE(nearest == kPoints || inside(nearest)) << "the cut's other neighbour is outside the bracket";
    EXPECT_LT(stopped, kPoints / 100);
  }
}

/// Where three points alone weigh anything, half of the weight is reached at the second, and all of it is left or right
/// of the cut, which goes from there as far towards the cut by number as the next one allows: the bracket has all that.
TEST(Orb, ABracketReachesToTheCutByNumber) {
  using Point = OrbPoint<float, 3>;
  constexpr std::size_t kPoints = 50000, kDrawn = 6000;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<float> x = points_of<float, 3>(Shape::uniform, kPoints, seed);
    std::vector<Point> points;
    for (std::uint32_t i = 0; i < kPoints; ++i) points.push_back({{x[3 * i], x[3 * i + 1], x[3 * i + 2]}, i});
    const std::uint32_t thirds = kPoints / 3;
    std::vector<Point> heavy;
    for (std::uint32_t k = 0; k < 3; ++k) heavy.push_back(points[k * thirds + random() % thirds]);
    std::sort(heavy.begin(), heavy.end(), [](const Point& p, const Point& q) { return orb_before(p, q, 0); });
    const bool right = seed % 2 == 0;  // weights 2, 2, 1, or 1, 2, 2
    std::vector<double> weights(kPoints, 0);
    std::vector<std::uint64_t> units(kPoints, 0);
    std::vector<Point> sample;
    for (std::uint32_t k = 0; k < 3; ++k) {
      weights[heavy[k].id] = k == (right ? 0U : 2U) ? 1 : 2;
      units[heavy[k].id] = static_cast<std::uint64_t>(weights[heavy[k].id]) * kPoints;
      sample.insert(sample.end(), static_cast<std::size_t>(weights[heavy[k].id]) * kDrawn / 10, heavy[k]);
    }
    while (sample.size() < kDrawn) sample.push_back(points[random() % kPoints]);
    const auto exact = run<float, 3>(x, weights, {.leaves = 2, .method = "sort"});
    ASSERT_EQ(exact.tree.cells[1].axis, 0);
    RoundTree<float, 3> tree;
    tree.guess(sample, SampleWeights{units.data(), 5.0}, 2, exact.tree.cells[1].box, kOrbSideTolerance, 1);
    std::sort(points.begin(), points.end(), [](const Point& p, const Point& q) { return orb_before(p, q, 0); });
    const auto inside = [&](const Point& p) { return tree.code_from(1, p) == kStopped + 1; };
    const std::size_t left = exact.tree.cells[2].count;
    EXPECT_TRUE(inside(heavy[1]));
    EXPECT_TRUE(inside(points[left - 1]) && inside(points[left])) << left << " points go left";
  }
}

TEST(Orb, PartitionerTakesLeavesAsParts) {
  std::vector<double> points(3 * 5000);
  make_points<double>(PointKind::cluster, 3, 3, 0, points);
  OrbResult<double, 3> result;
  orb<double, 3>({points, 3}, {}, {.leaves = 37}, result);
  const auto partitioner = make_orb_partitioner();
  const PartitionResult parts = partitioner->partition({.points = {points, 3}, .weights = {}}, {.parts = 37});
  EXPECT_TRUE(std::equal(parts.part.begin(), parts.part.end(), result.labels.begin(), result.labels.end()));
  EXPECT_TRUE(std::equal(parts.order.begin(), parts.order.end(), result.permutation.begin(), result.permutation.end()));
  const std::vector<double> two{0, 0, 0, 1, 1, 1};
  EXPECT_EQ(partitioner->partition({.points = {two, 3}, .weights = {}}, {.parts = 5}).part,
            (std::vector<std::int32_t>{0, 1}));
  EXPECT_TRUE(partitioner->partition({.points = {{}, 3}, .weights = {}}, {.parts = 5}).part.empty());
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const support::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Orb, Refusals) {
  std::vector<float> points(300, 0.5F);
  const auto attempt = [&](OrbOptions options, const std::vector<double>& weights = {},
                           std::optional<OrbBox<float, 3>> domain = {}) {
    return refusal([&] {
      OrbResult<float, 3> result;
      orb<float, 3>({points, 3}, weights, options, result, domain);
    });
  };
  EXPECT_EQ(attempt({.leaves = 100}), "");
  EXPECT_EQ(attempt({.leaves = 0}), "leaves is 0; at least 1 is needed");
  EXPECT_EQ(attempt({.leaves = 101}), "leaves is 101, but there are only 100 points; a leaf needs a point");
  EXPECT_NE(attempt({.leaves = 2, .method = "quick"}).find("quick: unknown; there are "), std::string::npos);
  std::vector<double> weights(100, 1);
  EXPECT_EQ(attempt({.leaves = 2}, weights), "");
  weights[71] = -1;
  weights[80] = -2;
  EXPECT_EQ(attempt({.leaves = 2}, weights), "weight 71 is -1; a weight must be finite and not negative");
  weights[70] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(attempt({.leaves = 2}, weights).find("weight 70"), std::string::npos);
  EXPECT_NE(attempt({.leaves = 2}, {1, 2}).find("2 weights for 100 points"), std::string::npos);
  EXPECT_NE(attempt({.leaves = 2}, {}, OrbBox<float, 3>{{0, 0, 0}, {1, 0.25F, 1}}).find("point 0"), std::string::npos);
  points[200] = std::numeric_limits<float>::infinity();
  EXPECT_NE(attempt({.leaves = 2}).find("point 66 "), std::string::npos);
  points[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(attempt({.leaves = 2}).find("point 33 "), std::string::npos);
}

}  // namespace
}  // namespace amrbench::partitioners
