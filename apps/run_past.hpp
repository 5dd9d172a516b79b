#pragma once
// What the runs before a restart have put into the record: a run that was interrupted reports as one.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "support/metrics.hpp"

namespace amrbench::apps {

/// Over ranks, the same on every rank; all zero for a run from the beginning.
struct RunPast {
  double time_s = 0.0;  ///< of the steps that count: what a killed run did after its checkpoint is not in it
  std::int64_t memory_bytes_max_rank = 0;
  support::MetricsSummary metrics;
  std::int64_t checkpoints = 0;       ///< written
  std::int64_t checkpoint_bytes = 0;  ///< in them
  std::int64_t restarts = 0;
  std::int64_t restart_step = -1;  ///< steps done at the last restart
};

/// Throws std::exception for what to_json() never gives.
[[nodiscard]] nlohmann::ordered_json to_json(const RunPast& past);
[[nodiscard]] RunPast run_past_from_json(const nlohmann::ordered_json& json);

/// What a run measured after what the runs before it did: times and counts add up, peaks are the larger ones. Least,
/// mean and largest time of a phase add up each for itself, since ranks may have been others before.
[[nodiscard]] support::MetricsSummary after(const support::MetricsSummary& past, const support::MetricsSummary& now);

}  // namespace amrbench::apps
