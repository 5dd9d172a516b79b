#include "partitioners/quality.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "partitioners/inputs/stencil_graph.hpp"
#include "support/error.hpp"
#include "tests/partitioners/quality_reference.hpp"

namespace amrbench::partitioners {
namespace {

void expect_same(const PartitionQuality& a, const PartitionQuality& b) {
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.empty_parts, b.empty_parts);
  EXPECT_EQ(a.load_max, b.load_max);
  EXPECT_EQ(a.load_mean, b.load_mean);
  EXPECT_EQ(a.load_min, b.load_min);
  EXPECT_EQ(a.has_graph, b.has_graph);
  EXPECT_EQ(a.degree_max, b.degree_max);
  EXPECT_EQ(a.degree_mean, b.degree_mean);
  EXPECT_EQ(a.edge_cut_max, b.edge_cut_max);
  EXPECT_EQ(a.edge_cut_total, b.edge_cut_total);
  EXPECT_EQ(a.comm_volume_max, b.comm_volume_max);
  EXPECT_EQ(a.comm_volume_total, b.comm_volume_total);
  EXPECT_EQ(a.boundary_max, b.boundary_max);
  EXPECT_EQ(a.boundary_total, b.boundary_total);
  EXPECT_EQ(a.pieces_max, b.pieces_max);
  EXPECT_EQ(a.pieces_total, b.pieces_total);
}

/// Boxes of `edge` cells, numbered x fastest.
std::vector<std::int32_t> boxes(const GridShape& grid, std::array<std::int64_t, 3> edge) {
  std::vector<std::int32_t> part(static_cast<std::size_t>(grid.cells()));
  for (std::int64_t i = 0; i < grid.cells(); ++i) {
    const std::int64_t x = i % grid.extent[0];
    const std::int64_t y = i / grid.extent[0] % grid.extent[1];
    const std::int64_t z = i / (grid.extent[0] * grid.extent[1]);
    const std::int64_t nx = grid.extent[0] / edge[0];
    const std::int64_t ny = grid.extent[1] / edge[1];
    part[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(x / edge[0] + nx * (y / edge[1] + ny * (z / edge[2])));
  }
  return part;
}

TEST(Quality, SeedsBoxInsideTheNinePointGrid) {
  // 48 x 72 cells inside 768 x 1152: 2 (48 + 72) edges along the axes and 4 (48 + 72 - 1) diagonal ones leave it.
  const GridShape grid{.dim = 2, .extent = {768, 1152, 1}, .stencil = 9};
  const Graph graph = stencil_graph(grid);
  const PartitionQuality q = measure_quality(boxes(grid, {48, 72, 1}), 256, {}, &graph);
  EXPECT_EQ(q.edge_cut_max, 716);
  EXPECT_EQ(q.degree_max, 8);
  EXPECT_EQ(q.load_max, 3456);
  EXPECT_EQ(q.load_min, 3456);
  EXPECT_EQ(q.load_mean, 3456);
  EXPECT_EQ(q.boundary_max, 2 * (48 + 72) - 4);
  // A cell on a side touches one other part, each of the four corner cells three.
  EXPECT_EQ(q.comm_volume_max, 2 * (48 + 72) - 8 + 4 * 3);
  EXPECT_EQ(q.pieces_max, 1);
  EXPECT_EQ(q.pieces_total, 256);
  EXPECT_EQ(q.empty_parts, 0);
}

TEST(Quality, CubesOnTheSevenPointGrid) {
  const GridShape grid{.dim = 3, .extent = {20, 20, 20}, .stencil = 7};
  const Graph graph = stencil_graph(grid);
  const PartitionQuality q = measure_quality(boxes(grid, {5, 5, 5}), 64, {}, &graph);
  EXPECT_EQ(q.edge_cut_max, 6 * 25);
  EXPECT_EQ(q.comm_volume_max, 6 * 25);
  EXPECT_EQ(q.boundary_max, 125 - 27);
  EXPECT_EQ(q.degree_max, 6);
  EXPECT_EQ(q.edge_cut_total, 3 * 3 * 16 * 25);  // 3 cuts an axis, 16 faces of 25 cells each
  EXPECT_DOUBLE_EQ(q.degree_mean, 2.0 * 3 * 3 * 16 / 64);
}

TEST(Quality, AgreesWithTheReference) {
  const GridShape grids[] = {{.dim = 2, .extent = {13, 7, 1}, .stencil = 5},
                             {.dim = 2, .extent = {9, 11, 1}, .stencil = 9},
                             {.dim = 3, .extent = {5, 6, 4}, .stencil = 7},
                             {.dim = 3, .extent = {4, 3, 5}, .stencil = 27}};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Graph graph = stencil_graph(grids[seed % 4]);
    const int parts = 1 + static_cast<int>(random() % 12);
    std::vector<std::int32_t> part(graph.vertices());
    // From scattered to long runs, so that pieces and volumes differ.
    const std::uint64_t run = 1 + random() % 20;
    for (std::size_t i = 0; i < part.size(); ++i)
      part[i] = i % run == 0 || i == 0 ? static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(parts))
                                       : part[i - 1];
    std::vector<double> weights(seed % 3 == 0 ? 0 : graph.vertices());
    for (double& w : weights) w = static_cast<double>(random() % 1024) / 16;
    const Graph* used = seed % 5 == 0 ? nullptr : &graph;
    const PartitionQuality expected = quality_reference(part, parts, weights, used);
    for (const int threads : {1, 2, 5}) {
      SCOPED_TRACE(threads);
      expect_same(measure_quality(part, parts, weights, used, threads), expected);
    }
    const int nodes = 1 + static_cast<int>(random() % 5);
    const std::vector<std::int32_t> node_of = group_parts(parts, nodes);
    std::vector<std::int32_t> node(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) node[i] = node_of[static_cast<std::size_t>(part[i])];
    const NodeQuality two = measure_nodes(part, parts, node_of, nodes, weights, graph, 2);
    EXPECT_EQ(two.nodes, nodes);
    expect_same(two.across, quality_reference(node, nodes, weights, &graph));
    EXPECT_EQ(two.messages_max, messages_reference(part, node_of, graph));
  }
}

TEST(Quality, LoadsAreExact) {
  // In doubles, 1 disappears beside 1e17; summed exactly it does not.
  const std::vector<double> weights{1e17, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<std::int32_t> part(weights.size(), 0);
  const PartitionQuality q = measure_quality(part, 1, weights, nullptr);
  EXPECT_EQ(q.load_max, 1e17 + 16);
  EXPECT_EQ(q.load_mean, 1e17 + 16);
  const std::vector<std::int32_t> before(weights.size(), 1);
  EXPECT_EQ(moved_weight(part, before, weights), 1e17 + 16);
}

TEST(Quality, EmptyPartsAndEmptyInput) {
  const Graph graph = stencil_graph({.dim = 2, .extent = {2, 1, 1}, .stencil = 5});
  const std::vector<std::int32_t> part{4, 1};
  const PartitionQuality q = measure_quality(part, 6, {}, &graph);
  EXPECT_EQ(q.empty_parts, 4);
  EXPECT_EQ(q.load_min, 0);
  EXPECT_DOUBLE_EQ(q.load_mean, 2.0 / 6);
  EXPECT_EQ(q.edge_cut_total, 1);
  EXPECT_EQ(q.pieces_total, 2);
  const Graph none;
  const PartitionQuality empty = measure_quality({}, 3, {}, &none);
  EXPECT_EQ(empty.empty_parts, 3);
  EXPECT_EQ(empty.load_max, 0);
  EXPECT_EQ(empty.edge_cut_total, 0);
}

TEST(Quality, RefusesWhatDoesNotFit) {
  const std::vector<std::int32_t> part{0, 1, 2};
  const Graph graph;
  const std::vector<double> weights{1, 2};
  using support::InputError;
  EXPECT_THROW(measure_quality(part, 2, {}, nullptr), InputError);
  EXPECT_THROW(measure_quality(part, 0, {}, nullptr), InputError);
  EXPECT_THROW(measure_quality(part, 3, weights, nullptr), InputError);
  EXPECT_THROW(measure_quality(part, 3, {}, &graph), InputError);
  const std::vector<std::int32_t> negative{0, -1};
  EXPECT_THROW(measure_quality(negative, 2, {}, nullptr), InputError);
  EXPECT_THROW(moved_weight(part, negative, {}), InputError);
  EXPECT_THROW(group_parts(0, 1), InputError);
  EXPECT_THROW(group_parts(1, 0), InputError);
}

TEST(Quality, MovedWeight) {
  const std::vector<std::int32_t> part{0, 1, 2, 2};
  const std::vector<std::int32_t> previous{0, 2, 2, 7};
  const std::vector<double> weights{1, 2, 4, 8};
  EXPECT_EQ(moved_weight(part, previous, {}), 2);
  EXPECT_EQ(moved_weight(part, previous, weights), 10);
  EXPECT_EQ(moved_weight(part, part, weights), 0);
}

TEST(Quality, GroupsAreRunsOfNearlyEqualLength) {
  EXPECT_EQ(group_parts(7, 3), (std::vector<std::int32_t>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(group_parts(4, 2), (std::vector<std::int32_t>{0, 0, 1, 1}));
  EXPECT_EQ(group_parts(2, 5), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(group_parts(3, 1), (std::vector<std::int32_t>{0, 0, 0}));
}

TEST(ModelledCost, IsThatOfTheSlowestPart) {
  // A path of 6 points in 3 parts: 0 0 1 1 2 2. The middle part has two neighbours, the last one the load.
  const Graph path{{0, 1, 3, 5, 7, 9, 10}, {1, 0, 2, 1, 3, 2, 4, 3, 5, 4}};
  const std::vector<std::int32_t> part{0, 0, 1, 1, 2, 2};
  const std::vector<double> weights{1, 2, 1, 1, 10, 20};
  const std::vector<PartShare> shares = measure_shares(part, 3, weights, path);
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].load, 3.0);
  EXPECT_EQ(shares[1].degree, 2);
  EXPECT_EQ(shares[1].edge_cut, 2);
  EXPECT_EQ(shares[2].load, 30.0);
  EXPECT_EQ(shares[2].degree, 1);
  CostRates rates{.work_s = 2,
                  .latency_s = 100,
                  .byte_s = 3,
                  .edge_bytes = 5,
                  .comp_phases = 4,
                  .comm_phases = 2,
                  .overlap_phases = 3};
  const ModelledCost cost = modelled_cost(shares, rates);
  EXPECT_EQ(cost.comp_s, 60.0);   // 2 * 30
  EXPECT_EQ(cost.comm_s, 230.0);  // 100 * 2 + 3 * 5 * 2
  EXPECT_EQ(cost.bsp_s, 4 * 60.0 + 2 * 230.0);
  EXPECT_EQ(cost.overlap_s, 3 * 230.0);
  EXPECT_EQ(cost.total_s, cost.bsp_s + cost.overlap_s);
  EXPECT_EQ(cost.threads_s, 0.0);
  EXPECT_EQ(modelled_cost({}, rates).total_s, 0.0);
  rates.threads = 4;  // of 30 units: 8 each, which touch 40 bytes of 16
  rates.cache_bytes = 64;
  rates.touched_bytes = 5;
  rates.fill_s = 7;
  rates.syncs = 3;
  rates.sync_s = 0.5;
  EXPECT_EQ(modelled_cost(shares, rates).threads_s, 2.0 * 8 + 7.0 * 3 + 3 * 0.5 * 4);
}

}  // namespace
}  // namespace amrbench::partitioners
