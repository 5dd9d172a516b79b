#pragma once
// How many OpenMP threads a command has, by what the rank may use.
#include <string>

#include "support/mpi.hpp"

namespace amrbench::apps {

/// Sets the threads of this process: `asked`, or with 0 what OMP_NUM_THREADS says or suits the cores that the rank may
/// use. Returns the line for the user where threads and cores of some rank do not fit, that of the first such rank on
/// every rank, else an empty one. gpus: do the ranks compute on GPUs? Collective.
std::string set_threads(const support::Communicator& comm, int asked, bool gpus);

/// The same for a command that keeps no notes: rank 0 prints the line. Collective.
void set_threads_and_tell(const support::Communicator& comm, int asked);

}  // namespace amrbench::apps
