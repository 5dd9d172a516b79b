#pragma once
// Tiles on a GPU (the twin of kernels/tile.hpp, which defines them): copies blocks into tiles and fills ghosts.
//
// Tile i lies at tiles + i * layout.values(); all pointers are device memory. Ghosts are filled axis by axis: one
// launch does all faces of an axis, a thread block a job and chunk. Asynchronous. Errors: RunError when a launch fails.
#include <cstdint>

#include "kernels/tile.hpp"
#include "kernels/tile_jobs.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// The insides of tiles 0 .. count - 1 from the blocks in slots[0 .. count).
void launch_load_tiles(const TileLayout& layout, const std::int32_t* slots, int count,
                       const support::DeviceSlots& blocks, double* tiles, const support::CudaStream& stream);
/// Does `count` jobs of one axis, in any order.
void launch_tile_faces(const TileLayout& layout, const TileJob* jobs, int count, double* tiles, const double* received,
                       double* message, const support::CudaStream& stream);

}  // namespace amrbench::kernels
