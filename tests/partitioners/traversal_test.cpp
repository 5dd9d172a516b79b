#include "partitioners/traversal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "tests/partitioners/grid_cut.hpp"
#include "tests/partitioners/point_sets.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::partitioners {
namespace {

constexpr TreeCurve kCurves[] = {TreeCurve::morton, TreeCurve::hilbert, TreeCurve::gensfc};

template <class Index>
std::vector<Index> order_of(const KdTree<Index>& tree, TreeCurve curve, int threads) {
  const auto order = curve_order(tree, curve, threads);
  return {order.data(), order.data() + order.size()};
}

KdTree<std::uint32_t> grid_tree(const std::vector<double>& x, int dim) {
  KdTreeOptions options;
  options.bucket = 1;
  return build_kd_tree(PointView<double>{x, dim}, {}, options);
}

TEST(Traversal, StepsFromNeighbourToNeighbourOnEveryCube) {
  for (const TreeCurve curve : {TreeCurve::hilbert, TreeCurve::gensfc}) {
    for (int edge = 1; edge <= 256; edge *= 2) {
      for (const int dim : {2, 3}) {
        if (dim == 3 && edge > 32) continue;
        SCOPED_TRACE(std::string(tree_curve_name(curve)) + ", edge " + std::to_string(edge) + ", dim " +
                     std::to_string(dim));
        Grid grid{edge, edge, dim == 3 ? edge : 1};
        auto x = grid_points(grid);
        if (edge == 1) x.assign(static_cast<std::size_t>(dim), 0.0);
        const auto order = order_of(grid_tree(x, dim), curve, 2);
        ASSERT_EQ(order.size(), grid.size());
        EXPECT_EQ((curve_jumps<double, std::uint32_t>({x, dim}, order, 1.0)), 0U);
        EXPECT_EQ((curve_length<double, std::uint32_t>({x, dim}, order)), static_cast<double>(grid.size() - 1));
      }
    }
  }
}

TEST(Traversal, IsAPermutationAndTheSameForAnyThreads) {
  for (std::uint64_t seed = 1; seed <= (tests::fewer_cases() ? 12U : 60U); ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[rng() % std::size(kKinds)];
    const int dim = static_cast<int>(2 + rng() % 2);
    const std::size_t n = seed % 10 == 0 ? 120000 : 1 + rng() % 5000;
    KdTreeOptions options;
    options.rule.below = static_cast<Splitter>(rng() % 4);
    options.bucket = 1 + rng() % 8;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", n " + std::to_string(n));
    const auto x = make_points<double>(kind, n, dim, rng());
    const auto tree = build_kd_tree(PointView<double>{x, dim}, {}, options);
    const auto wide = build_kd_tree<std::uint64_t>(PointView<double>{x, dim}, {}, options);
    for (const TreeCurve curve : kCurves) {
      const auto one = order_of(tree, curve, 1);
      auto sorted = one;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i);
      for (const int threads : {2, 3, 4}) ASSERT_EQ(one, order_of(tree, curve, threads)) << threads << " threads";
      const auto order64 = order_of(wide, curve, 1);
      ASSERT_TRUE(std::equal(one.begin(), one.end(), order64.begin(), order64.end()));
      // The leaves' order says the same.
      std::vector<std::uint32_t> by_leaf;
      for (const auto leaf : leaf_order(tree, curve, 2)) {
        const auto& node = tree.nodes[leaf];
        ASSERT_TRUE(node.leaf());
        by_leaf.insert(by_leaf.end(), tree.order.data() + node.first, tree.order.data() + node.first + node.count);
      }
      ASSERT_EQ(one, by_leaf);
      // So does the order of points whose tree is not kept.
      for (const int threads : {1, 3}) {
        options.threads = threads;
        std::vector<std::uint32_t> alone(n);
        EXPECT_GT(curve_order<std::uint32_t>(PointView<double>{x, dim}, {}, options, curve, std::span(alone)), 0U);
        ASSERT_EQ(one, alone) << threads << " threads";
      }
    }
  }
}

TEST(Traversal, MortonIsTheTreesOrderInAnyDimension) {
  for (int dim = 2; dim <= 16; ++dim) {
    const auto x = make_points<float>(Kind::cluster, 500, dim, 3);
    const auto tree = build_kd_tree(PointView<float>{x, dim}, {}, {});
    const auto order = order_of(tree, TreeCurve::morton, 2);
    EXPECT_TRUE(std::equal(order.begin(), order.end(), tree.order.data()));
    std::vector<std::uint32_t> kept(500);
    curve_order<std::uint32_t>(PointView<float>{x, dim}, {}, {}, TreeCurve::morton, std::span(kept));
    EXPECT_EQ(order, kept);
    if (dim <= 3) continue;
    EXPECT_THROW(curve_order(tree, TreeCurve::gensfc), support::InputError);
    std::vector<std::uint32_t> alone(500);
    EXPECT_THROW(curve_order<std::uint32_t>(PointView<float>{x, dim}, {}, {}, TreeCurve::gensfc, std::span(alone)),
                 support::InputError);
    EXPECT_THROW(curve_order(tree, TreeCurve::hilbert), support::InputError);
  }
}

/// A tree as deep as doubles allow: points at 2^-k, each split taking one away.
TEST(Traversal, DepthIsNoLimit) {
  std::vector<double> x;
  for (int k = 0; k < 1000; ++k) {
    x.push_back(std::ldexp(1.0, -k));
    x.push_back(0);
  }
  const auto tree = grid_tree(x, 2);
  EXPECT_GE(tree.levels(), 900);
  const auto order = order_of(tree, TreeCurve::gensfc, 2);
  EXPECT_EQ((curve_length<double, std::uint32_t>({x, 2}, order)), 1.0 - std::ldexp(1.0, -999));
}

TEST(Traversal, EmptyInput) {
  const std::vector<double> none;
  const auto tree = build_kd_tree(PointView<double>{none, 3}, {}, {});
  for (const TreeCurve curve : kCurves) {
    EXPECT_EQ(curve_order(tree, curve).size(), 0U);
    EXPECT_TRUE(leaf_order(tree, curve).empty());
  }
}

/// On random points the curves' lengths rank as they should: Morton's jumps cost, Hilbert-like curves have few.
TEST(Traversal, GenSfcIsShorterThanMorton) {
  for (const int dim : {2, 3}) {
    const auto x = make_points<double>(Kind::cluster, 50000, dim, 9);
    const PointView<double> points{x, dim};
    const auto tree = grid_tree(x, dim);
    const auto length = [&](TreeCurve curve) {
      return curve_length<double, std::uint32_t>(points, order_of(tree, curve, 2));
    };
    EXPECT_LT(length(TreeCurve::gensfc), 0.9 * length(TreeCurve::morton)) << dim;
    EXPECT_LT(length(TreeCurve::gensfc), length(TreeCurve::hilbert)) << dim;
  }
}

}  // namespace
}  // namespace amrbench::partitioners
