#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "partitioners/dynamic/neighbour_graph.hpp"
#include "partitioners/dynamic/rebuild_policy.hpp"
#include "support/error.hpp"
#include "tests/partitioners/point_sets.hpp"

namespace amrbench::partitioners {
namespace {

/// Rows by comparing all pairs.
std::vector<std::set<std::int32_t>> plain_neighbours(PointView<double> points, std::size_t k) {
  const std::size_t n = points.size();
  std::vector<std::set<std::int32_t>> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::pair<double, std::size_t>> others;
    for (std::size_t j = 0; j < n; ++j) {
      double square = 0;
      for (int d = 0; d < points.dim; ++d) square += (points[i][d] - points[j][d]) * (points[i][d] - points[j][d]);
      if (j != i) others.emplace_back(square, j);
    }
    std::sort(others.begin(), others.end());
    for (std::size_t m = 0; m < std::min(k, others.size()); ++m) {
      rows[i].insert(static_cast<std::int32_t>(others[m].second));
      rows[others[m].second].insert(static_cast<std::int32_t>(i));
    }
  }
  return rows;
}

TEST(NeighbourGraph, IsThatOfAllPairsOnAnyThreads) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 rng(seed);
    const Kind kinds[] = {Kind::uniform, Kind::cluster, Kind::lattice, Kind::line, Kind::coincident};
    const Kind kind = kinds[seed % 5];
    const int dim = 2 + static_cast<int>(rng() % 4);
    const std::size_t n = 1 + rng() % 400;
    const std::size_t k = 1 + rng() % 8;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + kind_name(kind) + ", n " + std::to_string(n));
    const auto x = make_points<double>(kind, n, dim, rng());
    const auto rows = plain_neighbours({x, dim}, k);
    for (const int threads : {1, 3}) {
      const Graph graph = neighbour_graph({x, dim}, static_cast<int>(k), threads);
      ASSERT_EQ(graph.vertices(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const std::vector<std::int32_t> row(graph.adjacent.begin() + graph.offsets[i],
                                            graph.adjacent.begin() + graph.offsets[i + 1]);
        ASSERT_EQ(row, std::vector<std::int32_t>(rows[i].begin(), rows[i].end())) << i;
      }
    }
  }
  EXPECT_THROW(neighbour_graph({std::vector<double>{1, 2}, 2}, 0), support::InputError);
  EXPECT_EQ(neighbour_graph({{}, 3}, 6).vertices(), 0U);
}

TEST(RebuildPolicy, RebuildsWhenTheExcessOutweighsIt) {
  RebuildPolicy policy;
  const double costs[] = {1, 1.5, 2, 2.5, 3};  // above the first: 0, 0.5, 1.5, 3, 5
  std::vector<bool> answers;
  for (const double cost : costs) answers.push_back(policy.after_round(cost, 2.9));
  EXPECT_EQ(answers, (std::vector<bool>{false, false, false, true, false}));  // 3 is a first round then
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(policy.after_round(3, 2.9));
  EXPECT_TRUE(policy.after_round(6, 2.9));
}

}  // namespace
}  // namespace amrbench::partitioners
