#pragma once
// What a wide stage is told of a mesh: jobs on extended faces, axis by axis. Plain data for all back ends; local work,
// O(crossings).
#include <vector>

#include "amr/halo_plan.hpp"
#include "amr/wide_sources.hpp"
#include "kernels/wide_jobs.hpp"

namespace amrbench::amr {

/// Jobs of one axis. Those of a list may run in any order.
struct WideTables {
  std::vector<kernels::WideFaceJob> packs;    ///< what is sent
  std::vector<kernels::WideFaceJob> local;    ///< extended faces from local neighbours of another level
  std::vector<kernels::WideFaceJob> unpacks;  ///< extended faces out of what is received
};

/// `plan`: of this mesh across `axis` with tile_piece_sizes; `sources`: of this mesh.
[[nodiscard]] WideTables make_wide_tables(const Mesh<3>& mesh, const WideSources& sources, const HaloPlan& plan,
                                          int axis);

}  // namespace amrbench::amr
