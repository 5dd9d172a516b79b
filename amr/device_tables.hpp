#pragma once
// What a face stage on a GPU is told of a mesh, as lists made on the host and copied there when the mesh changed.
//
// Slots in the lists are the blocks' numbers, as after a stage; for the one stage after a change of the mesh the GPU
// puts the slots of that moment in their place (kernels/remap_cuda.hpp). All packed faces lie in one buffer: first the
// messages received, in the order of the plan, then the faces that are made out of blocks and quarters:
//
//   [ piece | piece | ... ][ made face | made face | ... ]      each a multiple of 4 doubles
//
// A remote face of the same level is thus read where the message put it. Plain data, no CUDA header; local work,
// threads share it.
#include <cstdint>
#include <vector>

#include "amr/halo_plan.hpp"
#include "kernels/device_blocks.hpp"
#include "kernels/face_jobs.hpp"

namespace amrbench::amr {

struct DeviceTables {
  std::vector<kernels::BlockEntry> blocks;  ///< blocks without ghost neighbours, then the others
  std::size_t interior = 0;                 ///< how many the first are
  std::vector<kernels::FaceJob> packs;      ///< what is sent, into the send buffer
  std::vector<kernels::FaceJob> local;      ///< faces made out of local blocks, into the packed faces
  std::vector<kernels::FaceJob> arrived;    ///< faces made out of pieces received
  std::size_t send_values = 0;
  std::size_t receive_values = 0;  ///< doubles of the messages at the start of the packed faces
  std::size_t packed_values = 0;   ///< doubles of all packed faces
};

/// `plan`: of this mesh with face_piece_sizes(layout, 4). RunError when the packed faces are more than a table can name
/// (64 GiB).
[[nodiscard]] DeviceTables make_device_tables(const Mesh<3>& mesh, const kernels::BlockLayout& layout,
                                              const HaloPlan& plan);

}  // namespace amrbench::amr
