#include <fmt/format.h>

#include <array>

#include "amr/simulation.hpp"
#include "apps/config_check.hpp"
#include "apps/config_toml.hpp"
#include "apps/output_file.hpp"
#include "apps/replay_command.hpp"
#include "apps/text_file.hpp"
#include "apps/thread_count.hpp"
#include "loadbalance/balancer.hpp"
#include "loadbalance/replay/trace_recorder.hpp"
#include "support/error.hpp"
#include "support/progress.hpp"
#include "workloads/registry.hpp"

namespace amrbench::apps {

namespace {

using loadbalance::TraceSummary;
using ToldSteps = std::function<void(std::int64_t)>;

/// A run, for its trace alone. With these weights blocks are looked at on a mesh that stays as well.
template <int Dim>
TraceSummary record_run(const support::Communicator& comm, const Config& config, const std::string& file,
                        const ToldSteps& progress) {
  const auto workload = workloads::make_workload<Dim>(config.run.workload, config, config);
  loadbalance::Balancer<Dim> balancer({.policy = "never", .weights = "workload"});
  loadbalance::TraceRecorder<Dim> recorder(comm, balancer, file, config, workload->halo_shape());
  support::Metrics metrics;
  amr::Simulation<Dim> simulation(comm, config, loadbalance::make_key_space<Dim>(config.mesh, {}), *workload, recorder,
                                  metrics);
  simulation.run([&](std::int64_t step, double, const amr::RunTotals&) { progress(step); });
  if (const auto& failure = simulation.conservation().failure()) throw support::RunError("trace: " + *failure);
  const amr::RunTotals& totals = simulation.totals();
  recorder.finish(comm, totals.steps, totals.stages);
  return {totals.refine_steps, totals.blocks, totals.blocks_max, totals.steps};
}

TraceSummary record(const support::Communicator& comm, const Config& config, const std::string& file,
                    const ToldSteps& progress) {
  if (config.run.workload == "averages") return loadbalance::record_mesh(config, file, progress);
  return config.mesh.dim == 2 ? record_run<2>(comm, config, file, progress)
                              : record_run<3>(comm, config, file, progress);
}

}  // namespace

int trace_command(const TraceArguments& arguments, const MpiSession& mpi) {
  need_one_process(mpi, "trace");
  Config config = parse_toml(read_text_file(arguments.config_path, "configuration"), arguments.config_path);
  place_files(config, std::filesystem::path(arguments.config_path).parent_path());
  for (const std::string& setting : arguments.settings) apply_setting(config, setting);
  complete_config(config);
  for (const std::string& note : check_config(config)) fmt::print(stderr, "amrbench: note: {}\n", note);
  check_inputs(config);
  check_output_files(std::array{NamedFile{"-o", arguments.file}},
                     std::array{NamedFile{"CONFIG", arguments.config_path}}, arguments.force);
  const auto comm = support::Communicator::world();
  set_threads_and_tell(comm, config.device.threads);
  support::Progress progress(comm);
  const std::string all = config.run.steps > 0 ? fmt::format(" of {}", config.run.steps) : "";
  const TraceSummary told = record(comm, config, arguments.file, [&](std::int64_t step) {
    if (progress.due()) progress.update(fmt::format("step {}{}", step, all), false);
  });
  progress.finish(fmt::format("step {} of {}", told.steps, told.steps));
  fmt::print("{} refinements, {} blocks at the end, {} at most\n{}\n", told.refinements, told.blocks_final,
             told.blocks_max, arguments.file);
  return 0;
}

}  // namespace amrbench::apps
