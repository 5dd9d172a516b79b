#pragma once
// `amrbench partition`: what stands on its command line, and the command.
#include <string>
#include <vector>

#include "apps/mpi_session.hpp"

namespace amrbench::apps {

/// An entry of --parts: N, or NODESxTASKS for parts in two levels.
struct PartCount {
  int parts = 1;
  int nodes = 0;  ///< 0: not in two levels
};

struct PartitionArguments {
  std::string input;                 ///< partitioners/inputs/point_input.hpp has the forms
  std::vector<std::string> methods;  ///< names of the registry
  std::vector<PartCount> parts;
  std::string graph;     ///< file with the graph of points that have none; empty: none
  std::string weights;   ///< random:SEED or a file; empty: 1 each, or those of the input
  std::string previous;  ///< file with the previous part of each point; empty: none
  std::string splitter = "midpoint";
  std::size_t bucket = 1;
  std::string slices = "midpoint";
  std::string chart = "none";
  double side_tolerance = 0;  ///< of orb; the command line sets its default
  int dim = 0;                ///< 0: as the input tells, else 3
  int threads = 0;            ///< 0: all
  int repetitions = 1;
  std::size_t message_bytes = 0;     ///< of methods on trees over ranks; the command line sets its default
  int nodes = 0;                     ///< 0: no two-level form
  std::string machine;               ///< model of a machine for modelled costs; empty: none
  double edge_bytes = 8;             ///< of it: sent across a cut edge
  std::vector<int> phases{1, 1, 1};  ///< of it: computing, communicating, both at once
  std::vector<double> thread_costs;  ///< of it: threads, bytes a unit, seconds a fill, waits, seconds a wait; or empty
  int refine = 0;                    ///< rounds; 0: parts stay as the method made them
  std::string refine_goal = "cut";   ///< or "volume"
  double refine_tolerance = 0;
  int dynamic_rounds = 0;  ///< > 0: a study of points that change (dynamic.hpp)
  double batch = 0.01;     ///< share of the points that change in a round
  double shift = 0;        ///< drift a round
  double dynamic_merge = 0.5;
  std::string dynamic_rebuild = "parts";  ///< or "cost"
  bool dynamic_compare = false;           ///< a new tree every round, not in the last one alone
  int neighbours = 6;                     ///< of a point, in the graph by which cuts are measured; 0: none are
  int cut_every = 0;                      ///< rounds from cut to cut; 0: after the last round alone
  double balance = 0.6;
  std::string json;
  std::string csv;
  std::string parts_file;
  std::string picture;
  std::string vtk;
  std::string draw = "parts";      ///< or "curve"
  int pixels = 1024;               ///< longer side of a picture
  bool force = false;              ///< output files may be replaced
  std::vector<std::string> words;  ///< the whole command line, the program first
};

/// Checks everything that can be checked before work, loads the input, runs every method for every part count, prints a
/// table and writes the files asked for. Over several ranks each makes or reads its own stretch of the points; rank 0
/// has the graph, prints and writes. Collective over the job. Returns the exit status.
int partition_command(const PartitionArguments& arguments, const MpiSession& mpi);

}  // namespace amrbench::apps
