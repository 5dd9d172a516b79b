#pragma once
// The checkpoints of a run: when they are due, and what goes into them beside mesh, values and state.
#include <chrono>
#include <filesystem>
#include <string>

#include "amr/checkpoint/checkpoint.hpp"
#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "apps/restart_point.hpp"
#include "apps/run_past.hpp"
#include "apps/run_series.hpp"
#include "apps/stop_signals.hpp"
#include "loadbalance/balancer.hpp"
#include "support/metrics.hpp"

namespace amrbench::apps {

/// Exit status of a run that SIGTERM ended after a checkpoint (EX_TEMPFAIL of sysexits.h).
inline constexpr int kNotFinished = 75;

/// Does the configuration ask for checkpoints? Then SIGTERM and SIGUSR1 make them, too.
[[nodiscard]] bool writes_checkpoints(const Config& config);

class RunCheckpoints {
 public:
  /// The parts of a run that its checkpoints save. All must outlive this.
  struct Run {
    const support::Communicator& comm;
    const Config& config;
    amr::SimulationBase& simulation;
    const loadbalance::BalancerState& balancer;
    const RunSeries& series;
    support::Metrics& metrics;
  };
  /// `signals`: must outlive this. `folder`: of the results. `past`: of the runs before. `good`: the slot in that
  /// folder that the run goes on from. Collective.
  RunCheckpoints(const Run& run, StopSignals& signals, const std::filesystem::path& folder, RunPast past,
                 std::optional<std::int64_t> good);

  /// After each step: writes a checkpoint if one is due and the run is still valid. Ranks agree on it, by one
  /// reduction. On SIGTERM the simulation is told to stop. `elapsed`: seconds since the first step. Throws
  /// support::RunError on all ranks alike when it cannot be written. Collective.
  void after_step(std::int64_t step, double elapsed);

  /// A checkpoint was written because of SIGTERM.
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return writer_.folder(); }
  /// Written by this process, those of the runs before included.
  [[nodiscard]] const RunPast& past() const { return past_; }
  /// Of the last one written by this run; 0: none.
  [[nodiscard]] std::int64_t last_bytes() const { return last_bytes_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  enum Reason : int { kDue = 1, kAsked = 2, kEnd = 4 };
  [[nodiscard]] int reasons(std::int64_t step);
  bool save(double elapsed);

  Run run_;
  RunPast past_;
  StopSignals& signals_;
  amr::CheckpointWriter writer_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool is_stopped_ = false;
  std::int64_t last_bytes_ = 0, count_ = 0, bytes_ = 0;
};

/// Puts what a checkpoint saved into a run that goes on from it, before its simulation is made. Throws
/// support::InputError when the checkpoint is not one of this program's. Local.
[[nodiscard]] RunPast load_past(const RestartPoint& restart, const support::Communicator& comm, const Config& config,
                                loadbalance::BalancerState& balancer, RunSeries& series);

}  // namespace amrbench::apps
