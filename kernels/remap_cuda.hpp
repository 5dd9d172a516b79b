#pragma once
// Tables made for blocks in curve order, put to use while blocks stand elsewhere: after a refinement or a migration,
// for one stage. So a table is made and copied once a mesh, and not again for the stage after.
#include <cstdint>

#include "kernels/device_blocks.hpp"
#include "kernels/faces_cuda.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels {

/// Copies of tables in which the slots read, n, are slots[n]; results stay where they were. Device memory.
void launch_remap(const BlockEntry* entries, int count, const std::int32_t* slots, BlockEntry* out,
                  const support::CudaStream& stream);
void launch_remap(const FaceJob* jobs, int count, const std::int32_t* slots, FaceJob* out,
                  const support::CudaStream& stream);

}  // namespace amrbench::kernels
