#pragma once
// The run itself, behind `amrbench run`.
#include <filesystem>
#include <string>
#include <vector>

#include "apps/config.hpp"
#include "apps/restart_point.hpp"
#include "apps/stop_signals.hpp"
#include "support/heartbeat.hpp"

namespace amrbench::apps {

enum class Progress { automatic, live, plain, none };  ///< automatic: live on a terminal, else plain

struct RunOptions {
  std::filesystem::path result_folder;  ///< exists, is empty of results, holds config.toml; the same on every rank
  bool continues = false;               ///< the folder is that of a run before: plotfiles in it are this run's and stay
  std::optional<RestartPoint> restart = {};
  Progress progress = Progress::automatic;
  std::vector<std::string> arguments;       ///< the command as given, for the run record
  support::Heartbeat* heartbeat = nullptr;  ///< is told phase and step; null: nobody watches
  StopSignals* signals = nullptr;           ///< what the run was told from outside; null: it writes no checkpoints
  std::vector<std::string> notes;           ///< lines the user was shown about the input, for the run record
};

/// Runs a checked configuration and writes run.json and run.csv into the result folder. Collective over MPI_COMM_WORLD,
/// after MPI_Init. Returns the exit status, the same on every rank: 0 valid, 1 not valid,
/// kNotFinished (apps/run_checkpoints.hpp).
/// Throws support::InputError (on every rank alike) and support::RunError.
int run_simulation(const Config& config, const RunOptions& options);

}  // namespace amrbench::apps
