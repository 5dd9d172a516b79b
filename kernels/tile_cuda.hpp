#pragma once
// Tiles on a GPU: all blocks or all faces of an axis in one launch (the twin of kernels/tile.hpp, which defines them).
// Tile i lies at tiles + i * layout.values(); all pointers are device memory.
#include <cstdint>

#include "kernels/tile.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

enum class TileWork : std::uint8_t {
  close,  ///< ghosts across `face` of `tile` at the domain's boundary
  fill,   ///< those ghosts from tile `other`, as transfer and part say; all its ghosts are written for transfer whole
          ///< and quarter, those of the part for restricted
  pack,   ///< what `tile` sends across `face`, to the message at `at`
  unpack  ///< the piece of the message at `at` into those ghosts
};
struct TileJob {
  std::int32_t tile = 0;
  std::int32_t other = 0;
  TileWork work = TileWork::close;
  std::uint8_t face = 0;
  TileTransfer transfer = TileTransfer::whole;
  std::uint8_t part = 0;
  std::uint32_t unused = 0;
  std::uint64_t at = 0;  ///< doubles
};

/// The insides of tiles 0 .. count - 1 from the blocks in slots[0 .. count).
void launch_load_tiles(const TileLayout& layout, const std::int32_t* slots, int count,
                       const support::DeviceSlots& blocks, double* tiles, const support::CudaStream& stream);
/// Does `count` jobs of one axis, in any order.
void launch_tile_faces(const TileLayout& layout, const TileJob* jobs, int count, double* tiles, const double* received,
                       double* message, const support::CudaStream& stream);

}  // namespace amrbench::kernels
