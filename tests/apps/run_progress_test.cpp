// apps/run_progress.hpp: the text.
#include "apps/run_progress.hpp"

#include <gtest/gtest.h>

namespace amrbench::apps {
namespace {

ProgressState state_at(std::int64_t step) {
  ProgressState state;
  state.step = step;
  state.steps = 100;
  state.blocks_by_level = {0, 24, 156};
  state.elapsed_s = 2.0 * static_cast<double>(step);
  state.cell_updates = 4'000'000 * step;
  state.remesh_s = 0.1 * static_cast<double>(step);
  return state;
}

TEST(FormatProgress, SaysWhatIsKnown) {
  EXPECT_EQ(format_progress(state_at(40)),
            "step 40/100, blocks 0 24 156, 2e+06 cell updates/s, remesh 5.0 %, 2:00 left");
  EXPECT_EQ(format_progress(state_at(0)), "step 0/100, blocks 0 24 156");
  EXPECT_EQ(format_progress(state_at(100)),
            "step 100/100, blocks 0 24 156, 2e+06 cell updates/s, remesh 5.0 %, 0:00 left");
  ProgressState endless = state_at(7);
  endless.steps = 0;
  EXPECT_EQ(format_progress(endless), "step 7, blocks 0 24 156, 2e+06 cell updates/s, remesh 5.0 %");
}

}  // namespace
}  // namespace amrbench::apps
