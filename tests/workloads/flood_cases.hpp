#pragma once
// Small floods from files, for tests on the host and on GPUs.
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "temporary_folder.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/water_runs.hpp"

namespace amrbench::workloads::checks {

inline std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Hills and hollows of about a metre on 60 m x 40 m, with a corner of no data.
inline void write_bed(const std::string& file, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  shallow_water::Raster bed;
  bed.columns = 31;  // its cells are none of the mesh's
  bed.rows = 20;
  bed.west = 1000.0;
  bed.south = -200.0;
  bed.dx = 60.0 / 31;
  bed.dy = 2.0;
  for (std::int64_t k = 0; k < bed.rows * bed.columns; ++k)
    bed.cells.push_back(static_cast<double>(random() >> 11) * 0x1p-53 +
                        0.5 * std::sin(0.3 * static_cast<double>(k % 31)));
  bed.cells[0] = bed.cells[1] = bed.cells[31] = std::numeric_limits<double>::quiet_NaN();
  shallow_water::write_ascii_grid(file, bed);
}

inline apps::Config flood(const tests::TemporaryFolder& folder) {
  apps::Config config;
  config.mesh.dim = 2;
  config.mesh.root = {3, 2, 1};
  config.mesh.block = {8, 8, 1};
  config.mesh.max_level = 2;
  config.mesh.block_change = 1;
  config.run.workload = "shallow_water";
  config.run.refine_every = 3;
  config.run.checksum_every = 10;
  config.run.steps = 60;
  config.run.time = 600.0;
  config.shallow_water.problem = "raster";
  config.shallow_water.bed_file = folder.path("bed.asc");
  config.shallow_water.roughness = 0.03;
  config.shallow_water.refine_above = 0.05;
  config.shallow_water.coarsen_below = 0.01;
  config.shallow_water.gauge_interval = 2.0;
  config.shallow_water.maps = true;
  config.inflow = {{{1000.0, -190.0}, {1000.0, -170.0}, folder.path("river.csv")},
                   {{1020.0, -195.0}, {1041.0, -171.0}, folder.path("drain.csv")},
                   {{1060.0, -160.0}, {1060.0, -160.0}, folder.path("drain.csv")}};
  config.gauge = {{"breach", {1000.0, -180.0}}, {"", {1030.0, -180.0}}, {"corner", {1060.0, -160.0}}};
  config.balance.policy = "every";
  apps::complete_config(config);
  return config;
}

inline void write_inputs(const support::Communicator& comm, const tests::TemporaryFolder& folder) {
  support::run_on_root(comm, [&] {
    write_bed(folder.path("bed.asc"), 5);
    std::ofstream(folder.path("river.csv")) << "time_s,discharge_m3_s\n0,0\n10,5\n40,5\n60,1\n";
    std::ofstream(folder.path("drain.csv")) << "time_s,discharge_m3_s\n0,0.2\n30,0.4\n";
  });
}

/// The files of a run that is in its last step.
inline std::vector<std::string> files_of(amr::Simulation<2>& simulation, const std::string& folder) {
  simulation.write_files(folder, support::Existing::replace);
  support::barrier(simulation.mesh().comm());
  std::vector<std::string> texts;
  for (const char* const name : {"gauges.csv", "bed.asc", "depth.asc", "largest_depth.asc", "arrival_time.asc"})
    texts.push_back(text_of(folder + "/" + name));
  return texts;
}

inline void write_text(const std::string& file, const std::string& text) {
  std::ofstream(file) << text;
}

/// Two inflows on parts of sides, one that starts later, beside a line of the other kind, over hills.
inline apps::Config flood_through_sides(const support::Communicator& comm, const tests::TemporaryFolder& folder) {
  support::run_on_root(comm, [&] {
    std::mt19937_64 random(11);
    shallow_water::Raster bed;
    bed.columns = 50;
    bed.rows = 40;
    bed.dx = bed.dy = 1.0;
    for (int k = 0; k < 2000; ++k) bed.cells.push_back(static_cast<double>(random() >> 11) * 0x1p-53);
    shallow_water::write_ascii_grid(folder.path("bed.asc"), bed);
    write_text(folder.path("river.csv"), "time_s,discharge_m3_s\n0,2\n10,6\n20,0\n");
    write_text(folder.path("late.csv"), "time_s,discharge_m3_s\n3,0\n8,4\n");
    write_text(folder.path("depth.csv"), "time_s,depth_m\n0,0.1\n30,0.2\n");
  });
  apps::Config config = flood(folder);
  config.mesh.root = {5, 4, 1};
  config.gauge = {{"", {10.0, 10.0}}};
  config.run.steps = 70;
  config.run.time = 300.0;
  config.inflow = {{{0, 3.3}, {0, 17.9}, folder.path("river.csv"), "west", ""},
                   {{20.0, 40.0}, {31.0, 40.0}, folder.path("late.csv"), "north", folder.path("depth.csv")},
                   {{40.0, 10.0}, {45.0, 10.0}, folder.path("late.csv"), "", ""}};
  return config;
}

}  // namespace amrbench::workloads::checks
