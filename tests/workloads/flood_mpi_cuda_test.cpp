// Floods from files on GPUs: bits, findings and files of one rank on the host. Inflows along lines and through sides,
// gauges, maps, periodic sides.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/cuda_info.hpp"
#include "workloads/flood_cases.hpp"

namespace amrbench::workloads {
namespace {

using checks::Result;
using checks::run;
using support::Communicator;

class FloodsOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (support::cuda_info().devices.empty()) GTEST_SKIP() << "no GPU here";
  }
};

/// One rank on the host beside all ranks on GPUs.
void expect_same_bits_and_files(apps::Config config, const tests::TemporaryFolder& folder) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder mine(self);
  std::vector<std::string> wanted_files, files;
  Result wanted = run(self, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    if (step == config.run.steps) wanted_files = checks::files_of(simulation, mine.path(""));
  });
  EXPECT_GT(wanted.split, 0);
  ASSERT_EQ(wanted_files.size(), 5U);
  config.device.backend = "cuda";
  Result result = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
    if (step == config.run.steps) files = checks::files_of(simulation, folder.path(""));
  });
  // A GPU looks at whole neighbours, the host at the two layers behind a face.
  EXPECT_GE(result.findings["computed_share"], wanted.findings["computed_share"]);
  result.findings.erase("computed_share");
  wanted.findings.erase("computed_share");
  EXPECT_TRUE(result.passed);
  EXPECT_TRUE(result.same_bits(wanted));
  EXPECT_EQ(result.findings, wanted.findings);
  EXPECT_EQ(files, wanted_files);
  support::barrier(world);
}

TEST_F(FloodsOnGpus, SameBitsAndFilesOfInflowsAlongLines) {
  const Communicator world = Communicator::world();
  for (const char* const precision : {"double", "single"}) {
    SCOPED_TRACE(precision);
    const tests::TemporaryFolder folder(world);
    checks::write_inputs(world, folder);
    apps::Config config = checks::flood(folder);
    config.shallow_water.precision = precision;
    expect_same_bits_and_files(config, folder);
  }
}

TEST_F(FloodsOnGpus, SameBitsAndFilesOfInflowsThroughSidesAndPeriodicOnes) {
  const Communicator world = Communicator::world();
  constexpr unsigned kSeed = 2028;
  std::mt19937_64 random(kSeed);
  const std::vector<std::string> limiters{"monotonized", "minmod", "van_leer"};
  for (int trial = 0; trial < 12; ++trial) {
    const tests::TemporaryFolder folder(world);
    apps::Config config = checks::flood_through_sides(world, folder);
    const int edge = std::array{4, 6, 8, 10, 16, 32}[std::size_t(trial) % 6];
    config.mesh.block = {edge, edge, 1};
    config.mesh.max_level = edge > 8 ? 1 : 2;
    config.run.steps = 30;
    config.shallow_water.limiter = limiters[random() % limiters.size()];
    config.shallow_water.precision = trial / 6 == 0 ? "double" : "single";
    config.run.overlap = random() % 2 != 0;
    if (random() % 2 != 0) {
      config.mesh.periodic = {false, true, false};
      config.inflow.erase(config.inflow.begin() + 1);
    }
    SCOPED_TRACE("edge " + std::to_string(edge) + ", " + config.shallow_water.precision + ", " +
                 config.shallow_water.limiter + (config.mesh.periodic[1] ? ", periodic" : "") + ", seed " +
                 std::to_string(kSeed));
    expect_same_bits_and_files(config, folder);
  }
}

TEST_F(FloodsOnGpus, SameBitsThroughPeriodicSides) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  for (const char* const precision : {"double", "single"}) {
    for (const int root : {1, 3}) {
      SCOPED_TRACE(std::string(precision) + ", " + std::to_string(root) + " root cells an edge");
      apps::Config config = checks::make_config("vortex_drifting", {root, root, 1}, root == 1 ? 3 : 2, 2e-3);
      config.mesh.periodic = {true, true, false};
      config.shallow_water.precision = precision;
      config.run.time = 4.0;
      config.run.steps = 30;
      const Result wanted = run(self, config);
      EXPECT_GT(wanted.split, 0);
      config.device.backend = "cuda";
      const Result result = run(world, config);
      EXPECT_TRUE(result.passed);
      EXPECT_TRUE(result.same_bits(wanted));
    }
  }
}

}  // namespace
}  // namespace amrbench::workloads
