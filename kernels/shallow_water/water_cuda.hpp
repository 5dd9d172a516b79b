#pragma once
// Where blocks on a GPU hold water.
#include <cstdint>

#include "kernels/shallow_water/water_marks.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels::shallow_water {

/// water[i] = what cells with depth above 0 mark in the block in slot list[i]. `count` blocks of cells x cells cells;
/// list and water in device memory. Real: of values in slots. Asynchronous. Errors: RunError when it cannot be
/// launched.
template <class Real>
void launch_water(const support::DeviceSlots& blocks, const std::int32_t* list, int count, int cells, WaterMarks* water,
                  const support::CudaStream& stream);

}  // namespace amrbench::kernels::shallow_water
