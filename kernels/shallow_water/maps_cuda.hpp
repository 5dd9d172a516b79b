#pragma once
// Largest depths and arrival times of blocks on a GPU (workloads/shallow_water/maps.hpp has the host's twin).
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels::shallow_water {

/// Planes 5 (largest depth) and 6 (arrival time, below 0: not yet) of slots 0 .. count - 1 with cells x cells cells,
/// from their depths at `time`. Real: of values in slots, which holds both numbers exactly. Asynchronous. Errors:
/// RunError when it cannot be launched.
template <class Real>
void launch_maps(const support::DeviceSlots& blocks, int count, int cells, double arrival_depth, double time,
                 const support::CudaStream& stream);

}  // namespace amrbench::kernels::shallow_water
