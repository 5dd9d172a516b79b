#pragma once
// What a run says of its progress (support/progress.hpp writes it).
#include <cstdint>
#include <string>
#include <vector>

namespace amrbench::apps {

/// Where a run stands. Plain data.
struct ProgressState {
  std::int64_t step = 0;                      ///< steps done
  std::int64_t steps = 0;                     ///< steps to do; 0 = not known beforehand
  std::vector<std::int64_t> blocks_by_level;  ///< of all ranks; index = level
  double elapsed_s = 0;                       ///< since the first step began
  std::int64_t cell_updates = 0;              ///< of all ranks, since then
  double remesh_s = 0;                        ///< of elapsed_s: refinement, balancing and migration
  [[nodiscard]] bool is_last() const { return steps > 0 && step == steps; }
};

/// "step 40/100, blocks 0 24 156, 1.23e+09 cell updates/s, remesh 4.1 %, 0:12 left". What is not known yet is left out.
[[nodiscard]] std::string format_progress(const ProgressState& state);

}  // namespace amrbench::apps
