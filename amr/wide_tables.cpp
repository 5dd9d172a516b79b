#include "amr/wide_tables.hpp"

#include "support/thread_lists.hpp"

namespace amrbench::amr {

using kernels::WideFaceJob;
using kernels::WideFaceWork;

namespace {

WideFaceJob face_job(WideFaceWork work, int face, Transfer transfer, int part) {
  WideFaceJob job;
  job.work = work;
  job.face = static_cast<std::uint8_t>(face);
  job.transfer = transfer;
  job.part = static_cast<std::uint8_t>(part);
  return job;
}

}  // namespace

WideTables make_wide_tables(const Mesh<3>& mesh, const WideSources& sources, const HaloPlan& plan, int axis) {
  WideTables tables;
  for (const HaloPiece& p : plan.sends.pieces) {
    WideFaceJob& job = tables.packs.emplace_back(face_job(WideFaceWork::pack, p.face, p.transfer, p.part));
    job.block = p.block;
    job.at = p.at;
  }
  for (const HaloPiece& p : plan.receives.pieces) {
    WideFaceJob& job = tables.unpacks.emplace_back(face_job(WideFaceWork::unpack, p.face, p.transfer, p.part));
    job.to = sources.number(p.block, p.face);
    job.at = p.at;
  }
  const auto crossings = sources.crossings(axis);
  support::append_by_threads(
      tables.local, crossings.size(), [&](std::size_t begin, std::size_t end, std::vector<WideFaceJob>& list) {
        for (const auto& [i, face] : crossings.subspan(begin, end - begin)) {
          const auto& links = mesh.links(i);
          const bool coarse = links.kind[face] == FaceKind::coarse;
          for (int q = 0; q < (links.kind[face] == FaceKind::fine ? 4 : 1); ++q) {
            const std::int32_t j = links.index[face][q];
            if (j >= mesh.size()) continue;
            const int part = coarse ? own_part<3>(mesh.coord(i), axis) : q;
            const Transfer transfer = coarse ? Transfer::quarter : Transfer::restricted;
            WideFaceJob& job = list.emplace_back(face_job(WideFaceWork::fill, face, transfer, part));
            job.block = j;
            job.to = sources.number(i, face);
          }
        }
      });
  return tables;
}

}  // namespace amrbench::amr
