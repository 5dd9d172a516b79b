// Meshes from maps of cell sizes: the least levels that meet map and 2:1 balance, on any ranks.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include "amr/random_mesh.hpp"
#include "temporary_folder.hpp"
#include "workloads/input_refusal.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/water_runs.hpp"

namespace amrbench::workloads {
namespace {

using checks::Result;
using checks::run;
using support::Communicator;

/// 60 m x 40 m; patches of 0.7 to 8 m, some without data.
shallow_water::Raster random_map(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  shallow_water::Raster map;
  map.columns = 37;  // its cells are none of the mesh's
  map.rows = 23;
  map.west = -2.0;
  map.south = -1.0;
  map.dx = 65.0 / 37;
  map.dy = 42.0 / 23;
  for (std::int64_t k = 0; k < map.rows * map.columns; ++k) {
    const std::uint64_t draw = random() % 60;
    map.cells.push_back(draw == 0   ? 0.7
                        : draw == 1 ? 1.0 + 0.01 * static_cast<double>(random() % 100)
                        : draw < 5  ? std::numeric_limits<double>::quiet_NaN()
                                    : 8.0);
  }
  return map;
}

apps::Config mapped(const tests::TemporaryFolder& folder) {
  apps::Config config = checks::make_config("lake", {3, 2, 1}, 3, 1e-3);
  config.mesh.block = {4, 4, 1};
  config.shallow_water.problem = "raster";
  config.shallow_water.bed_file = folder.path("bed.asc");
  config.shallow_water.resolution = folder.path("map.asc");
  config.mesh.frozen = true;
  config.run.steps = 4;
  config.run.time = 10.0;
  return config;
}

/// Anew.
void write_inputs(const Communicator& comm, const tests::TemporaryFolder& folder, const shallow_water::Raster& map) {
  support::run_on_root(comm, [&] {
    shallow_water::Raster bed;
    bed.columns = 6;
    bed.rows = 4;
    bed.dx = bed.dy = 10.0;
    for (int k = 0; k < 24; ++k) bed.cells.push_back(0.1 * (k * 7 % 5));
    for (const char* const name : {"bed.asc", "map.asc"}) std::filesystem::remove(folder.path(name));
    shallow_water::write_ascii_grid(folder.path("bed.asc"), bed);
    shallow_water::write_ascii_grid(folder.path("map.asc"), map);
  });
}

/// The level that a block's box asks for, cell by cell of the map. Cells of level l are 5 / 2^l m wide.
int wanted_level(const shallow_water::Raster& map, const amr::checks::Place<2>& place) {
  const double side = std::ldexp(20.0, -place.first);
  int level = 0;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    for (std::int64_t column = 0; column < map.columns; ++column) {
      const double west = map.west + static_cast<double>(column) * map.dx;
      const double south = map.south + static_cast<double>(map.rows - 1 - row) * map.dy;
      const bool meets = west < (place.second[0] + 1) * side && west + map.dx > place.second[0] * side &&
                         south < (place.second[1] + 1) * side && south + map.dy > place.second[1] * side;
      if (!meets || std::isnan(map.at(row, column))) continue;
      while (std::ldexp(5.0, -level) > map.at(row, column)) ++level;
    }
  }
  return level;
}

/// All leaves, from the root cells on.
amr::checks::Wishes<2> wanted_leaves(const shallow_water::Raster& map, const amr::checks::Closing<2>& closing) {
  auto leaves = amr::checks::root_leaves<2>({3, 2});
  for (bool changes = true; changes;) {
    changes = false;
    for (auto& [place, state] : leaves) {
      state = place.first < wanted_level(map, place) ? amr::Change::refine : amr::Change::stay;
      changes = changes || state == amr::Change::refine;
    }
    amr::checks::settle<2>(leaves, closing);
    leaves = amr::checks::apply<2>(leaves);
  }
  return leaves;
}

TEST(ResolutionMap, FrozenMeshesHaveTheLeastLevelsThatMeetIt) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const tests::TemporaryFolder folder(world);
    const shallow_water::Raster map = random_map(seed);
    write_inputs(world, folder, map);
    apps::Config config = mapped(folder);
    amr::checks::Closing<2> closing{{3, 2}, {}};
    if (seed % 2 == 0) closing.axes = {true, seed % 4 == 0};
    config.mesh.periodic = {closing.axes[0], closing.axes[1], false};
    const auto leaves = wanted_leaves(map, closing);
    config.partition.method = seed % 3 == 0 ? "hilbert" : "orb";
    const Result wanted = run(self, config);
    std::vector<amr::Key> keys;
    const auto space = loadbalance::make_key_space<2>(config.mesh, config.partition);
    const Result result = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t) {
      keys = support::all_gather_v<amr::Key>(
          world, std::vector<amr::Key>(simulation.mesh().keys().begin(), simulation.mesh().keys().end()));
    });
    std::ranges::sort(keys);
    EXPECT_EQ(keys, amr::checks::keys_of<2>(space, leaves));
    EXPECT_EQ(result.mesh, wanted.mesh);
    EXPECT_EQ(result.fields, wanted.fields);
    support::barrier(world);
  }
}

TEST(ResolutionMap, MeshesThatFollowWavesAreAtLeastAsFine) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(world);
  const shallow_water::Raster map = random_map(9);
  write_inputs(world, folder, map);
  apps::Config config = mapped(folder);
  config.mesh.frozen = false;
  config.shallow_water.level = 0.25;  // islands, whose shores refine
  config.run.steps = 12;
  const Result wanted = run(self, config);
  std::int64_t finer = 0;
  const Result result = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t) {
    const amr::Mesh<2>& mesh = simulation.mesh();
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      const auto place = amr::checks::place_of(mesh, i);
      EXPECT_GE(place.first, wanted_level(map, place));
      finer += place.first > wanted_level(map, place);
    }
  });
  EXPECT_GT(support::all_sum(world, finer), 0);
  EXPECT_EQ(result.mesh, wanted.mesh);
  EXPECT_EQ(result.fields, wanted.fields);
  support::barrier(world);
}

TEST(ResolutionMap, BadMapsAreNamed) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(self);
  const auto refusal = [&](auto&& change) {
    apps::Config config = mapped(folder);
    shallow_water::Raster map = random_map(3);
    change(config, map);
    write_inputs(self, folder, map);
    return tests::refusal_of([&] { return ShallowWater(config, config); });
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(refusal([](auto&, auto&) {}), "taken");
  expect(refusal([&](auto& c, auto&) { c.shallow_water.resolution = folder.path("none.asc"); }), "none.asc");
  expect(refusal([](auto&, auto& map) { map.west = 1.0; }), "map.asc: covers [1, ");
  expect(refusal([](auto&, auto& map) { map.cells[40] = 0.25; }),
         "map.asc: asks for cells of 0.25 m; with mesh.max_level = 3 they are of 0.625 m");
  expect(refusal([](auto&, auto& map) { map.cells[40] = 0.0; }), "wanted cell size 0 m must be from");
  expect(refusal([](auto& c, auto&) { c.mesh.uniform = true; }), "shallow_water.resolution: with mesh.uniform");
}

}  // namespace
}  // namespace amrbench::workloads
