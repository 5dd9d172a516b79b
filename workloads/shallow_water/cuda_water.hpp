#pragma once
// block_water.hpp of fields on a GPU: one byte a block comes to the host. Only in builds with CUDA.
#include <vector>

#include "amr/cuda/cuda_fields.hpp"

namespace amrbench::workloads::shallow_water {

/// Waits.
[[nodiscard]] std::vector<unsigned char> find_water_on_device(const amr::CudaFields& fields, bool is_single);

}  // namespace amrbench::workloads::shallow_water
