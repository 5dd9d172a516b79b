#include "apps/run_checkpoints.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "apps/config_write.hpp"
#include "support/error.hpp"
#include "support/process_memory.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

namespace {

using Json = nlohmann::ordered_json;

/// Where seconds mean the same: policies learn from them.
Json pace_of(const support::Communicator& comm, const Config& config) {
  return {{"ranks", comm.size()}, {"threads", omp_get_max_threads()}, {"backend", config.device.backend}};
}

}  // namespace

bool writes_checkpoints(const Config& config) {
  return config.output.checkpoint > 0 || config.output.checkpoint_minutes > 0.0;
}

RunCheckpoints::RunCheckpoints(const Run& run, StopSignals& signals, const std::filesystem::path& folder, RunPast past,
                               std::optional<std::int64_t> good)
    : run_(run),
      past_(std::move(past)),
      signals_(signals),
      writer_(run.comm, folder / amr::kCheckpointFolder, good, run.config.output.checkpoint_group) {}

int RunCheckpoints::reasons(std::int64_t step) {
  const amr::OutputConfig& output = run_.config.output;
  int mine = 0;
  if (output.checkpoint > 0 && step > 0 && step % output.checkpoint == 0) mine |= kDue;
  const std::chrono::duration<double, std::ratio<60>> since = std::chrono::steady_clock::now() - last_;
  if (output.checkpoint_minutes > 0.0 && run_.comm.is_root() && since.count() >= output.checkpoint_minutes)
    mine |= kDue;
  if (signals_.take_wants_checkpoint()) mine |= kAsked;
  if (signals_.wants_end()) mine |= kEnd;
  support::all_reduce(run_.comm, std::span<int>(&mine, 1), MPI_BOR);
  return mine;
}

void RunCheckpoints::after_step(std::int64_t step, double elapsed) {
  const int why = reasons(step);
  if (why == 0 || !save(elapsed) || (why & kEnd) == 0) return;
  run_.simulation.stop();
  is_stopped_ = true;
}

/// False where a check has failed: the run then ends, and not by us.
bool RunCheckpoints::save(double elapsed) {
  const amr::RunState state = run_.simulation.state();
  if (!run_.simulation.conservation().passed()) return false;
  const support::PhaseTimer timer(run_.metrics, support::Phase::checkpoint);
  RunPast past = past_;
  past.time_s += support::all_max(run_.comm, elapsed);
  past.metrics = after(past_.metrics, run_.metrics.reduce(run_.comm));
  past.memory_bytes_max_rank =
      std::max(past.memory_bytes_max_rank, support::all_max(run_.comm, support::peak_resident_bytes()));
  past.checkpoints += count_;
  past.checkpoint_bytes += bytes_;
  const Json more = {{"version", support::build_info().version}, {"config", write_toml(run_.config)},
                     {"pace", pace_of(run_.comm, run_.config)},  {"balance", run_.balancer.save(run_.comm)},
                     {"series", run_.series.save(run_.comm)},    {"past", to_json(past)}};
  last_bytes_ = std::visit([&](const auto* mesh) { return writer_.save(*mesh, run_.simulation.fields(), state, more); },
                           run_.simulation.any_mesh());
  last_ = std::chrono::steady_clock::now();
  bytes_ += last_bytes_;
  ++count_;
  return true;
}

RunPast load_past(const RestartPoint& restart, const support::Communicator& comm, const Config& config,
                  loadbalance::BalancerState& balancer, RunSeries& series) {
  const Json& manifest = restart.checkpoint->manifest();
  try {
    const bool keeps_history = manifest.at("pace") == pace_of(comm, config) &&
                               config.balance.policy == restart.config.balance.policy &&
                               config.balance.weights == restart.config.balance.weights;
    const amr::RunTotals& totals = restart.checkpoint->state().totals;
    balancer.load(manifest.at("balance"), comm, keeps_history, totals.stages);
    series.load(manifest.at("series"), balancer, comm.is_root());
    RunPast past = run_past_from_json(manifest.at("past"));
    ++past.restarts;
    past.restart_step = totals.steps;
    return past;
  } catch (const std::exception&) {
    throw support::InputError(fmt::format("checkpoint {}: its manifest does not hold what this version wants to know",
                                          restart.checkpoint->slot().string()));
  }
}

}  // namespace amrbench::apps
