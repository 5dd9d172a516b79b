// Parts-aware trees by axes: the leaves of build_kd_tree(), on any number of threads.
#include "partitioners/parts/parts_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "support/error.hpp"
#include "tests/partitioners/point_sets.hpp"

namespace amrbench::partitioners {
namespace {

/// Nodes must be those of the reference, and so must the points of each leaf.
void expect_tree(const KdTree<std::uint32_t>& wanted, const KdTree<std::uint32_t>& tree,
                 std::span<const std::uint32_t> numbers) {
  ASSERT_EQ(tree.level, wanted.level);
  for (std::size_t k = 0; k < wanted.nodes.size(); ++k) {
    const auto &a = wanted.nodes[k], &b = tree.nodes[k];
    ASSERT_EQ(a.first, b.first) << "node " << k;
    ASSERT_EQ(a.count, b.count) << "node " << k;
    ASSERT_EQ(a.child, b.child) << "node " << k;
    ASSERT_EQ(a.axis, b.axis) << "node " << k;
    ASSERT_EQ(wanted.split[k], tree.split[k]) << "node " << k;
    if (!a.leaf()) continue;
    const auto span = numbers.subspan(b.first, b.count);
    std::vector<std::uint32_t> here(span.begin(), span.end());
    std::sort(here.begin(), here.end());
    for (std::size_t i = 0; i < here.size(); ++i) ASSERT_EQ(wanted.order[a.first + i], here[i]) << "node " << k;
  }
}

template <int D>
void compare(Kind kind, std::size_t n, int parts, bool compact, std::uint64_t seed) {
  const auto x = make_points<double>(kind, n, D, seed);
  const PointView<double> points{x, D};
  KdTreeOptions options;
  options.parts = parts;
  options.compact_parts = compact;
  options.threads = 1;
  const auto wanted = build_kd_tree<std::uint32_t>(points, {}, options);
  for (const int threads : {1, 2, 5}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    kd::AxisMemory<D> memory(n), order(n);
    kd::points_by_axes<D>(points, threads, memory.points());
    const auto tree = kd::build_parts_tree<D>(memory.points(), order.points(), n, parts, compact, threads);
    ASSERT_NO_FATAL_FAILURE(expect_tree(wanted, tree, {order.points().id, n}));
  }
}

TEST(PartsTree, IsTheTreeOfRecords) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kind = kKinds[rng() % std::size(kKinds)];
    const std::size_t n = 1 + rng() % (seed % 15 == 0 ? 200000 : seed % 4 == 0 ? 5000 : 400);
    const int parts = static_cast<int>(1 + rng() % (seed % 3 == 0 ? 700 : 20));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", n " + std::to_string(n) + ", parts " +
                 std::to_string(parts));
    if (rng() % 2 == 0)
      ASSERT_NO_FATAL_FAILURE(compare<2>(kind, n, parts, rng() % 2 == 0, rng()));
    else
      ASSERT_NO_FATAL_FAILURE(compare<3>(kind, n, parts, rng() % 2 == 0, rng()));
  }
}

TEST(PartsTree, NamesTheFirstPointThatIsNotFinite) {
  std::vector<double> x(30, 1.0);
  x[13] = std::numeric_limits<double>::infinity();
  kd::AxisMemory<3> memory(10);
  try {
    kd::points_by_axes<3>({x, 3}, 2, memory.points());
    FAIL() << "accepted";
  } catch (const support::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("point 4 has coordinate 1"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace amrbench::partitioners
