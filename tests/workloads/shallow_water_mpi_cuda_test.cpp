// The shallow-water equations on GPUs: the bits of one rank on the host.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/cuda_info.hpp"
#include "workloads/water_runs.hpp"

namespace amrbench::workloads {
namespace {

using checks::make_config;
using checks::Result;
using checks::run;
using support::Communicator;

class ShallowWaterOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (support::cuda_info().devices.empty()) GTEST_SKIP() << "no GPU here";
  }
};

TEST_F(ShallowWaterOnGpus, SameBitsAsOnTheHost) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  constexpr unsigned kSeed = 2027;
  std::mt19937_64 random(kSeed);
  const std::vector<std::string> problems{"bowl_planar", "bowl_radial",     "dam_break_dry", "dam_break_wet_y",
                                          "lake",        "vortex_drifting", "bump_shock",    "channel"};
  const std::vector<std::string> limiters{"monotonized", "minmod", "van_leer"};
  const std::vector<std::string> methods{"morton", "hilbert", "orb"};
  for (std::size_t k = 0; k < 2 * problems.size(); ++k) {
    const std::string& problem = problems[k / 2];
    const std::string precision = k % 2 == 0 ? "double" : "single";
    const bool narrow = problem.starts_with("dam") || problem.starts_with("bump") || problem == "channel";
    const bool along_y = problem.back() == 'y';
    apps::Config config = make_config(problem,
                                      along_y  ? std::array{1, 6, 1}
                                      : narrow ? std::array{6, 1, 1}
                                               : std::array{3, 3, 1},
                                      3, 4e-3);
    const int edge = std::array{4, 6, 8, 10, 16, 32}[random() % 6];
    config.mesh.block = {edge, edge, 1};
    config.mesh.max_level = edge > 8 ? 2 : 3;
    config.run.steps = 24;
    config.shallow_water.limiter = limiters[random() % limiters.size()];
    config.partition.method = methods[random() % methods.size()];
    config.run.overlap = random() % 2 != 0;
    config.shallow_water.maps = !narrow && random() % 2 != 0;  // of square cells
    config.shallow_water.precision = precision;
    SCOPED_TRACE(problem + ", " + precision + ", edge " + std::to_string(edge) + ", " + config.shallow_water.limiter +
                 ", " + config.partition.method + ", seed " + std::to_string(kSeed));
    Result wanted = run(self, config);
    config.device.backend = "cuda";
    Result result = run(world, config);
    // A GPU looks at whole neighbours, the host at the two layers behind a face.
    EXPECT_GE(result.findings["computed_share"], wanted.findings["computed_share"]);
    result.findings.erase("computed_share");
    wanted.findings.erase("computed_share");
    EXPECT_TRUE(result.passed);
    EXPECT_TRUE(result.same_bits(wanted));
    EXPECT_EQ(result.findings, wanted.findings);
    EXPECT_EQ(result.drift, wanted.drift);
  }
}

TEST_F(ShallowWaterOnGpus, BlocksCostWhatTheyDoOnTheHost) {
  checks::expect_costs_of_one_rank(Communicator::world(), "cuda");
}

}  // namespace
}  // namespace amrbench::workloads
