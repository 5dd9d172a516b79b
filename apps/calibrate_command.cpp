#include "apps/calibrate_command.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "amr/simulation.hpp"
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
#include "workloads/averages/averages.hpp"

namespace amrbench::apps {

namespace {

namespace fs = std::filesystem;
using loadbalance::MeasuredRun;
using loadbalance::Phases;
using support::Phase;

/// A sphere's surface drifting through a cube of 2^3 roots.
struct Case {
  int block, variables, max_level;
  double radius;
};
// Shapes of few and many values a block, few and many blocks; those that check lie between and beside them.
constexpr Case kFitted[] = {{4, 10, 4, 0.25}, {4, 40, 4, 0.15}, {6, 16, 4, 0.2}, {8, 10, 4, 0.2},
                            {8, 40, 3, 0.3},  {12, 8, 3, 0.25}, {16, 4, 3, 0.2}, {16, 16, 2, 0.3}};
constexpr Case kChecked[] = {{4, 20, 4, 0.2}, {8, 20, 4, 0.15}, {10, 12, 3, 0.2}, {16, 10, 2, 0.25}};

/// The same with the blocks of a configuration: levels above its deepest, and radius.
struct SphereMesh {
  int above;
  double radius;
};
constexpr SphereMesh kFittedMeshes[] = {{0, 0.25}, {0, 0.15}, {1, 0.3}, {1, 0.22}, {1, 0.15}, {2, 0.3}};
constexpr SphereMesh kCheckedMeshes[] = {{0, 0.2}, {1, 0.26}, {1, 0.18}, {2, 0.25}};

Config config_of(const Config& shape, int max_level, double radius) {
  Config config;
  config.mesh.block = shape.mesh.block;
  config.mesh.max_level = max_level;
  config.fields.variables = shape.fields.variables;
  config.run.stencil = shape.run.stencil;
  config.run.overlap = shape.run.overlap;
  config.run.steps = 24;
  config.run.stages_per_step = 10;
  config.run.refine_every = 4;
  config.run.checksum_every = 0;
  amr::ObjectConfig sphere;
  sphere.center = {0.35, 0.4, 0.45};
  sphere.size = {radius, radius, radius};
  sphere.velocity = {0.01, 0.007, 0.004};
  config.objects = {sphere};
  config.partition.method = "hilbert";
  return config;
}

/// Runs that are timed: the first `fitted` give the model, the others check it.
struct Plan {
  std::vector<Config> configs;
  std::size_t fitted = 0;
};

Plan plan_of_shapes() {
  Plan plan;
  const auto add = [&](const Case& c) {
    Config shape;
    shape.mesh.block = {c.block, c.block, c.block};
    shape.fields.variables = c.variables;
    plan.configs.push_back(config_of(shape, c.max_level, c.radius));
  };
  for (const Case& c : kFitted) add(c);
  plan.fitted = plan.configs.size();
  for (const Case& c : kChecked) add(c);
  return plan;
}

Plan plan_of_config(const Config& shape) {
  Plan plan;
  // Some thousand blocks on the deepest level, where a block is small: the surface of a sphere has 4^level of them.
  const double values =
      static_cast<double>(shape.fields.variables) * shape.mesh.block[0] * shape.mesh.block[1] * shape.mesh.block[2];
  const int deepest = values <= 12'000 ? 4 : values <= 100'000 ? 3 : 2;
  const auto add = [&](const SphereMesh& m) {
    plan.configs.push_back(config_of(shape, std::max(1, deepest - m.above), m.radius));
  };
  for (const SphereMesh& m : kFittedMeshes) add(m);
  plan.fitted = plan.configs.size();
  for (const SphereMesh& m : kCheckedMeshes) add(m);
  return plan;
}

/// Collective.
Plan plan_of(const CalibrateArguments& arguments, const MpiSession& mpi) {
  if (arguments.config_path.empty()) {
    if (!arguments.settings.empty()) throw support::InputError("--set: there is no CONFIG of which to change keys");
    return plan_of_shapes();
  }
  const std::string text = mpi.from_first_rank([&] { return read_text_file(arguments.config_path, "configuration"); });
  Config config = parse_toml(text, arguments.config_path);
  for (const std::string& setting : arguments.settings) apply_setting(config, setting);
  check_config(config);
  if (config.device.backend != "cpu")
    throw support::InputError("device.backend: calibrate times runs on CPUs, \"cpu\"");
  return plan_of_config(config);
}

std::string name_of(const Config& config) {
  const auto& n = config.mesh.block;
  const std::string edge =
      n[0] == n[1] && n[1] == n[2] ? fmt::format("{}^3", n[0]) : fmt::format("{}", fmt::join(n, "x"));
  return fmt::format("{} x {}, level {}, r {}", edge, config.fields.variables, config.mesh.max_level,
                     config.objects[0].size[0]);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// One run: its phases, the most of any rank. Collective.
Phases run_once(const support::Communicator& comm, const Config& config, const std::string& trace) {
  support::Metrics metrics;
  loadbalance::Balancer balancer(config.balance, config.partition);
  loadbalance::TraceRecorder recorder(comm, balancer, trace, config);
  workloads::Averages workload(config);
  amr::Simulation simulation(comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload,
                             recorder, metrics);
  {
    const support::PhaseTimer timer(metrics, Phase::other);
    simulation.run([](std::int64_t, double, const amr::RunTotals&) {});
  }
  recorder.finish(comm, simulation.totals().steps, simulation.totals().stages);
  const support::MetricsSummary summary = metrics.reduce(comm);
  const auto most = [&](Phase phase) { return summary.phase(phase).max_s; };
  return {most(Phase::stencil), most(Phase::halo), most(Phase::refine), most(Phase::balance), most(Phase::migrate)};
}

/// Medians of the phases of a case's repetitions.
MeasuredRun measured_run(const support::Communicator& comm, const Config& config, const std::string& trace,
                         const std::vector<Phases>& repetitions) {
  MeasuredRun run;
  run.name = name_of(config);
  run.trace = trace;
  run.strategy = {comm.size(), config.partition, config.balance};
  Phases medians{};
  for (std::size_t phase = 0; phase < medians.size(); ++phase) {
    std::vector<double> values;
    for (const Phases& repetition : repetitions) values.push_back(repetition[phase]);
    medians[phase] = median(values);
  }
  run.stencil_s = medians[0];
  run.halo_s = medians[1];
  run.refine_s = medians[2];
  run.balance_s = medians[3];
  run.migrate_s = medians[4];
  return run;
}

/// All cases in turn, as often as wanted, so that a machine that changes its pace does so for all of them. Collective.
std::vector<MeasuredRun> measure(const support::Communicator& comm, std::span<const Config> cases, int repetitions,
                                 const fs::path& folder) {
  const auto trace = [&](std::size_t i) { return (folder / fmt::format("{}.trace", i)).string(); };
  std::vector<std::vector<Phases>> phases(cases.size());
  for (int k = 0; k < repetitions; ++k)
    for (std::size_t i = 0; i < cases.size(); ++i) phases[i].push_back(run_once(comm, cases[i], trace(i)));
  std::vector<MeasuredRun> runs;
  for (std::size_t i = 0; i < cases.size(); ++i) runs.push_back(measured_run(comm, cases[i], trace(i), phases[i]));
  return runs;
}

/// Seconds, and by how much the replay's differ; of what took no time, nothing.
std::string error_cell(double measured, double replayed) {
  if (measured <= 0.0) return fmt::format(" {:>9.4f} {:>7}", measured, "-");
  return fmt::format(" {:>9.4f} {:>+5.0f} %", measured, 100.0 * (replayed / measured - 1.0));
}

std::string error_line(const MeasuredRun& run, const loadbalance::Machine& machine) {
  const Phases measured = measured_phases(run), replayed = replayed_phases(run, machine);
  std::string line = fmt::format("{:<30}", run.name);
  double all = 0.0, all_replayed = 0.0;
  for (std::size_t phase = 0; phase < measured.size(); ++phase) {
    line += error_cell(measured[phase], replayed[phase]);
    all += measured[phase];
    all_replayed += replayed[phase];
  }
  return line + error_cell(all, all_replayed) + "\n";
}

void fit_and_tell(std::span<const MeasuredRun> fitted, std::span<const MeasuredRun> checked,
                  const CalibrateArguments& arguments) {
  loadbalance::Machine machine = loadbalance::calibrate(fitted);
  machine.name = fs::path(arguments.file).stem().string();
  fmt::print("measured s, and the replay's error\n{:<30}", "run");
  for (const char* phase : {"stencil", "halo", "refine", "balance", "migrate", "all"}) fmt::print(" {:>17}", phase);
  fmt::print("\nfitted\n");
  for (const MeasuredRun& run : fitted) fmt::print("{}", error_line(run, machine));
  fmt::print("not fitted\n");
  for (const MeasuredRun& run : checked) fmt::print("{}", error_line(run, machine));
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
  const Plan plan = plan_of(arguments, mpi);
  set_threads_and_tell(comm, arguments.threads);
  const Scratch scratch(comm.is_root());
  const std::vector<MeasuredRun> runs = measure(comm, plan.configs, arguments.repetitions, scratch.path());
  const auto fitted = std::span(runs).first(plan.fitted), checked = std::span(runs).subspan(plan.fitted);
  support::run_on_root(comm, [&] { fit_and_tell(fitted, checked, arguments); });
  return 0;
}

}  // namespace amrbench::apps
