#pragma once
// How CUDA kernels are told of faces of tiles. Plain data; no CUDA header needed.
#include <cstdint>

#include "kernels/tile.hpp"

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

}  // namespace amrbench::kernels
