#include "partitioners/kd_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "tests/partitioners/point_sets.hpp"
#include "tests/sanitized.hpp"

namespace amrbench::partitioners {
namespace {

template <class Index, class T>
struct Checker {
  const KdTree<Index>& tree;
  PointView<T> points;
  std::span<const std::uint64_t> weights;
  const KdTreeOptions& options;

  [[nodiscard]] bool less(Index a, Index b, std::uint32_t axis) const {
    const T x = points[a][axis], y = points[b][axis];
    return x < y || (x == y && a < b);
  }

  /// Storage: breadth first, children side by side, stretches nested, no node without points.
  void storage() const {
    const std::size_t n = points.size();
    std::vector<Index> sorted(tree.order.data(), tree.order.data() + n);
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], i) << "order is no permutation";
    ASSERT_EQ(tree.nodes.size(), tree.level.back());
    ASSERT_EQ(tree.nodes[0].count, n);
    std::size_t next = 1;  // children appear in the order of their parents
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const auto& node = tree.nodes[i];
      ASSERT_GT(node.count, 0U);
      if (node.leaf()) continue;
      ASSERT_EQ(node.child, next) << "node " << i;
      next += 2;
      const auto &lower = tree.nodes[node.child], &upper = tree.nodes[node.child + 1];
      ASSERT_EQ(lower.first, node.first);
      ASSERT_EQ(upper.first, node.first + lower.count);
      ASSERT_EQ(node.count, lower.count + upper.count);
    }
    ASSERT_EQ(next, tree.nodes.size());
    for (std::size_t l = 1; l + 1 < tree.level.size(); ++l) {
      std::size_t inner = 0;
      for (std::size_t i = tree.level[l - 1]; i < tree.level[l]; ++i) inner += tree.nodes[i].leaf() ? 0 : 1;
      ASSERT_EQ(tree.level[l + 1] - tree.level[l], 2 * inner) << "level " << l;
    }
  }

  [[nodiscard]] Mass mass(Index id) const { return weights.empty() ? 1 : point_mass(weights[id]); }

  /// The count that `splitter` must put below, from the node's points sorted along its axis.
  void cut(std::size_t i, Splitter splitter, std::vector<Index> ids, T lo, T hi) const {
    const auto& node = tree.nodes[i];
    const std::size_t count = tree.nodes[node.child].count;
    std::sort(ids.begin(), ids.end(), [&](Index a, Index b) { return less(a, b, node.axis); });
    if (splitter == Splitter::midpoint && lo < hi) {
      const auto value = static_cast<T>(tree.split[i]);
      ASSERT_GE(value, lo);
      ASSERT_LT(value, hi);
      // The middle up to the rounding of halves and of their difference.
      const long double middle = (static_cast<long double>(lo) + static_cast<long double>(hi)) / 2;
      ASSERT_LE(std::abs(static_cast<long double>(value) - middle),
                2 * std::numeric_limits<T>::epsilon() *
                        std::max(std::abs(static_cast<long double>(lo)), std::abs(static_cast<long double>(hi))) +
                    std::numeric_limits<T>::denorm_min());
      const auto below =
          std::count_if(ids.begin(), ids.end(), [&](Index id) { return points[id][node.axis] <= value; });
      ASSERT_EQ(count, static_cast<std::size_t>(below));
      return;
    }
    if (splitter == Splitter::sampled_median && ids.size() > 64) return;
    Mass total = 0;
    for (const Index id : ids) total += mass(id);
    std::size_t best = 1;
    Mass sum = mass(ids[0]), least = 2 * sum > total ? 2 * sum - total : total - 2 * sum;
    for (std::size_t m = 2; m < ids.size(); ++m) {
      sum += mass(ids[m - 1]);
      const Mass off = 2 * sum > total ? 2 * sum - total : total - 2 * sum;
      if (off < least) {
        best = m;
        least = off;
      }
    }
    ASSERT_EQ(count, best) << "node " << i << " of " << ids.size() << " points";
    ASSERT_EQ(tree.split[i], static_cast<double>(points[ids[count - 1]][node.axis]));
  }

  /// Every split follows its rule: axis, value, sides, counts; every leaf is small and sorted.
  void splits() const {
    for (int l = 0; l < tree.levels(); ++l) {
      for (std::size_t i = tree.level[static_cast<std::size_t>(l)]; i < tree.level[static_cast<std::size_t>(l) + 1];
           ++i) {
        const auto& node = tree.nodes[i];
        const std::vector<Index> ids(tree.order.data() + node.first, tree.order.data() + node.first + node.count);
        if (node.leaf()) {
          ASSERT_LE(ids.size(), options.bucket);
          ASSERT_TRUE(std::is_sorted(ids.begin(), ids.end()));
          continue;
        }
        ASSERT_GT(ids.size(), options.bucket);
        std::vector<T> lo(static_cast<std::size_t>(tree.dim), std::numeric_limits<T>::infinity());
        std::vector<T> hi(static_cast<std::size_t>(tree.dim), -std::numeric_limits<T>::infinity());
        for (const Index id : ids) {
          for (std::size_t d = 0; d < lo.size(); ++d) {
            lo[d] = std::min(lo[d], points[id][d]);
            hi[d] = std::max(hi[d], points[id][d]);
          }
        }
        for (std::size_t d = 0; d < lo.size(); ++d) {
          ASSERT_GE(hi[node.axis] - lo[node.axis], hi[d] - lo[d]);
          if (d < node.axis) {
            ASSERT_GT(hi[node.axis] - lo[node.axis], hi[d] - lo[d]);
          }
        }
        const std::size_t below = tree.nodes[node.child].count;
        for (std::size_t k = 0; k < ids.size(); ++k) {
          const auto x = static_cast<double>(points[ids[k]][node.axis]);
          ASSERT_TRUE(k < below ? x <= tree.split[i] : x >= tree.split[i]) << "node " << i;
        }
        ASSERT_NO_FATAL_FAILURE(cut(i, options.rule.at(l), ids, lo[node.axis], hi[node.axis]));
      }
    }
  }
};

template <class Index>
bool same(const KdTree<Index>& a, const KdTree<Index>& b) {
  if (a.nodes.size() != b.nodes.size() || a.order.size() != b.order.size() || a.level != b.level) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const auto &x = a.nodes[i], &y = b.nodes[i];
    if (x.first != y.first || x.count != y.count || x.child != y.child || x.axis != y.axis || a.split[i] != b.split[i])
      return false;
  }
  return std::equal(a.order.data(), a.order.data() + a.order.size(), b.order.data());
}

enum class Weighing : std::uint8_t { none, random, zero, one_huge };

std::vector<std::uint64_t> make_weights(Weighing w, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<double> weights(w == Weighing::none ? 0 : n);
  for (auto& x : weights) x = w == Weighing::random ? std::uniform_real_distribution<double>(0, 3)(rng) : 0.0;
  if (w == Weighing::one_huge && n > 0) weights[rng() % n] = 1e30;
  return fixed_point_weights(weights);
}

template <class Index, class T>
void check_random(std::uint64_t seed, int dim_override = 0) {
  std::mt19937_64 rng(seed);
  const Kind kind = kKinds[rng() % std::size(kKinds)];
  const int dim = dim_override > 0 ? dim_override : static_cast<int>(2 + rng() % 4);
  const std::size_t n = 1 + rng() % (rng() % 4 == 0 ? 3000 : 200);
  const auto weighing = static_cast<Weighing>(rng() % 4);
  KdTreeOptions options;
  const auto random_splitter = [&] { return static_cast<Splitter>(rng() % 4); };
  options.rule = {random_splitter(), static_cast<int>(rng() % 5), random_splitter()};
  options.bucket = 1 + rng() % (rng() % 2 == 0 ? 1 : 40);
  options.threads = static_cast<int>(1 + rng() % 3);
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", n " + std::to_string(n) + ", dim " +
               std::to_string(dim) + ", rule " + split_rule_name(options.rule) + ", bucket " +
               std::to_string(options.bucket) + ", weights " + std::to_string(static_cast<int>(weighing)));
  const auto x = make_points<T>(kind, n, dim, rng());
  const PointView<T> points{x, dim};
  const auto weights = make_weights(weighing, n, rng());
  const auto tree = build_kd_tree<Index>(points, weights, options);
  const Checker<Index, T> checker{tree, points, weights, options};
  ASSERT_NO_FATAL_FAILURE(checker.storage());
  ASSERT_NO_FATAL_FAILURE(checker.splits());
}

TEST(KdTree, EverySplitFollowsItsRule) {
  for (std::uint64_t seed = 1; seed <= (tests::fewer_cases() ? 80U : 400U); ++seed) {
    ASSERT_NO_FATAL_FAILURE((check_random<std::uint32_t, double>(seed)));
    ASSERT_NO_FATAL_FAILURE((check_random<std::uint32_t, float>(seed)));
  }
}

TEST(KdTree, SixtyFourBitIndices) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ASSERT_NO_FATAL_FAILURE((check_random<std::uint64_t, double>(seed)));
    ASSERT_NO_FATAL_FAILURE((check_random<std::uint64_t, float>(seed)));
  }
}

TEST(KdTree, EveryDimension) {
  for (int dim = kMinDim; dim <= kMaxDim; ++dim) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      ASSERT_NO_FATAL_FAILURE((check_random<std::uint32_t, double>(1000 + seed, dim)));
    }
  }
}

/// Large enough for nodes that all threads split together.
TEST(KdTree, AnyNumberOfThreadsGivesTheSameTree) {
  for (const Kind kind : {Kind::uniform, Kind::cluster, Kind::lattice, Kind::coincident}) {
    for (const char* rule : {"midpoint", "median", "selection", "sampled_median", "median:5:midpoint"}) {
      for (const bool weighted : {false, true}) {
        if (tests::fewer_cases() && weighted != (kind == Kind::cluster)) continue;
        const auto n = static_cast<std::size_t>(tests::cases(150000, 70000));
        const std::uint64_t seed = 77;
        SCOPED_TRACE(kind_name(kind) + ", " + rule + ", seed " + std::to_string(seed));
        const auto x = make_points<double>(kind, n, 3, seed);
        const auto weights = make_weights(weighted ? Weighing::random : Weighing::none, n, seed);
        KdTreeOptions options;
        options.rule = split_rule_from_name(rule);
        options.bucket = 16;
        options.threads = 1;
        const auto one = build_kd_tree(PointView<double>{x, 3}, weights, options);
        if (!tests::fewer_cases()) {
          const Checker<std::uint32_t, double> checker{one, PointView<double>{x, 3}, weights, options};
          ASSERT_NO_FATAL_FAILURE(checker.storage());
          ASSERT_NO_FATAL_FAILURE(checker.splits());
        }
        for (const int threads : {2, 3, 4}) {
          if (tests::fewer_cases() && threads != 3) continue;
          options.threads = threads;
          ASSERT_TRUE(same(one, build_kd_tree(PointView<double>{x, 3}, weights, options))) << threads << " threads";
        }
      }
    }
  }
}

TEST(KdTree, PresortedMedianAndSelectionGiveTheSameTree) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Kind kind = kKinds[seed % std::size(kKinds)];
    const auto x = make_points<double>(kind, 5000 + seed, 3, seed);
    const auto weights = make_weights(static_cast<Weighing>(seed % 4), 5000 + seed, seed);
    KdTreeOptions options;
    options.rule.below = Splitter::median;
    options.bucket = seed % 9 + 1;
    const auto sorted = build_kd_tree(PointView<double>{x, 3}, weights, options);
    options.rule.below = Splitter::selection;
    ASSERT_TRUE(same(sorted, build_kd_tree(PointView<double>{x, 3}, weights, options)));
  }
}

TEST(KdTree, SampledMediansAreNearlyHalf) {
  const std::size_t n = 200000;
  const auto x = make_points<double>(Kind::cluster, n, 3, 5);
  KdTreeOptions options;
  options.rule.below = Splitter::sampled_median;
  const auto tree = build_kd_tree(PointView<double>{x, 3}, {}, options);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const auto& node = tree.nodes[i];
    if (node.count < 50000) continue;
    EXPECT_NEAR(static_cast<double>(tree.nodes[node.child].count) / node.count, 0.5, 0.2) << "node " << i;
  }
  EXPECT_LE(tree.levels(), 24);
}

TEST(KdTree, EmptyInputAndOnePoint) {
  const std::vector<double> none;
  const auto empty = build_kd_tree(PointView<double>{none, 3}, {}, {});
  EXPECT_EQ(empty.nodes.size(), 0U);
  EXPECT_EQ(empty.levels(), 0);
  const std::vector<double> one{1, 2, 3};
  for (const char* rule : {"midpoint", "median", "selection", "sampled_median"}) {
    KdTreeOptions options;
    options.rule = split_rule_from_name(rule);
    const auto tree = build_kd_tree(PointView<double>{one, 3}, {}, options);
    ASSERT_EQ(tree.nodes.size(), 1U);
    EXPECT_TRUE(tree.nodes[0].leaf());
    EXPECT_EQ(tree.order[0], 0U);
  }
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const support::InputError& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(KdTree, RefusesWhatItCannotTake) {
  auto x = make_points<double>(Kind::uniform, 100000, 3, 1);
  x[3 * 70001 + 2] = std::numeric_limits<double>::quiet_NaN();
  x[3 * 60001] = -std::numeric_limits<double>::infinity();
  for (const char* rule : {"midpoint", "median"}) {
    KdTreeOptions options;
    options.rule = split_rule_from_name(rule);
    const auto text = message_of([&] { build_kd_tree(PointView<double>{x, 3}, {}, options); });
    EXPECT_NE(text.find("point 60001 has coordinate 0"), std::string::npos) << text;
  }
  const std::vector<double> fine(34, 1.0);
  const auto refused = [&](int dim, KdTreeOptions options, std::span<const std::uint64_t> weights) {
    return message_of([&] { build_kd_tree(PointView<double>{fine, dim}, weights, options); });
  };
  EXPECT_NE(refused(1, {}, {}).find("2 to 16"), std::string::npos);
  EXPECT_NE(refused(17, {}, {}).find("2 to 16"), std::string::npos);
  EXPECT_NE(refused(3, {}, {}).find("whole number"), std::string::npos);
  EXPECT_NE(refused(2, {.bucket = 0}, {}).find("bucket"), std::string::npos);
  const std::vector<std::uint64_t> few(3, 1);
  EXPECT_NE(refused(2, {}, few).find("3 weights for 17 points"), std::string::npos);
}

TEST(KdTree, RulesHaveNames) {
  EXPECT_EQ(split_rule_from_name("midpoint"), SplitRule{});
  const SplitRule rule{Splitter::median, 6, Splitter::midpoint};
  EXPECT_EQ(split_rule_from_name("median:6:midpoint"), rule);
  EXPECT_EQ(split_rule_name(rule), "median:6:midpoint");
  for (const char* bad : {"", "mid", "median:6", "median:x:midpoint", "median:-1:midpoint", "median:6:mid", "a:1:b"}) {
    EXPECT_THROW(split_rule_from_name(bad), support::InputError) << bad;
  }
}

TEST(Weights, KeepIntegersExactly) {
  std::vector<double> weights{3, 0, 12, 1, 0.25};
  const auto fixed = fixed_point_weights(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(static_cast<double>(fixed[i]), static_cast<double>(fixed[3]) * weights[i]);
  }
  Mass sum = 0;
  for (const auto w : fixed_point_weights(std::vector<double>(1000, 0.999999))) sum += w;
  EXPECT_LT(sum, Mass{1} << kWeightBits);
  EXPECT_GT(sum, Mass{1} << (kWeightBits - 3));
  weights[2] = -1;
  EXPECT_NE(message_of([&] { fixed_point_weights(weights); }).find("weight 2"), std::string::npos);
  weights[1] = std::numeric_limits<double>::infinity();
  EXPECT_NE(message_of([&] { fixed_point_weights(weights); }).find("weight 1"), std::string::npos);
}

/// Parts-aware trees: every node gives its lower child floor(p / 2) parts and the share of weight that goes with them.
TEST(PartsTree, PartsDifferByOnePoint) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[rng() % std::size(kKinds)];
    const std::size_t n = 1 + rng() % 4000;
    KdTreeOptions options;
    options.parts = static_cast<int>(1 + rng() % 300);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", n " + std::to_string(n) + ", parts " +
                 std::to_string(options.parts));
    const auto x = make_points<double>(kind, n, 3, rng());
    const auto tree = build_kd_tree(PointView<double>{x, 3}, {}, options);
    const std::size_t parts = std::min(n, static_cast<std::size_t>(options.parts));
    std::size_t leaves = 0;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      if (!tree.nodes[i].leaf()) continue;
      ++leaves;
      ASSERT_GE(tree.nodes[i].count, n / parts);
      ASSERT_LE(tree.nodes[i].count, (n + parts - 1) / parts);
    }
    ASSERT_EQ(leaves, parts);
  }
}

TEST(PartsTree, WeightsAreSharedWithinTheHeaviestPointALevel) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 rng(seed);
    const std::size_t n = 2000 + rng() % 2000;
    KdTreeOptions options;
    options.parts = static_cast<int>(2 + rng() % 60);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", parts " + std::to_string(options.parts));
    const auto x = make_points<double>(Kind::uniform, n, 2, rng());
    const auto weights = make_weights(Weighing::random, n, rng());
    const auto tree = build_kd_tree(PointView<double>{x, 2}, weights, options);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double heaviest = static_cast<double>(*std::max_element(weights.begin(), weights.end()));
    // A cut is off by half a point at most, of which a child's parts each bear their share: below 1 point in all.
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const auto& leaf = tree.nodes[i];
      if (!leaf.leaf()) continue;
      double sum = 0;
      for (std::uint32_t k = 0; k < leaf.count; ++k) sum += static_cast<double>(weights[tree.order[leaf.first + k]]);
      ASSERT_NEAR(sum, total / options.parts, 1.01 * heaviest);
    }
  }
}

}  // namespace
}  // namespace amrbench::partitioners
