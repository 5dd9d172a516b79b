// Floods from files: rasters of the bed, inflows, gauges, maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "amr/checkpoint/checkpoint.hpp"
#include "temporary_folder.hpp"
#include "workloads/flood_cases.hpp"
#include "workloads/input_refusal.hpp"

namespace amrbench::workloads {
namespace {

using checks::files_of;
using checks::flood;
using checks::Result;
using checks::run;
using checks::write_inputs;
using support::Communicator;

/// `drift`: of the volume, at most.
void expect_same_bits_and_files(const char* precision, double drift) {
  SCOPED_TRACE(precision);
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(world), mine(self);
  write_inputs(world, folder);
  apps::Config config = flood(folder);
  config.shallow_water.precision = precision;
  std::vector<std::string> wanted_files, files;
  const Result wanted = run(self, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    if (step == config.run.steps) wanted_files = files_of(simulation, mine.path(""));
  });
  EXPECT_GT(wanted.split, 0);
  EXPECT_GT(wanted.findings.at("inflow"), 10.0);
  EXPECT_LE(wanted.findings.at("volume_drift"), drift);
  EXPECT_GE(wanted.findings.at("smallest_depth"), 0.0);
  EXPECT_EQ(wanted.findings.count("error_depth_l1"), 0U);
  ASSERT_EQ(wanted_files.size(), 5U);
  for (const char* const method : {"hilbert", "kd_parts", "orb"}) {
    config.partition.method = method;
    config.run.overlap = method[0] == 'o';
    const Result result = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
      if (step == config.run.steps) files = files_of(simulation, folder.path(""));
    });
    EXPECT_TRUE(result.same_bits(wanted)) << method;
    EXPECT_EQ(result.findings, wanted.findings) << method;
    EXPECT_EQ(files, wanted_files) << method;
    support::barrier(world);
  }
}

TEST(Flood, SameBitsAndFilesOnAnyRanksAndNoWaterIsLost) {
  expect_same_bits_and_files("double", 1e-14);
  expect_same_bits_and_files("single", 1e-6);
}

TEST(Flood, MapsHoldTheLargestDepthAndTheFirstTime) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(self);
  write_inputs(self, folder);
  apps::Config config = flood(folder);
  config.mesh.max_level = 0;
  config.mesh.root = {6, 4, 1};
  const std::size_t blocks = 24, plane = 64;
  std::vector<double> largest(blocks * plane, 0.0), arrival(blocks * plane, -1.0);
  double time = 0.0;
  static_cast<void>(run(self, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    time = simulation.state().time;
    const auto& store = amr::host_fields(simulation.fields());
    for (std::size_t b = 0; b < blocks; ++b) {
      const double* const block = store.block(static_cast<std::int32_t>(b));
      for (std::size_t at = 0; at < plane; ++at) {
        double& most = largest[b * plane + at];
        most = std::max(most, block[at]);
        double& first = arrival[b * plane + at];
        if (first < 0.0 && block[at] >= config.shallow_water.arrival_depth) first = time;
        if (step != config.run.steps) continue;
        ASSERT_EQ(block[5 * plane + at], most);
        ASSERT_EQ(block[6 * plane + at], first);
      }
    }
  }));
  EXPECT_GT(time, 1.0);
  EXPECT_GT(*std::max_element(arrival.begin(), arrival.end()), 0.0);
}

TEST(Flood, ALakeOverARasterStaysAtRest) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder(world);
  write_inputs(world, folder);
  apps::Config config = flood(folder);
  config.inflow.clear();
  config.shallow_water.level = 0.8;
  config.shallow_water.roughness = 0.0;
  double fastest = 0.0, deepest = 0.0;
  const Result result = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t) {
    const auto stats = simulation.statistics();
    deepest = std::max(deepest, stats[0].max());
    for (std::size_t v : {1U, 2U}) fastest = std::max({fastest, std::abs(stats[v].min()), std::abs(stats[v].max())});
  });
  EXPECT_TRUE(result.passed);
  EXPECT_GT(result.split, 0);
  EXPECT_GT(deepest, 0.5);
  EXPECT_LE(fastest, 1e-12);
}

TEST(Flood, GoesOnFromACheckpointWithTheSameFiles) {
  if (!amr::has_checkpoints()) GTEST_SKIP() << "this build has no checkpoints";
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder(world);
  write_inputs(world, folder);
  const apps::Config config = flood(folder);
  amr::CheckpointWriter writer(world, folder.path("c"));
  std::vector<std::string> wanted_files, files;
  const Result wanted = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    if (step == 31)
      writer.save(simulation.mesh(), simulation.fields(), simulation.state(), nlohmann::ordered_json::object());
    if (step == config.run.steps) wanted_files = files_of(simulation, folder.path(""));
  });
  support::barrier(world);
  const auto slots = amr::list_slots(folder.path("c"));
  ASSERT_EQ(slots.size(), 1U);
  const auto space = loadbalance::make_key_space<2>(config.mesh, config.partition);
  const amr::Checkpoint checkpoint(world, amr::slot_folder(folder.path("c"), slots[0]));
  checkpoint.verify(world, space);
  const amr::Restart restart = checkpoint.restart(world, space);
  Result result = run(world, config, &restart, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    if (step == config.run.steps) files = files_of(simulation, folder.path(""));
  });
  EXPECT_TRUE(result.same_bits(wanted));
  EXPECT_EQ(result.findings.at("volume_drift"), wanted.findings.at("volume_drift"));
  EXPECT_EQ(files, wanted_files);
  support::barrier(world);
}

TEST(Flood, BadInputIsNamed) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder(self);
  write_inputs(self, folder);
  const auto refusal = [&](auto&& change) {
    apps::Config config = flood(folder);
    change(config);
    return tests::refusal_of([&] { return ShallowWater(config, config); });
  };
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  EXPECT_EQ(refusal([](auto&) {}), "taken");
  expect(refusal([](auto& c) { c.shallow_water.bed_file.clear(); }), "shallow_water.bed_file");
  expect(refusal([&](auto& c) { c.shallow_water.bed_file = folder.path("none.asc"); }), "none.asc");
  expect(refusal([](auto& c) { c.inflow[1].to = {1061.0, -180.0}; }), "inflow.1: [1061, -180] lies outside");
  expect(refusal([](auto& c) { c.inflow[0].series.clear(); }), "inflow.0.series");
  expect(refusal([](auto& c) { c.gauge[2].at[1] = 0.0; }), "gauge.2.at");
  expect(refusal([](auto& c) { c.gauge[1].name = "breach"; }), "gauge.1.name");
  expect(refusal([](auto& c) { c.mesh.root[0] = 2; }), "shallow_water.maps");
  expect(refusal([](auto& c) { c.run.time = 0.0, c.run.steps = 0; }), "run.time");
  std::ofstream(folder.path("out.csv")) << "time_s,discharge_m3_s\n0,1\n5,-1\n";
  expect(refusal([&](auto& c) { c.inflow[0].series = folder.path("out.csv"); }), "a discharge of -1");
  std::ofstream(folder.path("small.asc")) << "ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 5\n0.02\n";
  expect(refusal([&](auto& c) { c.shallow_water.roughness_file = folder.path("small.asc"); }), "covers");
}

}  // namespace
}  // namespace amrbench::workloads
