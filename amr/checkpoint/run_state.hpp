#pragma once
// What a run is, besides its blocks: counters, objects, the state of its checks. Plain data, the same on every rank;
// with the blocks and their values it is all that the steps to come depend on (docs/checkpoints.md).
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "amr/objects.hpp"

namespace amrbench::amr {

/// Counters of a run so far; the same on every rank.
struct RunTotals {
  std::int64_t steps = 0;
  std::int64_t stages = 0;
  std::int64_t cell_updates = 0;  ///< cells times variables times stages
  std::int64_t block_stages = 0;  ///< blocks present, summed over stages
  std::int64_t blocks = 0;        ///< now
  std::int64_t blocks_max = 0;    ///< most after any refinement, the start included
  std::vector<std::int64_t> blocks_by_level;
  std::int64_t blocks_split = 0;
  std::int64_t blocks_merged = 0;  ///< families of 8 that became one block
  std::int64_t refine_steps = 0;   ///< refinements, the first included
  std::int64_t consensus_rounds = 0;
  /// Mean number of blocks over stages.
  [[nodiscard]] double blocks_mean() const {
    return stages > 0 ? static_cast<double>(block_stages) / static_cast<double>(stages) : 0.0;
  }
};

/// Of ConservationCheck (amr/verify.hpp), while nothing has failed.
struct CheckState {
  std::vector<double> baseline;  ///< first sum of each variable
  int conserved = 0;             ///< variables whose totals are still held to it
  int scale_exponent = 0;        ///< of the fused sums
  double worst_drift = 0.0;
  std::int64_t checks = 0;
};

struct RunState {
  double time = 0.0;  ///< simulated
  RunTotals totals;
  std::vector<Object> objects;  ///< where they are now
  CheckState check;
  std::vector<double> workload;  ///< what the workload keeps (Workload::save)
};

/// To JSON and back, every bit kept. Reading throws std::exception of some kind when `json` is nothing that
/// to_json() gives, or holds a number that no run can have.
[[nodiscard]] nlohmann::ordered_json to_json(const RunState& state);
[[nodiscard]] RunState run_state_from_json(const nlohmann::ordered_json& json);

/// A whole number from `least` to `most`; throws std::runtime_error for anything else. Counts of a run stay so far
/// below the largest number that what the run adds to them fits.
inline constexpr std::int64_t kMostCount = std::int64_t{1} << 61;
[[nodiscard]] std::int64_t whole_number(const nlohmann::ordered_json& json, std::int64_t least = 0,
                                        std::int64_t most = kMostCount);

/// A double with every bit kept: JSON has no infinities and no NaN, they become text.
[[nodiscard]] nlohmann::ordered_json exact_number(double value);
[[nodiscard]] double exact_number_from_json(const nlohmann::ordered_json& json);

}  // namespace amrbench::amr
