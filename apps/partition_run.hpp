#pragma once
// `amrbench partition`: one method run and measured, on one rank or on several.
#include <string>

#include "apps/partition_command.hpp"
#include "apps/partition_record.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/point_input.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// Runs `partitioner` for one part count `arguments.repetitions` times and measures the last result, which is left in
/// `result`. Over several ranks each takes an even stretch of the points, times are those of the slowest rank, memory
/// is that of the largest, and measures and result are rank 0's alone. Collective over `comm`.
PartitionRow run_row(const support::Communicator& comm, const PartitionArguments& arguments,
                     const partitioners::PointInput& input, const std::string& method,
                     partitioners::Partitioner& partitioner, int parts, partitioners::PartitionResult& result);

}  // namespace amrbench::apps
