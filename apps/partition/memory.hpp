#pragma once
// `amrbench partition`: sizes held against the memory there is before any of it is taken.
#include <cstdint>

#include "apps/partition/command.hpp"
#include "apps/partition/run.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// Bytes that the command takes on rank 0 at least: the points, what every method gives back, the graph of a grid, and
/// what is measured of points, parts and nodes. Methods take more.
double least_partition_bytes(const PartitionArguments& arguments, const PartitionInput& input, std::uint64_t points,
                             int ranks);

/// Throws support::InputError, the same on every rank, for more points than can be measured, for many more parts or
/// nodes than there are points, and where the least bytes are more than a rank may have. Says on standard error what a
/// large problem takes. Collective.
void check_partition_size(const support::Communicator& comm, const PartitionArguments& arguments, std::uint64_t points,
                          const PartitionInput& input);

}  // namespace amrbench::apps
