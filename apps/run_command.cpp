// `amrbench run`: from the command line to a checked configuration and a claimed result folder, then the simulation.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <map>
#include <optional>

#include "apps/commands.hpp"
#include "apps/config_check.hpp"
#include "apps/config_toml.hpp"
#include "apps/config_write.hpp"
#include "apps/device_report.hpp"
#include "apps/memory_estimate.hpp"
#include "apps/miniamr_options.hpp"
#include "apps/output_file.hpp"
#include "apps/result_folder.hpp"
#include "apps/run_checkpoints.hpp"
#include "apps/run_simulation.hpp"
#include "apps/text_file.hpp"
#include "apps/thread_count.hpp"
#include "loadbalance/nodes.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/inputs/memory_check.hpp"
#include "support/atomic_file.hpp"
#include "support/cuda_info.hpp"
#include "support/error.hpp"
#include "support/provenance.hpp"

namespace amrbench::apps {

namespace {

using support::InputError;

/// Keys, places and neighbours of a block, at least.
constexpr double kMeshBlockBytes = 100;

struct Resolved {
  Config config;
  std::vector<std::string> notes;
};

/// `before`: the configuration of the run that this one goes on with, which counts where no other is given.
Resolved resolve(const RunArguments& arguments, const MpiSession& mpi, const Config* before) {
  const bool uses_before = before && !arguments.miniamr_given && arguments.config_path.empty();
  if (!uses_before && arguments.miniamr_given == !arguments.config_path.empty())
    throw InputError(arguments.miniamr_given
                         ? "run: give a configuration file or --miniamr, not both"
                         : "run: give a configuration file (TOML), or --miniamr \"<options as given to miniAMR>\"");
  Resolved resolved;
  if (arguments.miniamr_given) {
    MiniamrInput input = parse_miniamr(arguments.miniamr);
    resolved.config = std::move(input.config);
    resolved.notes = std::move(input.notes);
  } else if (uses_before) {
    resolved.config = *before;
    resolved.config.output.dir.clear();
  } else {
    const std::string text =
        mpi.from_first_rank([&] { return read_text_file(arguments.config_path, "configuration"); });
    resolved.config = parse_toml(text, arguments.config_path);
    place_files(resolved.config, std::filesystem::path(arguments.config_path).parent_path());
  }
  for (const std::string& setting : arguments.settings) apply_setting(resolved.config, setting);
  if (arguments.threads >= 0) apply_setting(resolved.config, fmt::format("device.threads={}", arguments.threads));
  if (!arguments.out.empty()) resolved.config.output.dir = arguments.out;
  if (!arguments.trace.empty()) resolved.config.output.trace = arguments.trace;
  complete_config(resolved.config);
  std::vector<std::string> notes = check_config(resolved.config);
  resolved.notes.insert(resolved.notes.end(), notes.begin(), notes.end());
  return resolved;
}

Progress progress_mode(const RunArguments& arguments) {
  if (arguments.quiet) return Progress::none;
  static const std::map<std::string, Progress> kModes{
      {"auto", Progress::automatic}, {"live", Progress::live}, {"plain", Progress::plain}, {"none", Progress::none}};
  return kModes.at(arguments.progress);
}

/// What the first mesh takes on every rank, and memory made ready, before any of it is taken. Collective.
void check_room(const Config& config, int ranks) {
  const MemoryEstimate estimate = estimate_memory(config, ranks);
  const bool on_host = config.device.backend == "cpu";
  const double bytes = config.mesh.uniform ? estimate.bound_bytes_per_rank : estimate.initial_bytes_per_rank;
  const double blocks = (config.mesh.uniform ? estimate.bound_blocks : estimate.initial_blocks) / ranks;
  const auto comm = support::Communicator::world();
  const std::string root = fmt::format("mesh.root = [{}]", fmt::join(config.mesh.root, ", "));
  const double share = partitioners::memory_share(comm);
  const double ready = on_host ? config.device.preallocated_blocks * estimate.block_bytes : 0;
  partitioners::check_together(comm, [&] {
    partitioners::check_memory(root, (on_host ? bytes : 0) + kMeshBlockBytes * blocks, share);
    partitioners::check_memory(fmt::format("device.preallocated_blocks = {}", config.device.preallocated_blocks), ready,
                               share);
  });
}

/// The same of GPUs. Collective.
void check_device_room(const Config& config) {
  const auto comm = support::Communicator::world();
  const MemoryEstimate estimate = estimate_memory(config, comm.size());
  const double bytes = config.mesh.uniform ? estimate.bound_bytes_per_rank : estimate.initial_bytes_per_rank;
  const double share = device_memory_share(comm, config.device);
  partitioners::check_together(comm, [&] {
    if (bytes > share)
      throw InputError(fmt::format("mesh.root = [{}]: takes {} on a rank, whose share of its GPU's free memory is {}",
                                   fmt::join(config.mesh.root, ", "), format_bytes(bytes), format_bytes(share)));
  });
}

/// --restart auto: from what the result folder holds, or, with a note, from the beginning. Collective.
std::optional<RestartPoint> restart_of_folder(const support::Communicator& comm, Resolved& resolved) {
  if (resolved.config.output.dir.empty())
    throw InputError("--restart auto: name the result folder with --out, the same each time");
  return find_newest(comm, resolved.config.output.dir, resolved.notes);
}

/// The result folder with its configuration. Call on one rank.
std::string make_folder(const Config& config, bool continues) {
  check_output_file("output.trace", config.output.trace, false, "nothing is overwritten; name another");
  const auto folder = continues ? continue_result_folder(config.output.dir)
                                : claim_result_folder(config.output.dir, config.run.name, std::time(nullptr));
  const std::string text =
      fmt::format("# Resolved configuration of amrbench {}\n{}", support::build_info().version, write_toml(config));
  if (continues)
    support::write_file_atomically(folder / "config.toml", text, support::Existing::replace);
  else
    write_new_file(folder / "config.toml", text);
  return folder.string();
}

}  // namespace

int run_command(const RunArguments& arguments, const MpiSession& mpi) {
  const support::Communicator comm = support::Communicator::world();
  const bool is_auto = arguments.restart == "auto";
  RunOptions options;
  if (!arguments.restart.empty() && !is_auto) options.restart = find_restart(comm, arguments.restart);
  Resolved resolved = resolve(arguments, mpi, options.restart ? &options.restart->config : nullptr);
  if (is_auto) options.restart = restart_of_folder(comm, resolved);
  if (options.restart) {
    check_same_problem(resolved.config, *options.restart);
    const std::vector<std::string>& notes = options.restart->notes;
    resolved.notes.insert(resolved.notes.end(), notes.begin(), notes.end());
  }
  check_inputs(resolved.config);
  if (!arguments.dry_run) {
    const std::string note = set_threads(comm, resolved.config.device.threads, resolved.config.device.backend != "cpu");
    if (!note.empty()) resolved.notes.push_back(note);
  }
  if (mpi.rank() == 0 && !arguments.quiet)
    for (const std::string& note : resolved.notes) fmt::print(stderr, "amrbench: note: {}\n", note);
  if (arguments.dry_run) {
    if (mpi.rank() == 0)
      fmt::print("{}\n{}", write_toml(resolved.config), describe_memory(resolved.config, mpi.size(), "# "));
    return 0;
  }
  (void)loadbalance::resolve_nodes(comm, resolved.config.partition.nodes);  // throws where they are none of this run's
  mpi.watch().set_hang_limit(resolved.config.run.hang_after);
  check_room(resolved.config, mpi.size());
  // Before anything is made: a rank without a usable GPU ends the run here.
  if (resolved.config.device.backend == "cuda") {
    static_cast<void>(support::usable_cuda_devices());
    check_device_room(resolved.config);
  }
  if (options.restart && resolved.config.output.dir.empty())
    resolved.config.output.dir = options.restart->result_folder.string();
  options.continues = is_auto || (options.restart && options.restart->lies_in(resolved.config.output.dir));
  std::optional<StopSignals> signals;  // before the folder can be seen: then a signal is answered, not obeyed
  if (writes_checkpoints(resolved.config)) options.signals = &signals.emplace();
  options.result_folder = mpi.from_first_rank([&] { return make_folder(resolved.config, options.continues); });
  options.progress = progress_mode(arguments);
  options.heartbeat = &mpi.watch().heartbeat();
  options.arguments = arguments.words;
  options.notes = resolved.notes;
  return run_simulation(resolved.config, options);
}

}  // namespace amrbench::apps
