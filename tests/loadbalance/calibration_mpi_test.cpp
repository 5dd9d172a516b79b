// Calibration: a machine that runs obey is found again, and the least squares are those.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "amr/random_runs.hpp"
#include "loadbalance/replay/calibration.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "temporary_folder.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::checks::between;

double squares(const std::vector<std::vector<double>>& features, const std::vector<double>& measured,
               const std::vector<double>& known, const std::vector<double>& x) {
  double sum = 0.0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    double value = known[i];
    for (std::size_t k = 0; k < x.size(); ++k) value += features[i][k] * x[k];
    sum += std::pow(value / measured[i] - 1.0, 2);
  }
  return sum;
}

TEST(Calibration, FitIsTheBestOfWhatIsNotNegative) {
  std::mt19937_64 random(12);
  for (int number = 0; number < 200; ++number) {
    SCOPED_TRACE("seed 12, case " + std::to_string(number));
    const std::size_t unknowns = 1 + random() % 4, equations = unknowns + random() % 5;
    std::vector<std::vector<double>> features(equations, std::vector<double>(unknowns));
    std::vector<double> measured(equations), known(equations);
    for (std::size_t i = 0; i < equations; ++i) {
      for (double& feature : features[i]) feature = between(random, 0.1, 4.0);
      measured[i] = between(random, 0.1, 4.0);
      if (number % 2 != 0) known[i] = between(random, 0.0, 1.2) * measured[i];
    }
    const std::vector<double> x = fit(features, measured, known);
    ASSERT_EQ(x.size(), unknowns);
    const double least = squares(features, measured, known, x);
    for (const double value : x) EXPECT_GE(value, 0.0);
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<double> other = x;
      for (double& value : other) value = std::max(0.0, value + between(random, -0.1, 0.1));
      EXPECT_GE(squares(features, measured, known, other), least - 1e-12);
    }
  }
}

TEST(Calibration, AMachineThatRunsObeyIsFoundAgain) {
  if (!support::Communicator::world().is_root()) return;  // replays are one process's work
  const tests::TemporaryFolder folder;
  Machine truth;
  truth.overlap = false;
  truth.ranks_per_node = 1 << 20;
  truth.update_s = 3e-10;
  truth.block_s = 2e-7;
  truth.jump_cell_s = 2e-9;
  truth.node_latency_s = 4e-6;
  truth.node_byte_s = 7e-10;
  truth.refine_block_s = 5e-7;
  truth.refine_pass_s = 3e-5;
  truth.change_byte_s = 4e-10;
  truth.face_cell_s = 3e-9;
  truth.wait_fraction = 0.07;
  truth.collective_latency_s = 9e-6;
  truth.cut_block_s = 3e-8;
  truth.migrate_byte_s = 2e-10;
  truth.migrate_block_s = 1e-6;
  truth.migrate_s = 2e-5;
  std::vector<MeasuredRun> runs;
  for (int set = 1; set <= 7; ++set) {
    apps::Config config = amr::checks::random_config(set);
    config.run.refine_every = 1;
    config.mesh.block = set % 2 == 0 ? std::array{4, 4, 4} : std::array{8, 8, 8};
    MeasuredRun run;
    run.trace = folder.path("t" + std::to_string(set));
    run.strategy = {3, config.partition, config.balance};
    record_mesh(config, run.trace);
    const Phases phases = replayed_phases(run, truth);
    run.stencil_s = phases[0];
    run.halo_s = phases[1];
    run.refine_s = phases[2];
    run.balance_s = phases[3];
    run.migrate_s = phases[4];
    runs.push_back(run);
  }
  // From five of them, held against all.
  const Machine found = calibrate(std::span(runs).first(5));
  EXPECT_NEAR(found.update_s / truth.update_s, 1.0, 1e-6);
  for (const MeasuredRun& run : runs) {
    const Phases measured = measured_phases(run), replayed = replayed_phases(run, found);
    for (std::size_t phase = 0; phase < measured.size(); ++phase)
      EXPECT_NEAR(replayed[phase], measured[phase], 0.05 * measured[phase] + 1e-12) << "phase " << phase;
  }
}

TEST(Calibration, FieldsThatOutgrowTheCachesAreSeen) {
  if (!support::Communicator::world().is_root()) return;
  const tests::TemporaryFolder folder;
  Machine truth;
  truth.overlap = false;
  truth.ranks_per_node = 1 << 20;
  truth.update_s = 3e-10;
  truth.block_s = 2e-7;
  truth.cache_bytes = 1 << 20;
  truth.memory_update_s = 9e-10;
  std::vector<MeasuredRun> runs;
  for (int set = 1; set <= 8; ++set) {
    apps::Config config = amr::checks::random_config(set);
    config.mesh.block = set % 2 == 0 ? std::array{4, 4, 4} : std::array{16, 16, 16};
    MeasuredRun run;
    run.trace = folder.path("t" + std::to_string(set));
    run.strategy = {2, config.partition, config.balance};
    record_mesh(config, run.trace);
    run.stencil_s = replayed_phases(run, truth)[0];
    runs.push_back(run);
  }
  const Machine found = calibrate(std::span(runs).first(6));
  EXPECT_EQ(found.cache_bytes, truth.cache_bytes);
  EXPECT_NEAR(found.memory_update_s / truth.memory_update_s, 1.0, 1e-6);
  for (const MeasuredRun& run : runs)
    EXPECT_NEAR(replayed_phases(run, found)[0] / run.stencil_s, 1.0, 1e-6) << run.trace;
  // Without caches there is nothing to see.
  truth.memory_update_s = 0.0;
  for (MeasuredRun& run : runs) run.stencil_s = replayed_phases(run, truth)[0];
  EXPECT_EQ(calibrate(runs).memory_update_s, 0.0);
}

}  // namespace
}  // namespace amrbench::loadbalance
