#pragma once
// block_water.hpp of fields on a GPU: two bytes a block come to the host. Only in builds with CUDA.
#include <vector>

#include "amr/cuda/cuda_fields.hpp"
#include "kernels/shallow_water/water_marks.hpp"

namespace amrbench::workloads::shallow_water {

using kernels::shallow_water::WaterMarks;

/// Waits.
[[nodiscard]] std::vector<WaterMarks> find_water_on_device(const amr::CudaFields& fields, bool is_single);

}  // namespace amrbench::workloads::shallow_water
