#pragma once
// MPI on this process alone, for readers that need a communicator.
#include "support/mpi.hpp"

namespace amrbench::fuzz {

/// A communicator of this process; MPI starts with the first call and ends with the process.
const support::Communicator& single_process();

}  // namespace amrbench::fuzz
