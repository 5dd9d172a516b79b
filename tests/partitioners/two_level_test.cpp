// Parts in two levels: nodes first, tasks inside.
#include "partitioners/two_level.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "partitioners/inputs/stencil_graph.hpp"
#include "partitioners/quality.hpp"
#include "partitioners/refine/refine.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

struct TwoLevelGrid {
  GridShape shape{.dim = 3, .extent = {14, 12, 10}, .stencil = 7};
  Graph graph = stencil_graph(shape);
  std::vector<double> centres = cell_centres(shape);
  [[nodiscard]] Problem problem() const { return {{centres, 3}, {}, &graph}; }
};

bool in_build(std::string_view name) {
  return std::ranges::find(partitioner_registry(), name, &PartitionerEntry::name) != partitioner_registry().end();
}

TEST(TwoLevel, NodesAreThePartsOfTheMethodAlone) {
  const TwoLevelGrid grid;
  for (const std::string_view name : {"kd_parts", "gensfc", "orb", "linear", "metis_kway", "scotch"}) {
    if (!in_build(name)) continue;
    SCOPED_TRACE(name);
    const auto method = make_partitioner(name);
    const auto nodes = method->partition(grid.problem(), {.parts = 5, .threads = 2}).part;
    const auto parts = TwoLevelPartitioner(*method, 5).partition(grid.problem(), {.parts = 30, .threads = 2});
    ASSERT_EQ(parts.part.size(), nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) ASSERT_EQ(parts.part[i] / 6, nodes[i]) << "point " << i;
    const PartitionQuality q = measure_quality(parts.part, 30, {}, &grid.graph);
    EXPECT_EQ(q.empty_parts, 0);
    EXPECT_LE(q.load_max, 1.09 * q.load_mean + 2);
  }
}

TEST(TwoLevel, TasksAreThoseOfTheNodeAlone) {
  // The reference: each node's points handed to the method by hand.
  const TwoLevelGrid grid;
  std::mt19937_64 random(3);
  std::vector<double> weights(grid.graph.vertices());
  for (double& w : weights) w = static_cast<double>(1 + random() % 9);
  const auto method = make_partitioner("kd_parts");
  const Problem weighted{{grid.centres, 3}, weights, &grid.graph};
  const auto result = TwoLevelPartitioner(*method, 4).partition(weighted, {.parts = 12, .threads = 1});
  for (std::int32_t node = 0; node < 4; ++node) {
    std::vector<double> centres, own;
    std::vector<std::int32_t> tasks;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (result.part[i] / 3 != node) continue;
      centres.insert(centres.end(), {grid.centres[3 * i], grid.centres[3 * i + 1], grid.centres[3 * i + 2]});
      own.push_back(weights[i]);
      tasks.push_back(result.part[i] % 3);
    }
    EXPECT_EQ(method->partition({{centres, 3}, own}, {.parts = 3}).part, tasks) << "node " << node;
  }
  std::vector<std::uint32_t> sorted = result.order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> all(weights.size());
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(sorted, all);
}

TEST(TwoLevel, RefinedNodesAreKept) {
  const TwoLevelGrid grid;
  const auto method = make_partitioner("morton");
  std::vector<std::int32_t> refined;
  TwoLevelPartitioner two(*method, 5, [&](std::span<std::int32_t> node) {
    const RefineResult r = refine_partition(grid.graph, {}, 5, {.rounds = 3, .tolerance = 0.02}, node);
    EXPECT_GT(r.moves, 0);
    refined.assign(node.begin(), node.end());
  });
  const auto part = two.partition(grid.problem(), {.parts = 20}).part;
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i] / 4, refined[i]);
}

TEST(TwoLevel, OneNodeOneTaskAndMoreThanPoints) {
  const TwoLevelGrid grid;
  const auto method = make_partitioner("kd_parts");
  const auto flat = method->partition(grid.problem(), {.parts = 7}).part;
  EXPECT_EQ(TwoLevelPartitioner(*method, 1).partition(grid.problem(), {.parts = 7}).part, flat);
  EXPECT_EQ(TwoLevelPartitioner(*method, 7).partition(grid.problem(), {.parts = 7}).part, flat);
  const std::vector<double> few{0, 0, 0, 1, 1, 1};
  const auto part = TwoLevelPartitioner(*method, 5).partition({{few, 3}, {}}, {.parts = 50}).part;
  ASSERT_EQ(part.size(), 2U);
  EXPECT_NE(part[0] / 10, part[1] / 10);
  EXPECT_TRUE(std::ranges::all_of(part, [](std::int32_t p) { return p >= 0 && p < 50; }));
}

TEST(TwoLevel, RefusesWhatDoesNotDivide) {
  const TwoLevelGrid grid;
  const auto method = make_partitioner("linear");
  EXPECT_THROW(TwoLevelPartitioner(*method, 0), support::InputError);
  EXPECT_THROW(TwoLevelPartitioner(*method, 3).partition(grid.problem(), {.parts = 10}), support::InputError);
}

TEST(TwoLevel, ScotchMapsOntoNodes) {
  if (!in_build("scotch_map")) GTEST_SKIP() << "scotch_map is not in this build";
  const TwoLevelGrid grid;
  const auto mapping = make_partitioner("scotch_map");
  const auto part = TwoLevelPartitioner(*mapping, 4).partition(grid.problem(), {.parts = 32}).part;
  const PartitionQuality q = measure_quality(part, 32, {}, &grid.graph);
  EXPECT_EQ(q.empty_parts, 0);
  EXPECT_LE(q.load_max, 1.05 * q.load_mean + 2);
  // Tasks of a node lie together: between nodes far less is cut than between tasks taken at random.
  const NodeQuality mapped = measure_nodes(part, 32, group_parts(32, 4), 4, {}, grid.graph);
  std::vector<std::int32_t> scattered(32);
  for (std::size_t p = 0; p < 32; ++p) scattered[p] = static_cast<std::int32_t>(p % 4);
  const NodeQuality other = measure_nodes(part, 32, scattered, 4, {}, grid.graph);
  EXPECT_LT(2 * mapped.across.edge_cut_total, other.across.edge_cut_total);
  EXPECT_THROW(mapping->partition(grid.problem(), {.parts = 10, .nodes = 4}), support::InputError);
}

}  // namespace
}  // namespace amrbench::partitioners
