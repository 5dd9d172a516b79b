// Water that comes in through sides with its momentum: steady flow at its normal depth, no water lost, the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "sanitized.hpp"
#include "temporary_folder.hpp"
#include "workloads/flood_cases.hpp"
#include "workloads/input_refusal.hpp"

namespace amrbench::workloads {
namespace {

using checks::flood_through_sides;
using checks::Result;
using checks::run;
using checks::write_text;
using support::Communicator;

constexpr double kLength = 200.0, kWidth = 25.0;

/// A channel that falls evenly from west to east. A cell of the mesh holds whole ones of the raster, so means are
/// right.
void write_channel(const std::string& file, double slope) {
  shallow_water::Raster bed;
  bed.columns = 1280;
  bed.rows = 160;
  bed.dx = kLength / 1280;
  bed.dy = kWidth / 160;
  for (std::int64_t row = 0; row < bed.rows; ++row)
    for (std::int64_t column = 0; column < bed.columns; ++column)
      bed.cells.push_back(slope * (kLength - (static_cast<double>(column) + 0.5) * bed.dx));
  shallow_water::write_ascii_grid(file, bed);
}

apps::Config channel(const tests::TemporaryFolder& folder) {
  apps::Config config;
  config.mesh.dim = 2;
  config.mesh.root = {8, 1, 1};
  config.mesh.block = {8, 8, 1};
  config.mesh.max_level = 1;
  config.mesh.block_change = 1;
  config.run.workload = "shallow_water";
  config.run.refine_every = 4;
  config.run.checksum_every = 10;
  config.run.steps = 0;
  config.run.time = 900.0;
  config.shallow_water.problem = "raster";
  config.shallow_water.bed_file = folder.path("bed.asc");
  config.shallow_water.roughness = 0.03;
  config.shallow_water.east = "open";
  config.inflow = {{{0, 0}, {0, 0}, folder.path("river.csv"), "west", ""}};
  config.balance.policy = "every";
  apps::complete_config(config);
  return config;
}

/// Mean distances of depths and discharges from even ones, in the western half, and of depths in the whole.
struct Distance {
  double depth = 0.0, discharge = 0.0, depth_of_all = 0.0;
};
Distance distance_from(const amr::Simulation<2>& simulation, double depth, double discharge) {
  const auto& store = amr::host_fields(simulation.fields());
  const amr::Mesh<2>& mesh = simulation.mesh();
  const std::size_t plane = store.layout().block_cells();
  std::array<double, 4> sums{};  // distances and cells, by area
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const double area = std::ldexp(1.0, -2 * mesh.level(i));
    const bool is_west = mesh.centre(i)[0] < 0.5;
    for (std::size_t at = 0; at < plane; ++at) {
      const double off = std::abs(store.block(i)[at] - depth);
      sums[0] += is_west ? area * off : 0.0;
      sums[1] += is_west ? area * std::abs(store.block(i)[plane + at] - discharge) : 0.0;
      sums[2] += area * off;
      sums[3] += area;
    }
  }
  support::all_sum(mesh.comm(), std::span<double>(sums));
  return {2.0 * sums[0] / sums[3], 2.0 * sums[1] / sums[3], sums[2] / sums[3]};
}

Distance distance_at_end(const Communicator& world, const apps::Config& config, double depth, double discharge) {
  Distance last;
  const Result result = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t) {
    if (simulation.state().time >= config.run.time) last = distance_from(simulation, depth, discharge);
  });
  EXPECT_GT(result.steps, 10);
  EXPECT_GE(result.findings.at("smallest_depth"), 0.0);
  return last;
}

/// From dry ground to Manning's normal depth, (q n / sqrt(S))^(3/5), which even flow over an even slope has to
/// rounding. The open side draws slow water down before it, and is of first order.
void check_normal_depth(double slope, bool is_fast) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder(world);
  const double depth = std::pow(0.03 / std::sqrt(slope), 0.6);
  support::run_on_root(world, [&] {
    write_channel(folder.path("bed.asc"), slope);
    write_text(folder.path("river.csv"), "time_s,discharge_m3_s\n0,0\n20,25\n");
    write_text(folder.path("depth.csv"), fmt::format("time_s,depth_m\n0,{}\n", depth));
  });
  apps::Config config = channel(folder);
  config.mesh.uniform = true;
  config.shallow_water.limiter = "van_leer";  // steady flow settles
  if (is_fast) config.inflow[0].depths = folder.path("depth.csv");
  std::array<Distance, 2> found;
  for (int k = 0; k < 2; ++k) {
    config.mesh.max_level = k;
    found[std::size_t(k)] = distance_at_end(world, config, depth, 1.0);
  }
  const double order = std::log2(found[0].depth_of_all / found[1].depth_of_all);
  if (world.is_root())
    std::printf(
        "slope %g: normal depth %.4f m, distance %.3g and %.3g m, of discharge %.3g and %.3g m^2/s; in all of the "
        "channel %.3g and %.3g m, order %.2f\n",
        slope, depth, found[0].depth, found[1].depth, found[0].discharge, found[1].discharge, found[0].depth_of_all,
        found[1].depth_of_all, order);
  for (const Distance& d : found) {
    EXPECT_LE(d.depth, 1e-6 * depth);
    EXPECT_LE(d.discharge, 1e-6);
  }
  if (is_fast) {
    EXPECT_LE(found[0].depth_of_all, 0.01 * depth);
    EXPECT_GE(order, 0.9);
  }
  support::barrier(world);
}

TEST(SideInflow, ReachesTheNormalDepthOfSlowFlow) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  check_normal_depth(0.008, false);
}

TEST(SideInflow, ReachesTheNormalDepthOfFastFlow) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  check_normal_depth(0.02, true);  // steeper flow rolls up in waves
}

TEST(SideInflow, SameBitsOnAnyRanksAndNoWaterIsLost) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(world);
  apps::Config config = flood_through_sides(world, folder);
  for (const auto& [precision, drift] : {std::pair{"double", 1e-14}, {"single", 1e-6}}) {
    for (const char* const limiter : {"monotonized", "van_leer"}) {
      SCOPED_TRACE(std::string(precision) + ", " + limiter);
      config.shallow_water.precision = precision;
      config.shallow_water.limiter = limiter;
      config.partition.method = "morton";
      const Result wanted = run(self, config);
      EXPECT_TRUE(wanted.passed);
      EXPECT_GT(wanted.split, 0);
      EXPECT_GT(wanted.findings.at("inflow"), 5.0);
      EXPECT_LE(wanted.findings.at("volume_drift"), drift);
      EXPECT_GE(wanted.findings.at("smallest_depth"), 0.0);
      for (const char* const method : {"hilbert", "orb"}) {
        config.partition.method = method;
        config.run.overlap = method[0] == 'o';
        const Result result = run(world, config);
        EXPECT_TRUE(result.same_bits(wanted)) << method;
        EXPECT_EQ(result.findings, wanted.findings) << method;
      }
    }
  }
  support::barrier(world);
}

TEST(SideInflow, LosesNoWaterBesidePeriodicSides) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(world);
  apps::Config config = flood_through_sides(world, folder);
  config.mesh.periodic = {false, true, false};
  config.inflow.erase(config.inflow.begin() + 1);
  const Result wanted = run(self, config);
  EXPECT_LE(wanted.findings.at("volume_drift"), 1e-14);
  EXPECT_TRUE(run(world, config).same_bits(wanted));
  support::barrier(world);
}

TEST(SideInflow, BadInputIsNamed) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(self);
  const apps::Config good = flood_through_sides(self, folder);
  const auto refusal = [&](auto&& change) {
    apps::Config config = good;
    change(config);
    return tests::refusal_of([&] { return ShallowWater(config, config); });
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(refusal([](auto&) {}), "taken");
  expect(refusal([](auto& c) { c.inflow[0].side = "top"; }), "inflow.0.side = \"top\": must be one of west");
  expect(refusal([](auto& c) { c.inflow[0].to[0] = 1.0; }), "inflow.0.side = \"west\": [1, 17.9] does not lie on it");
  expect(refusal([](auto& c) { c.inflow[1].to[0] = 51.0; }), "inflow.1.side");
  expect(refusal([](auto& c) { c.inflow[2] = c.inflow[0]; }), "inflow.2.side = \"west\": overlaps");
  expect(refusal([](auto& c) { c.inflow[0].series.clear(); }), "inflow.0.series");
  expect(refusal([](auto& c) { c.inflow[2].depths = c.inflow[1].depths; }), "inflow.2.depths");
  expect(refusal([](auto& c) { c.inflow[1].depths = c.inflow[1].series; }), "must be 'time_s,depth_m'");
  expect(refusal([](auto& c) { c.mesh.periodic[0] = true; }), "inflow.0.side = \"west\": with mesh.periodic");
  expect(refusal([](auto& c) {
           c.shallow_water.problem = "channel";
           c.inflow.resize(1);
           c.inflow[0].from = c.inflow[0].to = {0, 0};
         }),
         "inflow.0.side = \"west\": the problem has a condition of its own there");
  write_text(folder.path("out.csv"), "time_s,discharge_m3_s\n0,1\n5,-1\n");
  expect(refusal([&](auto& c) { c.inflow[0].series = folder.path("out.csv"); }), "a discharge of -1");
  expect(refusal([](auto& c) {
           c.inflow.clear();
           c.mesh.periodic[0] = true;
           c.shallow_water.east = "open";
         }),
         "shallow_water.east = \"open\": with mesh.periodic");
}

}  // namespace
}  // namespace amrbench::workloads
