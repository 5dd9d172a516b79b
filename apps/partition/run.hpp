#pragma once
// `amrbench partition`: one method run and measured, on one rank or on several.
#include <cstdint>
#include <string>
#include <vector>

#include "apps/partition/command.hpp"
#include "apps/partition/record.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/quality.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// What is cut: this rank's stretch of the points, and what comes with them.
struct PartitionInput {
  partitioners::InputSpec spec;
  partitioners::PointInput points;
  std::vector<std::int32_t> previous;  ///< of each point here; empty: not asked for
  bool has_graph = false;              ///< on rank 0, perhaps still to be made
  partitioners::CostRates rates;       ///< of the machine that is modelled, if one is
  double unit = 1;                     ///< length of a grid's cell in the coordinates: 2 in half cells
};

/// The part of each of this rank's points, and their places along the method's curve where it has one.
struct FoundParts {
  std::vector<std::int32_t> part;
  std::vector<std::uint64_t> position;
};

/// What the command line says of the methods.
partitioners::PartitionOptions options_of(const PartitionArguments& arguments, int parts);

/// Runs `partitioner` for one part count, in two levels where that has nodes, `arguments.repetitions` times, refines
/// the parts if that is asked for, and measures the last result, which is left in `found`. Times are those of the
/// slowest rank, memory is that of the largest. A method that works on one rank gets all points on rank 0, where
/// refinement works too, and so does one in two levels where nodes are refined. What needs a graph is measured on rank
/// 0, for which the graph is made after the method's first run where nothing needs it before. The row is rank 0's
/// alone. Throws support::InputError, the same on every rank. Collective over `comm`.
PartitionRow run_row(const support::Communicator& comm, const PartitionArguments& arguments, PartitionInput& input,
                     const std::string& method, partitioners::Partitioner& partitioner, const PartCount& count,
                     FoundParts& found);

}  // namespace amrbench::apps
