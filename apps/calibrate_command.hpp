#pragma once
// `amrbench calibrate`: what stands on its command line, and the command.
#include <cstdint>
#include <string>
#include <vector>

#include "apps/mpi_session.hpp"

namespace amrbench::apps {

struct CalibrateArguments {
  std::string config_path;            ///< its blocks, variables and stencil are timed; empty: several shapes
  std::vector<std::string> settings;  ///< of that; in order, later ones win
  std::string file;                   ///< the model
  int threads = 0;                    ///< a rank; 0: all it may use
  int repetitions = 3;                ///< of each run; the quickest counts
  int checks = 4;                     ///< runs that are not fitted, drawn at random
  std::uint64_t seed = 1;             ///< by which they are
  bool force = false;                 ///< the file may be replaced
};

/// Times small runs on this job's ranks, fits the model of a machine to them, holds it against other runs, prints the
/// errors and writes the model. Collective over the job. Returns the exit status.
int calibrate_command(const CalibrateArguments& arguments, const MpiSession& mpi);

}  // namespace amrbench::apps
