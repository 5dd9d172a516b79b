#pragma once
// Which blocks on a GPU hold water.
#include <cstdint>

#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels::shallow_water {

/// water[i] = does the block in slot list[i] hold a cell with depth above 0? `count` blocks of cells x cells cells;
/// list and water in device memory. Real: of values in slots. Asynchronous. Errors: RunError when it cannot be
/// launched.
template <class Real>
void launch_water(const support::DeviceSlots& blocks, const std::int32_t* list, int count, int cells,
                  unsigned char* water, const support::CudaStream& stream);

}  // namespace amrbench::kernels::shallow_water
