// Placements: the parts that a run gets are those that the method gives on the same block centres, and the graph that
// is gathered is that of the whole mesh.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "amr/random_mesh.hpp"
#include "loadbalance/block_graph.hpp"
#include "loadbalance/placement.hpp"
#include "partitioners/two_level.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::Mesh;
using support::Communicator;

/// Random leaves of the whole domain, along a curve's keys.
std::vector<amr::Key> random_keys(const sfc::KeySpace<3>& space, std::uint64_t seed) {
  auto leaves = amr::checks::root_leaves<3>(space.root());
  for (int pass = 0; pass < space.max_level(); ++pass)
    leaves = amr::checks::random_refinement<3>(
        leaves, support::mix64(seed, pass), {30, 20}, space.max_level(),
        {space.root(), {space.is_periodic(0), space.is_periodic(1), space.is_periodic(2)}});
  return amr::checks::keys_of<3>(space, leaves);
}

/// A mesh dealt out by random cuts, and the same on one rank.
struct Meshes {
  Meshes(const sfc::KeySpace<3>& space, std::uint64_t seed)
      : mesh(Communicator::world(), space), whole(Communicator::duplicate(MPI_COMM_SELF), space) {
    const auto keys = random_keys(space, seed);
    const auto cuts = amr::checks::random_cuts(seed, static_cast<std::int64_t>(keys.size()), mesh.comm().size());
    mesh.set_blocks({keys.begin() + cuts[mesh.comm().rank()], keys.begin() + cuts[mesh.comm().rank() + 1]});
    whole.set_blocks(keys);
  }
  Mesh<3> mesh, whole;
};

enum class Loads { equal, random, levels, zero };

void weigh(BlockTable& table, Loads loads, std::uint64_t seed) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double draw = static_cast<double>(support::mix64(seed, table.key[i]) >> 11) * 0x1p-50;
    table.weight[i] = loads == Loads::equal    ? 1.0
                      : loads == Loads::random ? draw
                      : loads == Loads::levels ? double(1 << table.level[i])
                                               : 0.0;
  }
}

/// Of each local block.
std::vector<std::int32_t> parts_of(const Mesh<3>& mesh, const Destinations& to) {
  if (to.cuts.empty()) return to.ranks;
  std::vector<std::int32_t> parts;
  for (std::int64_t p = mesh.global_begin(); p < mesh.global_begin() + mesh.size(); ++p)
    parts.push_back(std::int32_t(std::upper_bound(to.cuts.begin() + 1, to.cuts.end(), p) - (to.cuts.begin() + 1)));
  return parts;
}

TEST(Placement, GivesThePartsOfThePartitionerOnTheSameCentres) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    const sfc::Coord<3> root = amr::checks::random_root<3>(random, 6);
    for (const auto& entry : partitioners::partitioner_registry()) {
      for (const char* splitter : {"octree", "midpoint", "median"}) {
        const bool has_tree = entry.name == "morton" || entry.name == "hilbert" || entry.name == "gensfc";
        if (std::string(splitter) != "octree" && !has_tree) continue;
        const PartitionConfig config{std::string(entry.name), splitter, seed == 2 ? 4 : 1,
                                     seed == 3 ? "midpoint" : "exact"};
        amr::MeshConfig mesh_config;
        for (int d = 0; d < 3; ++d) mesh_config.root[d] = static_cast<int>(root[d]);
        mesh_config.max_level = 1 + static_cast<int>(seed % 3);
        const Meshes meshes(make_key_space<3>(mesh_config, config), seed);
        const Placement placement(config);
        for (const Loads loads : {Loads::equal, Loads::random, Loads::levels, Loads::zero}) {
          SCOPED_TRACE(config.method + ", " + splitter + ", seed " + std::to_string(seed) + ", loads " +
                       std::to_string(int(loads)));
          BlockTable mine, all;
          fill_block_table(meshes.mesh, {}, mine);
          fill_block_table(meshes.whole, {}, all);
          weigh(mine, loads, seed);
          weigh(all, loads, seed);
          const double heaviest = *std::max_element(all.weight.begin(), all.weight.end());
          fill_centres(meshes.mesh, mine);
          const partitioners::Graph gathered = gather_block_graph(meshes.mesh);
          const auto got = parts_of(
              meshes.mesh, placement.place(meshes.mesh.comm(), mine, world.size(), heaviest, mine.owner, &gathered));

          fill_centres(meshes.whole, all);
          const partitioners::Graph graph = gather_block_graph(meshes.whole);
          const partitioners::BlockGrid grid{3, {root[0], root[1], root[2]}, mesh_config.max_level};
          partitioners::PartitionOptions options;
          options.parts = world.size();
          options.splitter = splitter;
          options.slices = partitioners::slice_rule_from_name(config.slices, "slices");
          options.bucket = static_cast<std::size_t>(config.bucket);
          const auto expected = partitioners::make_partitioner(entry.name)
                                    ->partition({{all.centre, 3}, all.weight, &graph, &grid}, options)
                                    .part;
          const auto first = expected.begin() + meshes.mesh.global_begin();
          EXPECT_EQ(got, std::vector<std::int32_t>(first, first + meshes.mesh.size()));
          if (loads == Loads::equal && placement.follows_keys()) {
            EXPECT_EQ(parts_of(meshes.mesh, placement.slice_evenly(world, mine.blocks, {}, world.size())), got);
          }
        }
      }
    }
  }
}

TEST(Placement, InTwoLevelsGivesThePartsOfTheTwoLevelPartitioner) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    const sfc::Coord<3> root = amr::checks::random_root<3>(random, 6);
    for (const auto& entry : partitioners::partitioner_registry()) {
      const bool has_tree = entry.name == "morton" || entry.name == "hilbert" || entry.name == "gensfc";
      for (const bool on_keys : {false, true}) {
        if (on_keys && !has_tree) continue;
        PartitionConfig config{.method = std::string(entry.name), .splitter = on_keys ? "octree" : "median"};
        config.slices = seed == 3 ? "midpoint" : "exact";
        const int tasks = 1 + static_cast<int>(random() % 4);
        config.nodes = 1 + static_cast<int>(random() % 5);
        const int parts = config.nodes * tasks;
        SCOPED_TRACE(config.method + ", " + config.splitter + ", seed " + std::to_string(seed) + ", " +
                     std::to_string(config.nodes) + " nodes of " + std::to_string(tasks));
        amr::MeshConfig mesh_config;
        for (int d = 0; d < 3; ++d) mesh_config.root[d] = static_cast<int>(root[d]);
        mesh_config.max_level = 1 + static_cast<int>(seed % 3);
        const Meshes meshes(make_key_space<3>(mesh_config, config), seed);
        const Placement placement(config);
        EXPECT_EQ(placement.in_levels(), !on_keys);
        BlockTable mine, all;
        fill_block_table(meshes.mesh, {}, mine);
        fill_block_table(meshes.whole, {}, all);
        weigh(mine, Loads::random, seed);
        weigh(all, Loads::random, seed);
        const double heaviest = *std::max_element(all.weight.begin(), all.weight.end());
        fill_centres(meshes.mesh, mine);
        fill_centres(meshes.whole, all);
        const partitioners::Graph gathered = gather_block_graph(meshes.mesh), graph = gather_block_graph(meshes.whole);
        const auto got =
            parts_of(meshes.mesh, placement.place(meshes.mesh.comm(), mine, parts, heaviest, mine.owner, &gathered));
        // Slices of keys are those of one level.
        const partitioners::BlockGrid grid{3, {root[0], root[1], root[2]}, mesh_config.max_level};
        const partitioners::PartitionOptions options{
            .parts = parts,
            .splitter = config.splitter,
            .slices = partitioners::slice_rule_from_name(config.slices, "slices")};
        const auto method = partitioners::make_partitioner(entry.name);
        partitioners::TwoLevelPartitioner two_level(*method, config.nodes);
        partitioners::Partitioner& reference = on_keys ? *method : two_level;
        const auto expected = reference.partition({{all.centre, 3}, all.weight, &graph, &grid}, options).part;
        const auto first = expected.begin() + meshes.mesh.global_begin();
        EXPECT_EQ(got, std::vector<std::int32_t>(first, first + meshes.mesh.size()));
      }
    }
  }
}

TEST(Placement, NodesKeepTheirRanksWhenPartsAreRenamed) {
  const Communicator world = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Meshes meshes({sfc::Curve::morton, {4, 3, 2}, 2}, seed);
    BlockTable mine;
    fill_block_table(meshes.mesh, {}, mine);
    fill_centres(meshes.mesh, mine);
    // Owners on 3 nodes of 4 ranks: those of a placement whose nodes and tasks have other numbers.
    PartitionConfig config{.method = "orb"};
    config.nodes = 3;
    std::vector<std::int32_t> owners = Placement(config).place(world, mine, 12, 1.0, {}).ranks;
    for (std::int32_t& o : owners) o = (o / 4 + 1) % 3 * 4 + (o % 4 + 1) % 4;
    config.rename = true;
    EXPECT_EQ(Placement(config).place(world, mine, 12, 1.0, owners).ranks, owners);
  }
}

TEST(Placement, RefusesNodesThatDoNotDivide) {
  const Communicator world = Communicator::world();
  const Meshes meshes({sfc::Curve::morton, {4, 3, 2}, 1}, 1);
  BlockTable mine;
  fill_block_table(meshes.mesh, {}, mine);
  fill_centres(meshes.mesh, mine);
  PartitionConfig config{.method = "kd_parts"};
  config.nodes = 4;
  EXPECT_THROW((void)Placement(config).place(world, mine, 10, 1.0, mine.owner), support::InputError);
}

TEST(Placement, SlicesFollowTheOrderOfTheRanks) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Meshes meshes({sfc::Curve::hilbert, {4, 3, 2}, 2}, seed);
    BlockTable mine, all;
    fill_block_table(meshes.mesh, {}, mine);
    fill_block_table(meshes.whole, {}, all);
    weigh(mine, Loads::random, seed);
    weigh(all, Loads::random, seed);
    const double heaviest = *std::max_element(all.weight.begin(), all.weight.end());
    const auto cuts = Placement({}).slice(meshes.mesh.comm(), mine, meshes.mesh.comm().size(), heaviest).cuts;
    ASSERT_EQ(cuts.size(), std::size_t(meshes.mesh.comm().size()) + 1);
    EXPECT_EQ(cuts.front(), 0);
    EXPECT_EQ(cuts.back(), meshes.mesh.global_size());
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    double total = 0.0;
    for (const double w : all.weight) total += w;
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
      double part = 0.0;
      for (std::int64_t k = cuts[p]; k < cuts[p + 1]; ++k) part += all.weight[k];
      EXPECT_LE(part, total / meshes.mesh.comm().size() + heaviest * (1 + 1e-9)) << "part " << p;
    }
  }
}

TEST(BlockGraph, IsThatOfTheWholeMeshOnRankZero) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool closes = seed % 2 == 0;  // where blocks may meet themselves, and others twice
    sfc::KeySpace<3> space(sfc::Curve::morton, closes ? sfc::Coord<3>{1, 2, 4} : sfc::Coord<3>{3, 2, 4}, 2);
    space.set_periodic({closes, closes, closes});
    const Meshes meshes(space, seed);
    const partitioners::Graph graph = gather_block_graph(meshes.mesh);
    if (!meshes.mesh.comm().is_root()) {
      EXPECT_EQ(graph.vertices(), 0U);
      continue;
    }
    const Mesh<3>& whole = meshes.whole;
    ASSERT_EQ(graph.vertices(), std::size_t(whole.size()));
    for (std::int32_t i = 0; i < whole.size(); ++i) {
      // By definition: blocks of which a face of one lies in a face of the other.
      std::vector<std::int32_t> expected;
      for (std::int32_t j = 0; j < whole.size(); ++j) {
        if (j == i) continue;
        int touching = 0, overlapping = 0;
        for (int d = 0; d < 3; ++d) {
          const std::int64_t size_i = 4 >> whole.level(i), size_j = 4 >> whole.level(j);
          const std::int64_t a = whole.coord(i)[d] * size_i, b = whole.coord(j)[d] * size_j;
          const bool overlaps = a < b + size_j && b < a + size_i;
          const std::int64_t end = closes ? 4 * std::int64_t{space.root()[d]} : std::int64_t{1} << 30;
          overlapping += overlaps ? 1 : 0;
          touching += !overlaps && ((a + size_i) % end == b || (b + size_j) % end == a) ? 1 : 0;
        }
        if (touching == 1 && overlapping == 2) expected.push_back(j);
      }
      const std::vector<std::int32_t> got(graph.adjacent.begin() + graph.offsets[i],
                                          graph.adjacent.begin() + graph.offsets[i + 1]);
      ASSERT_EQ(got, expected) << "block " << i;
    }
  }
}

TEST(Placement, RefusesUnknownNames) {
  EXPECT_THROW(Placement({"nowhere"}), support::InputError);
  try {
    const Placement placement({"morton", "thirds"});
    FAIL() << "accepted";
  } catch (const support::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("partition.splitter"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("octree"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace amrbench::loadbalance
