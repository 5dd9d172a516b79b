#include "partitioners/inputs/stencil_graph.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

/// Every pair of cells asked whether the stencil couples it.
Graph graph_reference(const GridShape& grid) {
  const auto coordinates = [&](std::int64_t i) {
    return std::array<std::int64_t, 3>{i % grid.extent[0], i / grid.extent[0] % grid.extent[1],
                                       i / grid.extent[0] / grid.extent[1]};
  };
  Graph graph;
  for (std::int64_t i = 0; i < grid.cells(); ++i) {
    for (std::int64_t j = 0; j < grid.cells(); ++j) {
      const auto a = coordinates(i);
      const auto b = coordinates(j);
      std::int64_t sum = 0;
      std::int64_t largest = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        sum += std::abs(a[k] - b[k]);
        largest = std::max(largest, std::abs(a[k] - b[k]));
      }
      const bool box = grid.stencil == 9 || grid.stencil == 27;
      if (box ? largest == 1 : sum == 1) graph.adjacent.push_back(static_cast<std::int32_t>(j));
    }
    graph.offsets.push_back(static_cast<std::int64_t>(graph.adjacent.size()));
  }
  return graph;
}

TEST(StencilGraph, AgreesWithAllPairs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    GridShape grid;
    grid.dim = 2 + static_cast<int>(seed % 2);
    const bool box = seed % 4 < 2;
    grid.stencil = grid.dim == 2 ? (box ? 9 : 5) : (box ? 27 : 7);
    for (int axis = 0; axis < grid.dim; ++axis)
      grid.extent[static_cast<std::size_t>(axis)] = 1 + static_cast<std::int64_t>(random() % 6);
    const Graph expected = graph_reference(grid);
    for (const int threads : {1, 3}) {
      const Graph graph = stencil_graph(grid, threads);
      EXPECT_EQ(graph.offsets, expected.offsets);
      EXPECT_EQ(graph.adjacent, expected.adjacent);
    }
  }
}

TEST(StencilGraph, CountsEdgesOfLargeGrids) {
  const Graph seven = stencil_graph({.dim = 3, .extent = {100, 100, 100}, .stencil = 7});
  EXPECT_EQ(seven.edges(), 3U * 99 * 100 * 100);
  const Graph nine = stencil_graph({.dim = 2, .extent = {768, 1152, 1}, .stencil = 9});
  EXPECT_EQ(nine.edges(), 767U * 1152 + 768 * 1151 + 2U * 767 * 1151);
}

TEST(StencilGraph, CentresHaveXFastest) {
  const std::vector<double> centres = cell_centres({.dim = 3, .extent = {2, 3, 2}, .stencil = 7}, 2);
  ASSERT_EQ(centres.size(), 36U);
  const auto centre = [&](std::size_t i) {
    return std::vector<double>(centres.begin() + static_cast<std::ptrdiff_t>(3 * i),
                               centres.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
  };
  EXPECT_EQ(centre(0), (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(centre(1), (std::vector<double>{1.5, 0.5, 0.5}));
  EXPECT_EQ(centre(2), (std::vector<double>{0.5, 1.5, 0.5}));
  EXPECT_EQ(centre(11), (std::vector<double>{1.5, 2.5, 1.5}));
  EXPECT_EQ(cell_centres({.dim = 2, .extent = {1, 2, 1}, .stencil = 9}), (std::vector<double>{0.5, 0.5, 0.5, 1.5}));
}

TEST(StencilGraph, RefusesShapes) {
  using support::InputError;
  EXPECT_THROW(check_grid({.dim = 4, .extent = {1, 1, 1}, .stencil = 7}), InputError);
  EXPECT_THROW(check_grid({.dim = 2, .extent = {4, 4, 1}, .stencil = 7}), InputError);
  EXPECT_THROW(check_grid({.dim = 3, .extent = {4, 4, 4}, .stencil = 9}), InputError);
  EXPECT_THROW(check_grid({.dim = 2, .extent = {4, 4, 4}, .stencil = 9}), InputError);
  EXPECT_THROW(check_grid({.dim = 3, .extent = {4, 0, 4}, .stencil = 7}), InputError);
  EXPECT_THROW(check_grid({.dim = 3, .extent = {-4, 4, 4}, .stencil = 7}), InputError);
  EXPECT_THROW(check_grid({.dim = 3, .extent = {1 << 20, 1 << 20, 1 << 20}, .stencil = 7}), InputError);
  EXPECT_THROW(check_grid({.dim = 2, .extent = {65536, 32768, 1}, .stencil = 5}), InputError);
  EXPECT_NO_THROW(check_grid({.dim = 2, .extent = {65535, 32768, 1}, .stencil = 5}));
}

}  // namespace
}  // namespace amrbench::partitioners
