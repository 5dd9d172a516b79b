// Slices that are cells of parts-aware trees, and compact cuts of few parts.
#include "partitioners/parts/parts_curve.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "partitioners/inputs/point_input.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/parts/compact_cut.hpp"

namespace amrbench::partitioners {
namespace {

template <std::size_t Dim>
double cost_of(const std::array<double, Dim>& s) {
  double surface = 0, volume = 1;
  for (std::size_t d = 0; d < Dim; ++d) {
    double face = 1;
    for (std::size_t o = 0; o < Dim; ++o) face *= o == d ? 1 : s[o];
    surface += face / Dim;
    volume *= s[d];
  }
  return std::pow(surface / std::pow(volume, (Dim - 1.0) / Dim), Dim == 2 ? 16 : 15);
}

/// The serial reference: the least there is, every cut tried at every node.
template <std::size_t Dim>
double least_of_all(const std::array<double, Dim>& box, int parts) {
  if (parts == 1) return cost_of(box);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t axis = 0; axis < Dim; ++axis) {
    for (int lower = 1; lower < parts; ++lower) {
      auto below = box, above = box;
      below[axis] *= static_cast<double>(lower) / parts;
      above[axis] -= below[axis];
      least = std::min(least, least_of_all(below, lower) + least_of_all(above, parts - lower));
    }
  }
  return least;
}

/// What following the cuts comes to; halves: across the longest side always.
template <std::size_t Dim>
double cost_of_cuts(const std::array<double, Dim>& box, int parts, bool halves) {
  if (parts == 1) return cost_of(box);
  PartsCut cut = compact_cut(box, parts);
  if (halves) cut = {static_cast<int>(std::max_element(box.begin(), box.end()) - box.begin()), parts / 2};
  EXPECT_GE(cut.lower, 1);
  EXPECT_LT(cut.lower, parts);
  auto below = box, above = box;
  const auto axis = static_cast<std::size_t>(cut.axis);
  below[axis] *= static_cast<double>(cut.lower) / parts;
  above[axis] -= below[axis];
  return cost_of_cuts(below, cut.lower, halves) + cost_of_cuts(above, parts - cut.lower, halves);
}

constexpr double kRounding = 1.25;

template <std::size_t Dim>
void compare_with_all_cuts(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}, {} dimensions", seed, Dim));
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> log_side(-0.8, 0.8);
  double gained = 0;
  for (int k = 0; k < 60; ++k) {
    std::array<double, Dim> box;
    for (double& side : box) side = std::exp(log_side(rng));
    for (int parts = 2; parts <= 5; ++parts) {
      const double found = cost_of_cuts(box, parts, false), halves = cost_of_cuts(box, parts, true);
      // Shapes are rounded; a node gives away a fifth at most, on each of parts - 1 levels at most.
      EXPECT_LE(found, halves * kRounding);
      if (!std::has_single_bit(static_cast<unsigned>(parts))) {
        EXPECT_LE(found, least_of_all(box, parts) / std::pow(0.8, parts - 1) * kRounding);
      }
      gained += halves / found - 1;
    }
  }
  EXPECT_GT(gained, 1);
}

TEST(CompactCut, ComesNearTheBestOfAllCuts) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    compare_with_all_cuts<2>(seed);
    compare_with_all_cuts<3>(seed);
  }
}

TEST(CompactCut, HalvesWhereItKnowsNoBetter) {
  const auto halves = [](PartsCut cut, int axis, int lower) { return cut.axis == axis && cut.lower == lower; };
  EXPECT_TRUE(halves(compact_cut(std::array{1.0, 3.0}, 25), 1, 12));          // many parts
  EXPECT_TRUE(halves(compact_cut(std::array{0.0, 3.0}, 3), 1, 1));            // no volume
  EXPECT_TRUE(halves(compact_cut(std::array{0.0, 0.0, 0.0}, 5), 0, 2));       // coincident points
  EXPECT_TRUE(halves(compact_cut(std::array{1e300, 1e-300}, 6), 0, 3));       // beyond all numbers
  EXPECT_TRUE(halves(compact_cut(std::array{1.0, 1.0}, 4), 0, 2));            // squares already
  EXPECT_TRUE(halves(compact_cut(std::array{1.0, 2.0, 1.0, 1.0}, 3), 1, 1));  // four dimensions
}

TEST(CompactParts, SixPartsOfTwoSquares) {
  // 2 x 3 cells of 20 x 15; halves would be two squares of three parts each, one of them 10 x 30.
  const PointInput grid = load_input("grid:60x30");
  const auto cut = [&](const char* method) {
    const auto part = make_partitioner(method)->partition(grid.problem(), {.parts = 6}).part;
    int edges = 0;
    for (std::size_t y = 0; y < 30; ++y) {
      for (std::size_t x = 0; x < 60; ++x) {
        const std::size_t i = y * 60 + x;
        if (x + 1 < 60 && part[i] != part[i + 1]) ++edges;
        if (y + 1 < 30 && part[i] != part[i + 60]) ++edges;
      }
    }
    return edges;
  };
  EXPECT_EQ(cut("kd_parts"), 130);
  EXPECT_EQ(cut("kd_compact"), 120);
}

TEST(PartsCurve, PartsAreThoseOfTheTree) {
  struct Tree {
    const char* splitter;
    const char* method;
    const char* curve;
  };
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 rng(seed);
    const int dim = 2 + static_cast<int>(seed % 2);
    const std::size_t n = 1 + rng() % 3000;
    std::vector<double> x(n * static_cast<std::size_t>(dim));
    // Few coordinates, so that many are equal, or many.
    for (double& c : x) c = static_cast<double>(rng() % (seed % 3 == 0 ? 9 : 1000000));
    std::vector<double> weights(seed % 4 < 2 ? n : 0);
    for (double& w : weights) w = static_cast<double>(rng() % 7);
    const Problem problem{.points = {x, dim}, .weights = weights};
    const int parts = 1 + static_cast<int>(rng() % 90);
    for (const Tree& tree :
         {Tree{"parts", "kd_parts", "gensfc"}, Tree{"parts", "kd_parts_hilbert", "hilbert"},
          Tree{"parts", "kd_parts_morton", "morton"}, Tree{"compact_parts", "kd_compact", "gensfc"}}) {
      SCOPED_TRACE(fmt::format("seed {}, {} points in {} dimensions, {} parts, {} by {}", seed, n, dim, parts,
                               tree.curve, tree.splitter));
      PartitionOptions options{.parts = parts, .threads = 1, .splitter = tree.splitter};
      const PartitionResult along = make_partitioner(tree.curve)->partition(problem, options);
      EXPECT_EQ(along.part, make_partitioner(tree.method)->partition(problem, options).part);
      std::vector<std::int32_t> in_order;
      for (const std::uint32_t i : along.order) in_order.push_back(along.part[i]);
      EXPECT_TRUE(std::is_sorted(in_order.begin(), in_order.end()));
      std::vector<std::uint32_t> sorted = along.order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
      for (const int threads : {2, 5}) {
        options.threads = threads;
        const PartitionResult again = make_partitioner(tree.curve)->partition(problem, options);
        EXPECT_EQ(again.part, along.part);
        EXPECT_EQ(again.order, along.order);
      }
    }
  }
}

TEST(PartsCurve, IsTheCurveWhereSlicesAreCellsAnyway) {
  // On a grid of powers of two every tree is the same and every slice a cell.
  for (const auto& [text, parts] : {std::pair{"grid:32x32", 16}, std::pair{"grid:16x16x16", 64}}) {
    const PointInput grid = load_input(text);
    for (const char* curve : {"gensfc", "hilbert", "morton"}) {
      SCOPED_TRACE(fmt::format("{} {}", text, curve));
      PartitionOptions options{.parts = parts};
      const PartitionResult slices = make_partitioner(curve)->partition(grid.problem(), options);
      for (const char* splitter : {"parts", "compact_parts"}) {
        options.splitter = splitter;
        const PartitionResult cells = make_partitioner(curve)->partition(grid.problem(), options);
        EXPECT_EQ(cells.order, slices.order);
        EXPECT_EQ(cells.part, slices.part);
      }
    }
  }
}

TEST(PartsCurve, ExactSlicesCutTheOrderAnew) {
  const PointInput grid = load_input("grid:20x20");
  std::vector<double> weights;
  for (std::size_t i = 0; i < 400; ++i) weights.push_back(static_cast<double>(1 + i * i % 13));
  const Problem problem{.points = grid.problem().points, .weights = weights};
  const auto heaviest = [&](SliceRule rule) {
    std::vector<double> load(7);
    const auto result =
        make_partitioner("gensfc")->partition(problem, {.parts = 7, .splitter = "parts", .slices = rule});
    for (std::size_t i = 0; i < weights.size(); ++i) load[static_cast<std::size_t>(result.part[i])] += weights[i];
    return *std::max_element(load.begin(), load.end());
  };
  EXPECT_LE(heaviest(SliceRule::exact), heaviest(SliceRule::midpoint));
}

}  // namespace
}  // namespace amrbench::partitioners
