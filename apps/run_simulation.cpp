#include "apps/run_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>

#include "amr/plotfile/plotfile.hpp"
#include "amr/simulation.hpp"
#include "apps/config_write.hpp"
#include "apps/device_report.hpp"
#include "apps/run_checkpoints.hpp"
#include "apps/run_progress.hpp"
#include "apps/run_record.hpp"
#include "loadbalance/balancer.hpp"
#include "loadbalance/nodes.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "support/disk_speed.hpp"
#include "support/error.hpp"
#include "support/process_memory.hpp"
#include "support/progress.hpp"
#include "support/provenance.hpp"
#include "workloads/registry.hpp"

namespace amrbench::apps {

namespace {

using support::Phase;

/// The rank's progress writer as the options ask for it; silent on all ranks but the first.
std::unique_ptr<support::Progress> make_progress(const support::Communicator& comm, Progress mode) {
  constexpr double kLiveInterval = 0.2, kPlainInterval = 5.0;
  constexpr int kWidth = 120;
  if (mode == Progress::automatic) return std::make_unique<support::Progress>(comm);
  using Mode = support::Progress::Mode;
  const Mode wanted = mode == Progress::live ? Mode::terminal : mode == Progress::plain ? Mode::plain : Mode::silent;
  const double interval = wanted == Mode::terminal ? kLiveInterval : kPlainInterval;
  return std::make_unique<support::Progress>(stdout, comm.is_root() ? wanted : Mode::silent, interval, kWidth,
                                             &support::Metrics::steady_seconds);
}

ProgressState progress_state(const Config& config, const amr::RunTotals& totals, double elapsed,
                             const support::Metrics& metrics) {
  ProgressState state;
  state.step = totals.steps;
  state.steps = config.run.steps;
  state.blocks_by_level = totals.blocks_by_level;
  state.elapsed_s = elapsed;
  state.cell_updates = totals.cell_updates;
  state.remesh_s = metrics.seconds(Phase::refine) + metrics.seconds(Phase::balance) + metrics.seconds(Phase::migrate);
  return state;
}

/// nodes: that blocks were placed over; else traffic is between those that the run really has. Collective.
RunPartition record_partition(const support::Communicator& comm, const amr::SimulationBase& simulation, int nodes) {
  const amr::HaloSize halo = simulation.halo_size();
  RunPartition p;
  p.degree_max = support::all_max(comm, std::int64_t{halo.neighbors});
  p.edge_cut_max = support::all_max(comm, halo.pieces);
  p.edge_cut_total = support::all_sum(comm, halo.pieces) / 2;  // each face was counted by both its ranks
  p.comm_bytes_max = support::all_max(comm, halo.bytes_sent);
  const std::vector<std::int32_t> node_of_rank =
      nodes > 0 ? loadbalance::even_nodes(comm.size(), nodes) : loadbalance::find_nodes(comm);
  p.nodes = std::visit(
      [&](const auto* mesh) { return loadbalance::node_traffic(comm, halo, mesh->neighbors(), node_of_rank); },
      simulation.any_mesh());
  return p;
}

std::vector<RunField> record_fields(const std::vector<support::FieldStats>& stats) {
  std::vector<RunField> fields;
  for (const support::FieldStats& s : stats) {
    fields.push_back({static_cast<int>(fields.size()), s.sum().to_double(), s.sum_squares().to_double(), s.min(),
                      s.max(), s.hash().to_hex()});
  }
  return fields;
}

/// All of the record but for times, memory and rates of the whole run; makes the last check. Collective.
RunRecord make_record(const support::Communicator& comm, const Config& config, const RunOptions& options,
                      amr::SimulationBase& simulation, const loadbalance::BalancerState& balancer,
                      const support::Metrics& metrics, const RunPast& past) {
  RunRecord record;
  record.version = support::build_info().version;
  record.config = write_json(config);
  record.totals = simulation.totals();
  const support::MetricsSummary summary = after(past.metrics, metrics.reduce(comm));
  record.phases = summary.phases;
  record.device = record_device(summary, simulation);
  record.policy = config.balance.policy;
  record.balance = balancer.totals(comm);
  record.method = config.partition.method;
  record.partition = record_partition(comm, simulation, loadbalance::resolve_nodes(comm, config.partition.nodes));
  const std::vector<support::FieldStats> stats = simulation.statistics();
  simulation.check_end(stats);
  record.fields = record_fields(stats);
  record.findings = simulation.findings();
  record.mesh_crc_hex = fmt::format(
      "{:016x}", std::visit([](const auto* mesh) { return amr::mesh_digest(*mesh); }, simulation.any_mesh()));
  record.valid = simulation.conservation().passed();
  record.provenance = support::collect_provenance(comm, options.arguments);
  name_device(config.device, record.provenance);
  record.notes = options.notes;
  if (!simulation.conservation().note().empty()) record.notes.push_back(simulation.conservation().note());
  return record;
}

/// Writes the plotfile of a step, if it is to have one. In the folder of a run that was interrupted one may be there
/// already: it has the same values. Collective.
void write_picture(const support::Communicator& comm, const Config& config, const RunOptions& options,
                   const amr::SimulationBase& simulation, const amr::PlotInfo& info, std::int64_t step, double time,
                   support::Metrics& metrics) {
  if (config.output.plotfile == 0 || step % config.output.plotfile != 0) return;
  const support::PhaseTimer timer(metrics, Phase::output);
  const std::filesystem::path dir = options.result_folder / fmt::format("plt{:05}", step);
  std::error_code error;
  const bool is_there = options.continues && comm.is_root() && std::filesystem::is_directory(dir, error);
  if (options.continues && support::any_of_ranks(comm, is_there)) return;
  std::visit([&](const auto* mesh) { amr::write_plotfile(dir, *mesh, simulation.fields(), info, step, time); },
             simulation.any_mesh());
}

/// Checkpoints of this run and those before. Measures the disk if this one wrote any. Collective.
RunCheckpointTotals record_checkpoints(const support::Communicator& comm, const RunRecord& record, const RunPast& past,
                                       const RunCheckpoints* checkpoints) {
  constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
  RunCheckpointTotals totals{past.checkpoints, past.checkpoint_bytes, 0, 0, 0, past.restarts, past.restart_step};
  if (checkpoints != nullptr && checkpoints->count() > 0) {
    totals.count += checkpoints->count();
    totals.bytes += checkpoints->bytes();
    totals.disk_bytes_per_s =
        support::measure_disk_speed(comm, checkpoints->folder(), std::min(kMostBytes, checkpoints->last_bytes()));
  }
  const double seconds = record.phases[static_cast<std::size_t>(Phase::checkpoint)].max_s;
  if (seconds > 0) totals.bytes_per_s = static_cast<double>(totals.bytes) / seconds;
  if (totals.disk_bytes_per_s > 0) totals.disk_fraction = totals.bytes_per_s / totals.disk_bytes_per_s;
  return totals;
}

/// The end of a run that is to be gone on with.
int end_unfinished(const support::Communicator& comm, const RunCheckpoints& checkpoints, std::int64_t step) {
  const std::string folder = checkpoints.folder().parent_path().string();
  if (comm.is_root())
    fmt::print(stderr,
               "amrbench: not finished: ended by SIGTERM after step {0}, with a checkpoint; amrbench run --restart {1} "
               "goes on\n",
               step, folder);
  return kNotFinished;
}

/// The lines a run ends with; the folder's name last.
void print_result(const RunRecord& record, const amr::ConservationCheck& check, const RunOptions& options) {
  if (options.progress != Progress::none) {
    fmt::print(
        "time {:.3f} s, {} steps, {} blocks at the end, {} at most; {:.0f} % of the copy bandwidth of {:.1f} GB/s\n",
        record.time_s, record.totals.steps, record.totals.blocks, record.totals.blocks_max,
        100.0 * record.rates.roofline_fraction, record.rates.copy_bandwidth_bytes_per_s * 1e-9);
  }
  fmt::print("FOM: {:.4g} cell-updates/s\n", record.rates.cell_updates_per_s);
  if (!check.note().empty() && options.progress != Progress::none) fmt::print("{}\n", check.note());
  if (options.progress != Progress::none) {
    for (const amr::Finding& f : record.findings) fmt::print("{} {:.6g} {}\n", f.name, f.value, f.unit);
  }
  if (check.failure()) fmt::print("{}\n", *check.failure());
  fmt::print("VALIDATION: {}\n", record.valid ? "PASSED" : "FAILED");
  fmt::print("{}\n", options.result_folder.string());
  std::fflush(stdout);
}

/// Writes the record and prints those lines, on one rank. Collective.
void publish(const support::Communicator& comm, const RunRecord& record, const amr::SimulationBase& simulation,
             const RunOptions& options) {
  const auto existing = options.continues ? support::Existing::replace : support::Existing::refuse;
  simulation.write_files(options.result_folder, existing);
  support::run_on_root(comm, [&] {
    write_run_record(options.result_folder, record, existing);
    print_result(record, simulation.conservation(), options);
  });
}

/// The slot that the run goes on from, where its own will stand beside it.
std::optional<std::int64_t> good_slot(const RunOptions& options) {
  if (!options.restart || !options.restart->lies_in(options.result_folder)) return {};
  return amr::slot_number(options.restart->checkpoint->slot());
}

/// A run of one dimension, from its workload to its record.
template <int Dim>
int run_workload(const Config& config, const RunOptions& options) {
  const support::Communicator comm = support::Communicator::world();
  // The roofline is measured on both sides of the run, in case the machine's speed drifts; its buffers must not count
  // as the run's memory.
  const double bandwidth_before = measure_roofline(comm, config.device);
  support::reset_peak_resident();
  support::Metrics metrics;
  metrics.publish(options.heartbeat);
  const std::unique_ptr<amr::Workload<Dim>> workload =
      workloads::make_workload<Dim>(config.run.workload, config, config);
  loadbalance::PartitionConfig partition = config.partition;
  partition.nodes = loadbalance::resolve_nodes(comm, partition.nodes);
  loadbalance::Balancer<Dim> balancer(config.balance, partition, config.work);
  std::optional<loadbalance::TraceRecorder<Dim>> recorder;
  if (!config.output.trace.empty())
    recorder.emplace(comm, balancer, config.output.trace, config, workload->halo_shape());
  amr::Rebalancer<Dim>& rebalancer = recorder ? static_cast<amr::Rebalancer<Dim>&>(*recorder) : balancer;
  const sfc::KeySpace<Dim> space = loadbalance::make_key_space<Dim>(config.mesh, config.partition);
  const amr::PlotInfo plot_info = workload->plot_info();
  RunSeries series;
  RunPast past;
  std::optional<amr::Restart> restart;
  if (options.restart) {
    past = load_past(*options.restart, comm, config, balancer, series);
    restart = options.restart->checkpoint->restart(comm, space);
  }
  amr::Simulation<Dim> simulation(comm, config, space, *workload, rebalancer, metrics, restart ? &*restart : nullptr);
  restart.reset();
  std::optional<RunCheckpoints> checkpoints;
  if (options.signals != nullptr)
    checkpoints.emplace(RunCheckpoints::Run{comm, config, simulation, balancer, series, metrics}, *options.signals,
                        options.result_folder, past, good_slot(options));
  const std::unique_ptr<support::Progress> progress = make_progress(comm, options.progress);

  const std::int64_t resident = support::resident_bytes();
  support::barrier(comm);
  const double start = support::Metrics::steady_seconds();
  double seconds = 0.0;
  {
    const support::PhaseTimer run_timer(metrics, Phase::other);
    simulation.run([&](std::int64_t step, double time, const amr::RunTotals& totals) {
      write_picture(comm, config, options, simulation, plot_info, step, time, metrics);
      series.observe(totals, balancer, metrics);
      if (checkpoints) checkpoints->after_step(step, support::Metrics::steady_seconds() - start);
      if (!progress->due()) return;
      const ProgressState state = progress_state(config, totals, support::Metrics::steady_seconds() - start, metrics);
      progress->update(format_progress(state), state.is_last());
    });
    seconds = support::Metrics::steady_seconds() - start;
  }
  progress->finish(format_progress(progress_state(config, simulation.totals(), seconds, metrics)));

  if (checkpoints && checkpoints->is_stopped()) return end_unfinished(comm, *checkpoints, simulation.totals().steps);
  if (recorder) recorder->finish(comm, simulation.totals().steps, simulation.totals().stages);

  // The peak before the statistics and the bandwidth probe, whose buffers are not the run's.
  const std::int64_t peak = support::peak_resident_bytes();
  RunRecord record = make_record(comm, config, options, simulation, balancer, metrics, past);
  record.time_s = past.time_s + support::all_max(comm, seconds);
  record.checkpoint = record_checkpoints(comm, record, past, checkpoints ? &*checkpoints : nullptr);
  record.series = series.reduce(comm);
  record.memory_bytes_max_rank = std::max(past.memory_bytes_max_rank, support::all_max(comm, peak));
  record.memory_growth_bytes_max_rank = support::all_max(comm, std::max<std::int64_t>(0, peak - resident));
  // Before only: a GPU's speed, which drifts little, since the fields may fill it; and that of a machine that had no
  // time to drift, since measuring takes about a second.
  const bool once = config.device.backend == "cuda" || record.time_s < 1.0;
  const double bandwidth_after = once ? bandwidth_before : measure_roofline(comm, config.device);
  record.rates = derive_rates(record.totals.cell_updates, record.time_s, 0.5 * (bandwidth_before + bandwidth_after));

  publish(comm, record, simulation, options);
  return record.valid ? 0 : 1;
}

}  // namespace

int run_simulation(const Config& config, const RunOptions& options) {
  return config.mesh.dim == 2 ? run_workload<2>(config, options) : run_workload<3>(config, options);
}

}  // namespace amrbench::apps
