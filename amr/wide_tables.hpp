#pragma once
// What a wide stage is told of a mesh: jobs on extended faces, axis by axis. Plain data for all back ends; local work.
#include <cstdint>
#include <vector>

#include "amr/halo_plan.hpp"
#include "amr/wide_sources.hpp"
#include "kernels/wide_jobs.hpp"

namespace amrbench::amr {

/// Jobs of messages across one axis. Those of a list may run in any order.
struct WideMessageJobs {
  std::vector<kernels::WideFaceJob> packs;    ///< what is sent
  std::vector<kernels::WideFaceJob> unpacks;  ///< extended faces out of what is received
};

/// `plan`: of the mesh of `sources` across one axis with tile_piece_sizes. O(pieces).
[[nodiscard]] WideMessageJobs make_message_jobs(const WideSources& sources, const HaloPlan& plan);

[[nodiscard]] inline kernels::WideFaceJob wide_face_job(kernels::WideFaceWork work, int face, Transfer transfer,
                                                        int part) {
  kernels::WideFaceJob job;
  job.work = work;
  job.face = static_cast<std::uint8_t>(face);
  job.transfer = transfer;
  job.part = static_cast<std::uint8_t>(part);
  return job;
}

/// Calls give(job) for what fills the extended faces of crossings [begin, end) of an axis from local neighbours of
/// another level; jobs may run in any order. `sources`: of this mesh. O(end - begin).
template <class Give>
void make_local_jobs(const Mesh<3>& mesh, const WideSources& sources, int axis, std::size_t begin, std::size_t end,
                     const Give& give) {
  for (const auto& [i, face] : sources.crossings(axis).subspan(begin, end - begin)) {
    const auto& links = mesh.settled_links(i);
    const bool coarse = links.kind[face] == FaceKind::coarse;
    const auto parts = links.index[face];
    for (int q = 0; q < (links.kind[face] == FaceKind::fine ? 4 : 1); ++q) {
      const std::int32_t j = parts[q];
      if (j >= mesh.size()) continue;
      const int part = coarse ? own_part<3>(mesh.coord(i), axis) : q;
      const Transfer transfer = coarse ? Transfer::quarter : Transfer::restricted;
      kernels::WideFaceJob job = wide_face_job(kernels::WideFaceWork::fill, face, transfer, part);
      job.block = j;
      job.to = sources.number(i, face);
      give(job);
    }
  }
}

}  // namespace amrbench::amr
