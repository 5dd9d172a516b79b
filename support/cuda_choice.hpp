#pragma once
// Which GPU a rank uses. Only in builds with CUDA.
#include "support/mpi.hpp"

namespace amrbench::support {

/// Which GPUs the ranks use.
struct DeviceChoice {
  int gpus = 1;     ///< all ranks together
  bool own = true;  ///< each rank has one of its own
};
/// Makes a GPU of this node the current one: by local rank, modulo their number. InputError on all ranks when one of
/// them has none. Collective.
[[nodiscard]] DeviceChoice choose_device(const Communicator& comm);

}  // namespace amrbench::support
