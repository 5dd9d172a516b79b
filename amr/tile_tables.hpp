#pragma once
// What a wide stage on a GPU is told of a mesh: jobs on tiles, tile i for block i, axis by axis. Plain data, no CUDA
// header; local work, O(blocks).
#include <vector>

#include "amr/halo_plan.hpp"
#include "kernels/tile_jobs.hpp"

namespace amrbench::amr {

/// Jobs of one axis. Those of a list may run in any order.
struct TileTables {
  std::vector<kernels::TileJob> packs;    ///< what is sent
  std::vector<kernels::TileJob> local;    ///< ghosts at the domain's boundary and from local neighbours
  std::vector<kernels::TileJob> unpacks;  ///< ghosts out of what is received
};

/// `plan`: of this mesh across `axis` with tile_piece_sizes.
[[nodiscard]] TileTables make_tile_tables(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const HaloPlan& plan,
                                          int axis);

}  // namespace amrbench::amr
