#include "apps/calibrate_command.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string_view>

#include "amr/simulation.hpp"
#include "apps/calibrate_plan.hpp"
#include "apps/config.hpp"
#include "apps/config_check.hpp"
#include "apps/config_toml.hpp"
#include "apps/machine_file.hpp"
#include "apps/output_file.hpp"
#include "apps/text_file.hpp"
#include "apps/thread_count.hpp"
#include "loadbalance/balancer.hpp"
#include "loadbalance/replay/calibration.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "partitioners/check_together.hpp"
#include "support/atomic_file.hpp"
#include "support/error.hpp"
#include "support/page_buffer.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::apps {

namespace {

namespace fs = std::filesystem;
using loadbalance::MeasuredRun;
using loadbalance::Phases;
using support::Phase;

/// That whose blocks are timed, if any. Collective.
std::optional<Config> shape_of(const CalibrateArguments& arguments, const MpiSession& mpi) {
  if (arguments.config_path.empty()) {
    if (!arguments.settings.empty()) throw support::InputError("--set: there is no CONFIG of which to change keys");
    return {};
  }
  const std::string text = mpi.from_first_rank([&] { return read_text_file(arguments.config_path, "configuration"); });
  Config config = parse_toml(text, arguments.config_path);
  for (const std::string& setting : arguments.settings) apply_setting(config, setting);
  check_config(config);
  if (config.device.backend != "cpu")
    throw support::InputError("device.backend: calibrate times runs on CPUs, \"cpu\"");
  return config;
}

/// One run: its phases, the most of any rank. Collective.
Phases run_once(const support::Communicator& comm, const Config& config) {
  support::Metrics metrics;
  loadbalance::Balancer balancer(config.balance, config.partition);
  workloads::Averages workload(config);
  amr::Simulation simulation(comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload,
                             balancer, metrics);
  {
    const support::PhaseTimer timer(metrics, Phase::other);
    simulation.run([](std::int64_t, double, const amr::RunTotals&) {});
  }
  const support::MetricsSummary summary = metrics.reduce(comm);
  const auto most = [&](Phase phase) { return summary.phase(phase).max_s; };
  return {most(Phase::stencil), most(Phase::halo), most(Phase::refine), most(Phase::balance), most(Phase::migrate)};
}

/// The least that each phase took in a run's repetitions: what else goes on on a machine only adds to it.
MeasuredRun measured_run(const support::Communicator& comm, const TimedRun& timed, const std::string& trace,
                         const std::vector<Phases>& repetitions) {
  Phases least = repetitions.at(0);
  for (const Phases& other : repetitions) std::ranges::transform(least, other, least.begin(), std::ranges::min);
  MeasuredRun run;
  run.name = timed.name;
  run.trace = trace;
  run.strategy = {comm.size(), timed.config.partition, timed.config.balance};
  run.stencil_s = least[0];
  run.halo_s = least[1];
  run.refine_s = least[2];
  run.balance_s = least[3];
  run.migrate_s = least[4];
  return run;
}

/// Writes to so much memory, of the kind that holds fields, and gives it back. Memory that no process had before may
/// take a virtual machine's host far longer to give than a run takes to use it, which is no property of a phase.
void touch_memory(double bytes) {
  constexpr double kMost = 8e9;
  support::PageBuffer<double> memory;
  memory.grow(static_cast<std::size_t>(std::min(bytes, kMost)) / sizeof(double));
  std::fill_n(memory.data(), memory.size(), 1.0);
}

/// All runs in turn, as often as wanted, so that a machine that changes its pace does so for all of them. Collective.
std::vector<MeasuredRun> measure(const support::Communicator& comm, std::span<const TimedRun> timed, int repetitions,
                                 const fs::path& folder) {
  const auto trace = [&](std::size_t i) { return (folder / fmt::format("{}.trace", i)).string(); };
  std::vector<double> bytes(timed.size());  // of a rank's fields, both copies, and some unevenness
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const Config& config = timed[i].config;
    constexpr double kCopies = 3.0;
    support::run_on_root(comm, [&] {
      bytes[i] = kCopies * static_cast<double>(loadbalance::record_mesh(config, trace(i)).blocks_max) / comm.size() *
                 static_cast<double>(loadbalance::trace_header(config).block_bytes());
    });
    bytes[i] = support::broadcast(comm, bytes[i]);
  }
  std::vector<std::vector<Phases>> phases(timed.size());
  for (int k = 0; k < repetitions; ++k) {
    for (std::size_t i = 0; i < timed.size(); ++i) {
      touch_memory(bytes[i]);
      phases[i].push_back(run_once(comm, timed[i].config));
    }
  }
  std::vector<MeasuredRun> runs;
  for (std::size_t i = 0; i < timed.size(); ++i) runs.push_back(measured_run(comm, timed[i], trace(i), phases[i]));
  return runs;
}

constexpr std::array<const char*, std::tuple_size_v<Phases>> kPhaseNames{"stencil", "halo", "refine", "balance",
                                                                         "migrate"};
/// A phase that takes a smaller part of its run is not judged.
constexpr double kLeastPart = 0.01;
/// How near the others should come.
constexpr double kAim = 0.2;

/// Seconds, and by how much the replay's differ; of what took no time, nothing.
std::string error_cell(double measured, double replayed, bool counts) {
  if (measured <= 0.0) return fmt::format(" {:>9.4f} {:>8}", measured, "-");
  return fmt::format(" {:>9.4f} {:>+5.0f} %{}", measured, 100.0 * (replayed / measured - 1.0), counts ? "" : "'");
}

/// Replays held against their runs, and what came of it.
class Comparison {
 public:
  explicit Comparison(const loadbalance::Machine& machine) : machine_(machine) {}

  void tell(std::string_view title, std::span<const MeasuredRun> runs) {
    judged_ = within_ = 0;
    worst_ = 0.0;
    fmt::print("{}\n", title);
    for (const MeasuredRun& run : runs) fmt::print("{}", error_lines(run));
    if (judged_ > 0)
      fmt::print("phases above {:.0f} % of their run: {} of {} within {:.0f} %, the farthest {:.0f} % off\n",
                 100.0 * kLeastPart, within_, judged_, 100.0 * kAim, 100.0 * worst_);
  }

 private:
  std::string error_lines(const MeasuredRun& run) {
    const Phases measured = measured_phases(run), replayed = replayed_phases(run, machine_);
    const double all = std::accumulate(measured.begin(), measured.end(), 0.0);
    std::string line = fmt::format("{}\n", run.name);
    for (std::size_t phase = 0; phase < measured.size(); ++phase) {
      const bool counts = measured[phase] > kLeastPart * all;
      line += error_cell(measured[phase], replayed[phase], counts);
      if (!counts) continue;
      const double error = std::abs(replayed[phase] / measured[phase] - 1.0);
      ++judged_;
      within_ += error <= kAim ? 1 : 0;
      worst_ = std::max(worst_, error);
    }
    return line + error_cell(all, std::accumulate(replayed.begin(), replayed.end(), 0.0), true) + "\n";
  }

  const loadbalance::Machine& machine_;
  int judged_ = 0, within_ = 0;
  double worst_ = 0.0;
};

void fit_and_tell(std::span<const MeasuredRun> fitted, std::span<const MeasuredRun> checked,
                  const CalibrateArguments& arguments) {
  loadbalance::Machine machine = loadbalance::calibrate(fitted);
  machine.name = fs::path(arguments.file).stem().string();
  fmt::print("measured s, and the replay's error (': of a phase below {:.0f} % of its run)\n", 100.0 * kLeastPart);
  for (const char* phase : kPhaseNames) fmt::print(" {:>18}", phase);
  fmt::print(" {:>18}\n", "all");
  Comparison comparison(machine);
  comparison.tell("fitted", fitted);
  if (!checked.empty()) comparison.tell(fmt::format("not fitted, drawn by seed {}", arguments.seed), checked);
  support::write_file_atomically(arguments.file, write_machine(machine),
                                 arguments.force ? support::Existing::replace : support::Existing::refuse);
  fmt::print("{}\n", arguments.file);
}

/// A folder of rank 0's that goes with it.
class Scratch {
 public:
  explicit Scratch(bool owner) : owner_(owner) {
    if (!owner_) return;
    std::string name = (fs::temp_directory_path() / "amrbench-calibrate-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw support::RunError(fmt::format("{}: cannot be made", name));
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (owner_) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  bool owner_;
  fs::path path_;
};

}  // namespace

int calibrate_command(const CalibrateArguments& arguments, const MpiSession& mpi) {
  if (mpi.size() < 2)
    throw support::InputError(
        "calibrate: needs at least 2 ranks to time messages: mpiexec -n 2 amrbench calibrate ...");
  const auto comm = support::Communicator::world();
  partitioners::check_together(comm, [&] {
    if (!is_plain_utf8(arguments.file))  // the model gets its name
      throw support::InputError("-o: must be a path in UTF-8 without control characters");
    if (comm.is_root()) check_output_file("-o", arguments.file, arguments.force);
  });
  const std::optional<Config> shape = shape_of(arguments, mpi);
  set_threads_and_tell(comm, arguments.threads);
  const Scratch scratch(comm.is_root());
  const CalibrationPlan plan = plan_calibration(comm, shape, arguments.checks, arguments.seed, scratch.path());
  const std::vector<MeasuredRun> runs = measure(comm, plan.runs, arguments.repetitions, scratch.path());
  const auto fitted = std::span(runs).first(plan.fitted), checked = std::span(runs).subspan(plan.fitted);
  support::run_on_root(comm, [&] { fit_and_tell(fitted, checked, arguments); });
  return 0;
}

}  // namespace amrbench::apps
