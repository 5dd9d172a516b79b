// The runs that calibrate times: the same for the same seed on every rank, of the blocks asked for, and not too small.
#include <gtest/gtest.h>

#include <set>

#include "apps/calibrate_plan.hpp"
#include "apps/config_write.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "sanitized.hpp"
#include "temporary_folder.hpp"

namespace amrbench::apps {
namespace {

using support::Communicator;

Config small_shape() {
  Config shape;
  shape.mesh.block = {2, 4, 2};
  shape.fields.variables = 3;
  shape.partition.method = "gensfc";
  return shape;
}

TEST(CalibratePlan, IsTheSameForASeedAndOtherwiseAnother) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder;
  const std::filesystem::path scratch = folder.path("");
  const CalibrationPlan one = plan_calibration(world, small_shape(), 4, 5, scratch);
  const CalibrationPlan again = plan_calibration(world, small_shape(), 4, 5, scratch);
  const CalibrationPlan other = plan_calibration(world, small_shape(), 4, 6, scratch);
  ASSERT_EQ(one.runs.size(), one.fitted + 4);
  ASSERT_EQ(other.runs.size(), one.runs.size());
  for (std::size_t i = 0; i < one.runs.size(); ++i) {
    const std::string text = write_toml(one.runs[i].config);
    EXPECT_EQ(text, write_toml(again.runs[i].config)) << i;
    EXPECT_EQ(text == write_toml(other.runs[i].config), i < one.fitted) << i;
    // Every rank plans the same.
    EXPECT_EQ(support::broadcast_string(world, text), text) << i;
  }
}

TEST(CalibratePlan, ChecksAreOtherRunsOfTheSameBlocksAndAboutAsLarge) {
  const Communicator world = Communicator::world();
  const tests::TemporaryFolder folder;
  const Config shape = small_shape();
  for (std::uint64_t seed = 1, last = static_cast<std::uint64_t>(tests::cases(2, 1)); seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const CalibrationPlan plan = plan_calibration(world, shape, 6, seed, folder.path(""));
    std::set<std::string> names;
    for (const TimedRun& run : plan.runs) {
      EXPECT_TRUE(names.insert(run.name).second) << run.name;
      EXPECT_EQ(run.config.mesh.block, shape.mesh.block);
      EXPECT_EQ(run.config.fields.variables, shape.fields.variables);
      EXPECT_EQ(run.config.partition.method, shape.partition.method);
      EXPECT_GE(run.config.run.steps / run.config.run.refine_every, 5) << run.name;
    }
    if (!world.is_root()) continue;
    const auto blocks = [&](const TimedRun& run) {
      const auto file = folder.path("mesh.trace");
      const std::int64_t most = loadbalance::record_mesh(run.config, file).blocks_max;
      std::filesystem::remove(file);
      return most;
    };
    const std::int64_t usual = blocks(plan.runs[0]);
    for (std::size_t i = plan.fitted; i < plan.runs.size(); ++i)
      EXPECT_GE(blocks(plan.runs[i]), usual / 10) << plan.runs[i].name;
  }
}

}  // namespace
}  // namespace amrbench::apps
