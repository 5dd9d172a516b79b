#pragma once
// `amrbench trace` and `amrbench replay`: what stands on their command lines, and the commands.
#include <string>
#include <vector>

#include "apps/mpi_session.hpp"

namespace amrbench::apps {

struct TraceArguments {
  std::string config_path;
  std::vector<std::string> settings;  ///< in order; later ones win
  std::string file;
  bool force = false;  ///< the file may be replaced
};

/// Throws support::InputError where there are several.
void need_one_process(const MpiSession& mpi, std::string_view command);

/// Refines the configuration's mesh alone and records it; where the mesh follows values, runs it. One process. Returns
/// the exit status.
int trace_command(const TraceArguments& arguments, const MpiSession& mpi);

struct ReplayArguments {
  std::string trace;
  std::vector<int> ranks;               ///< each >= 1
  std::vector<std::string> partitions;  ///< names of partitioners
  std::vector<std::string> policies;
  std::vector<std::string> weights{"uniform"};
  std::vector<std::string> slices{"midpoint"};
  std::string splitter = "octree";
  bool rename = false;
  std::vector<int> nodes{0};  ///< loadbalance::PartitionConfig::nodes; kNodesOfRun: the machine's
  int ranks_per_node = 0;     ///< of the machine; 0: as its model says
  double threshold = 0.1;
  int every = 4;
  int threads = 0;      ///< 0: all
  std::string machine;  ///< file with a model; empty: the default one
  bool no_optimum = false;
  std::vector<std::string> exported;  ///< empty, or format and prefix of files
  std::string json, csv, series;
  bool force = false;              ///< output files may be replaced
  std::vector<std::string> words;  ///< the whole command line, the program first
};

/// Replays every combination, prints a table and writes the files asked for. One process. Returns the exit status.
int replay_command(const ReplayArguments& arguments, const MpiSession& mpi);

}  // namespace amrbench::apps
