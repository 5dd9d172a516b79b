#pragma once
// The subcommands of amrbench: each registers its options with the parser and runs.
#include <ostream>
#include <string>
#include <vector>

#include "apps/mpi_session.hpp"
#include "apps/run_simulation.hpp"

namespace amrbench::apps {

/// What stands on the command line of `amrbench run`.
struct RunArguments {
  std::string config_path;
  std::string miniamr;
  bool miniamr_given = false;
  std::vector<std::string> settings;  ///< in order; later ones win
  int threads = -1;                   ///< -1: not given
  std::string out;
  std::string trace;
  std::string restart;  ///< folder of a run, one of its slots, or "auto"; empty: not given
  bool dry_run = false;
  bool quiet = false;
  std::string progress = "auto";
  std::vector<std::string> words;  ///< the whole command line, the program first
};

/// Resolves and checks the configuration, claims the result folder, runs. Collective; returns the exit status.
int run_command(const RunArguments& arguments, const MpiSession& mpi);

/// `list`: every name a configuration may use, one line each under group headings.
void list_command(std::ostream& out);
/// `info`: build, machine, back ends. Does not start MPI.
void info_command(std::ostream& out);

}  // namespace amrbench::apps
