#pragma once
// Tables of blocks and of face jobs with other slots in them.
//
// Tables are made for blocks in curve order. After a refinement or a migration blocks stand elsewhere for one stage,
// which then writes them to where they belong. Instead of making and copying each table twice, the GPU makes a copy of
// it in which every slot that is read, n, has become slots[n].
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
