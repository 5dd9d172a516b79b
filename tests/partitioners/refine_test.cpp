// Boundary refinement: never worse, exact, within bounds, the same on any number of threads.
#include "partitioners/refine/refine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "partitioners/inputs/stencil_graph.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/quality.hpp"
#include "partitioners/refine/boundary_pairs.hpp"
#include "partitioners/refine/part_state.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "tests/partitioners/quality_reference.hpp"

namespace amrbench::partitioners {
namespace {

using RefineEdges = std::vector<std::pair<std::int32_t, std::int32_t>>;

Graph graph_of_edges(std::size_t vertices, RefineEdges edges) {
  const std::size_t count = edges.size();
  for (std::size_t k = 0; k < count; ++k) edges.emplace_back(edges[k].second, edges[k].first);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  Graph graph;
  graph.offsets.assign(vertices + 1, 0);
  for (const auto& [v, w] : edges) {
    ++graph.offsets[static_cast<std::size_t>(v) + 1];
    graph.adjacent.push_back(w);
  }
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  return graph;
}

/// Vertices on a line, edges mostly to near ones: parts of runs have boundaries of some length.
Graph random_graph(std::size_t vertices, std::mt19937_64& random) {
  RefineEdges edges;
  for (std::size_t v = 1; v < vertices; ++v) {
    const std::size_t links = random() % 4;
    for (std::size_t k = 0; k < links; ++k) {
      const std::size_t reach = random() % 8 == 0 ? v : std::min<std::size_t>(v, 9);
      edges.emplace_back(static_cast<std::int32_t>(v), static_cast<std::int32_t>(v - 1 - random() % reach));
    }
  }
  return graph_of_edges(vertices, std::move(edges));
}

std::vector<std::int32_t> random_parts(std::size_t vertices, int parts, std::mt19937_64& random) {
  std::vector<std::int32_t> part(vertices);
  const std::uint64_t run = 1 + random() % 12;
  for (std::size_t v = 0; v < vertices; ++v)
    part[v] = v == 0 || random() % run == 0 ? static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(parts))
                                            : part[v - 1];
  return part;
}

struct RefineCase {
  Graph graph;
  int parts = 1;
  std::vector<double> weights;
  std::vector<std::int32_t> part;
  RefineOptions options;
};

RefineCase random_case(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RefineCase c;
  const std::size_t vertices = 2 + random() % 160;
  c.graph = random() % 2 == 0 ? random_graph(vertices, random)
                              : stencil_graph({.dim = 2,
                                               .extent = {static_cast<std::int64_t>(vertices), 7, 1},
                                               .stencil = random() % 2 == 0 ? 5 : 9});
  c.parts = 1 + static_cast<int>(random() % 14);
  c.part = random_parts(c.graph.vertices(), c.parts, random);
  if (random() % 2 == 0)
    for (std::size_t v = 0; v < c.graph.vertices(); ++v) c.weights.push_back(static_cast<double>(random() % 64) / 8);
  c.options.rounds = 1 + static_cast<int>(random() % 6);
  c.options.goal = random() % 2 == 0 ? RefineGoal::cut : RefineGoal::volume;
  c.options.tolerance = random() % 2 == 0 ? 0.0 : 0.1;
  return c;
}

void expect_never_worse(const RefineCase& c, const std::vector<std::int32_t>& refined, const RefineResult& result) {
  const PartitionQuality before = quality_reference(c.part, c.parts, c.weights, &c.graph);
  const PartitionQuality after = quality_reference(refined, c.parts, c.weights, &c.graph);
  EXPECT_EQ(result.before.edge_cut_max, before.edge_cut_max);
  EXPECT_EQ(result.before.edge_cut_total, before.edge_cut_total);
  EXPECT_EQ(result.after.edge_cut_max, after.edge_cut_max);
  EXPECT_EQ(result.after.edge_cut_total, after.edge_cut_total);
  EXPECT_LE(after.edge_cut_max, before.edge_cut_max);
  EXPECT_LE(after.edge_cut_total, before.edge_cut_total);
  EXPECT_EQ(after.empty_parts, before.empty_parts);
  const double mean = before.load_mean * (1 + c.options.tolerance);
  EXPECT_LE(after.load_max, c.options.tolerance > 0 ? std::max(before.load_max, mean) : before.load_max);
  EXPECT_LE(result.rounds, c.options.rounds);
  if (c.options.goal == RefineGoal::cut) return;
  EXPECT_EQ(result.before.volume_max, before.comm_volume_max);
  EXPECT_EQ(result.after.volume_max, after.comm_volume_max);
  EXPECT_EQ(result.after.volume_total, after.comm_volume_total);
  EXPECT_LE(after.comm_volume_max, before.comm_volume_max);
  EXPECT_LE(after.comm_volume_total, before.comm_volume_total);
}

TEST(Refine, NeverWorseWithinBoundsTheSameOnAnyThreads) {
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(120, 40)); seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RefineCase c = random_case(seed);
    std::vector<std::int32_t> refined = c.part;
    c.options.threads = 1;
    const RefineResult result = refine_partition(c.graph, c.weights, c.parts, c.options, refined);
    expect_never_worse(c, refined, result);
    for (const int threads : {2, 3}) {
      std::vector<std::int32_t> again = c.part;
      c.options.threads = threads;
      const RefineResult same = refine_partition(c.graph, c.weights, c.parts, c.options, again);
      EXPECT_EQ(again, refined) << threads << " threads";
      EXPECT_EQ(same.moves, result.moves) << threads << " threads";
    }
  }
}

/// Every partition of few vertices with loads no heavier than `most`: the least largest cut, and the least total.
std::array<std::int64_t, 2> least_cuts(const Graph& graph, int parts, double most) {
  std::array<std::int64_t, 2> least{std::int64_t{1} << 40, std::int64_t{1} << 40};
  std::vector<std::int32_t> part(graph.vertices(), 0);
  while (true) {
    const PartitionQuality q = quality_reference(part, parts, {}, &graph);
    if (q.load_max <= most && q.empty_parts == 0) {
      least[0] = std::min(least[0], q.edge_cut_max);
      least[1] = std::min(least[1], q.edge_cut_total);
    }
    std::size_t v = 0;
    while (v < part.size() && part[v] == parts - 1) part[v++] = 0;
    if (v == part.size()) return least;
    ++part[v];
  }
}

TEST(Refine, BetweenStartAndTheOptimumOfTinyGraphs) {
  int optimal = 0, tried = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    RefineEdges edges;
    for (std::int32_t v = 1; v < 8; ++v) {
      edges.emplace_back(v - 1, v);
      edges.emplace_back(v, static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(v)));
    }
    RefineCase c;
    c.graph = graph_of_edges(8, std::move(edges));
    c.parts = 2;
    c.part = {0, 1, 0, 1, 0, 1, 0, 1};
    std::shuffle(c.part.begin(), c.part.end(), random);
    c.options.rounds = 8;
    std::vector<std::int32_t> refined = c.part;
    const RefineResult result = refine_partition(c.graph, {}, c.parts, c.options, refined);
    expect_never_worse(c, refined, result);
    const auto least = least_cuts(c.graph, c.parts, 4);
    EXPECT_GE(result.after.edge_cut_max, least[0]);
    EXPECT_GE(result.after.edge_cut_total, least[1]);
    optimal += result.after.edge_cut_total == least[1] ? 1 : 0;
    ++tried;
  }
  // A search with a way back finds most of them; one that only ever improved would not.
  EXPECT_GE(optimal, 9) << "of " << tried;
}

TEST(Refine, CountsStayExactAfterEveryMove) {
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(20, 8)); seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RefineCase c = random_case(seed);
    std::mt19937_64 random(seed);
    std::vector<std::int32_t> part = c.part;
    refine::PartState state(c.graph, {}, c.parts, RefineGoal::volume, 2, part);
    for (int step = 0; step < 20; ++step) {
      const auto v = static_cast<std::int32_t>(random() % part.size());
      const auto to = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(c.parts));
      const std::int32_t from = part[static_cast<std::size_t>(v)];
      if (to == from) continue;
      state.apply({v, from, to});
      EXPECT_EQ(part[static_cast<std::size_t>(v)], to);
      const PartitionQuality q = quality_reference(part, c.parts, {}, &c.graph);
      const BoundaryMeasures m = state.measures();
      EXPECT_EQ(m.edge_cut_max, q.edge_cut_max);
      EXPECT_EQ(m.edge_cut_total, q.edge_cut_total);
      EXPECT_EQ(m.volume_max, q.comm_volume_max);
      EXPECT_EQ(m.volume_total, q.comm_volume_total);
      EXPECT_EQ(static_cast<double>(state.heaviest_part()), q.load_max);
    }
  }
}

TEST(Refine, PairsAndColoursFromTheirDefinitions) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RefineCase c = random_case(seed);
    const refine::PartState state(c.graph, {}, c.parts, RefineGoal::cut, 1, c.part);
    const refine::BoundaryPairs found = refine::find_pairs(state, state.first_border(), {}, 3);
    std::map<std::pair<int, int>, std::set<std::int32_t>> expected;
    for (std::size_t v = 0; v < c.part.size(); ++v)
      for (const std::int32_t w : refine::neighbours(c.graph, static_cast<std::int32_t>(v))) {
        const int p = c.part[v], q = c.part[static_cast<std::size_t>(w)];
        if (p != q) expected[{std::min(p, q), std::max(p, q)}].insert(static_cast<std::int32_t>(v));
      }
    ASSERT_EQ(found.pairs.size(), expected.size());
    for (const refine::PartPair& pair : found.pairs) {
      const auto vertices = found.of(pair);
      const std::set<std::int32_t>& wanted = expected[{pair.low, pair.high}];
      EXPECT_TRUE(std::equal(vertices.begin(), vertices.end(), wanted.begin(), wanted.end()));
    }
    std::size_t coloured = 0;
    for (const auto& colour : refine::colour_pairs(found, state.parts())) {
      std::set<std::int32_t> used;
      for (const std::size_t k : colour) {
        EXPECT_TRUE(used.insert(found.pairs[k].low).second);
        EXPECT_TRUE(used.insert(found.pairs[k].high).second);
      }
      coloured += colour.size();
    }
    EXPECT_EQ(coloured, found.pairs.size());
  }
}

TEST(Refine, KdPartsOfGridsNeverWorse) {
  for (const int parts : {7, 12, 48, 100}) {
    SCOPED_TRACE(parts);
    const GridShape grid{.dim = 3, .extent = {24, 20, 22}, .stencil = 7};
    RefineCase c;
    c.graph = stencil_graph(grid);
    c.parts = parts;
    const std::vector<double> centres = cell_centres(grid);
    c.part = make_partitioner("kd_parts")->partition({{centres, 3}, {}}, {.parts = parts}).part;
    c.options.rounds = 4;
    std::vector<std::int32_t> refined = c.part;
    const RefineResult result = refine_partition(c.graph, {}, parts, c.options, refined);
    EXPECT_LE(result.after.edge_cut_max, result.before.edge_cut_max);
    EXPECT_LE(result.after.edge_cut_total, result.before.edge_cut_total);
    const PartitionQuality q = measure_quality(refined, parts, {}, &c.graph);
    EXPECT_EQ(q.edge_cut_max, result.after.edge_cut_max);
    EXPECT_LE(q.load_max, measure_quality(c.part, parts, {}, nullptr).load_max);
  }
}

TEST(Refine, RoughBoundariesBecomeSmooth) {
  // Two halves of a square whose boundary is a comb of teeth 4 high: straight it cuts 24 edges.
  const GridShape grid{.dim = 2, .extent = {24, 24, 1}, .stencil = 5};
  const Graph graph = stencil_graph(grid);
  std::vector<std::int32_t> part(24 * 24);
  for (std::size_t v = 0; v < part.size(); ++v) part[v] = v / 24 >= (v % 2 == 0 ? 10U : 14U) ? 1 : 0;
  const RefineResult result = refine_partition(graph, {}, 2, {.rounds = 20}, part);
  EXPECT_EQ(result.before.edge_cut_total, 24 + 23 * 4);
  EXPECT_LE(result.after.edge_cut_total, 26);
  EXPECT_EQ(std::count(part.begin(), part.end(), 0), 24 * 12);
}

TEST(Refine, GroupsKeepTheirVertices) {
  std::mt19937_64 random(5);
  const Graph graph = stencil_graph({.dim = 2, .extent = {20, 20, 1}, .stencil = 5});
  std::vector<std::int32_t> part = random_parts(400, 6, random);
  const std::vector<std::int32_t> start = part;
  const std::vector<std::int32_t> group{0, 0, 1, 1, 2, 2};
  const RefineResult result = refine_partition(graph, {}, 6, {.rounds = 3, .tolerance = 0.5, .group_of = group}, part);
  EXPECT_GT(result.moves, 0);
  for (std::size_t v = 0; v < part.size(); ++v)
    EXPECT_EQ(group[static_cast<std::size_t>(part[v])], group[static_cast<std::size_t>(start[v])]);
}

TEST(Refine, NothingToDo) {
  const Graph graph = stencil_graph({.dim = 2, .extent = {3, 2, 1}, .stencil = 5});
  std::vector<std::int32_t> part(6, 0);
  EXPECT_EQ(refine_partition(graph, {}, 1, {.rounds = 4}, part).rounds, 1);  // one part
  part = {8, 3, 5, 1, 0, 2};                                                 // a part a vertex, three empty
  const RefineResult alone = refine_partition(graph, {}, 9, {.rounds = 4}, part);
  EXPECT_EQ(alone.moves, 0);
  EXPECT_EQ(part, (std::vector<std::int32_t>{8, 3, 5, 1, 0, 2}));
  part = {0, 1, 0, 1, 0, 1};
  EXPECT_EQ(refine_partition(graph, {}, 2, {.rounds = 0}, part).rounds, 0);
  EXPECT_EQ(part, (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1}));
  std::vector<std::int32_t> none;
  EXPECT_EQ(refine_partition(Graph{}, {}, 3, {.rounds = 2}, none).moves, 0);
  const std::vector<double> weightless(6, 0.0);
  EXPECT_LE(refine_partition(graph, weightless, 2, {.rounds = 2}, part).after.edge_cut_total, 7);
}

TEST(Refine, RefusesWhatDoesNotFit) {
  using support::InputError;
  const Graph graph = stencil_graph({.dim = 2, .extent = {2, 1, 1}, .stencil = 5});
  std::vector<std::int32_t> part{0, 1};
  const std::vector<double> one{1}, negative{1, -1};
  const std::vector<std::int32_t> groups{0};
  EXPECT_THROW(refine_partition(graph, {}, 0, {}, part), InputError);
  EXPECT_THROW(refine_partition(graph, {}, 1, {}, part), InputError);
  EXPECT_THROW(refine_partition(graph, one, 2, {}, part), InputError);
  EXPECT_THROW(refine_partition(graph, negative, 2, {}, part), InputError);
  EXPECT_THROW(refine_partition(graph, {}, 2, {.rounds = -1}, part), InputError);
  EXPECT_THROW(refine_partition(graph, {}, 2, {.tolerance = -0.1}, part), InputError);
  EXPECT_THROW(refine_partition(graph, {}, 2, {.group_of = groups}, part), InputError);
  EXPECT_THROW(refine_partition(Graph{}, {}, 2, {}, part), InputError);
}

}  // namespace
}  // namespace amrbench::partitioners
