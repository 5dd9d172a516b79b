#include "amr/tile_tables.hpp"

namespace amrbench::amr {

namespace {

using kernels::TileJob;
using kernels::TileWork;

std::vector<TileJob> message_jobs(const HaloMessages& messages, TileWork work) {
  std::vector<TileJob> jobs;
  jobs.reserve(messages.pieces.size());
  for (const HaloPiece& p : messages.pieces) {
    TileJob job;
    job.tile = p.block;
    job.work = work;
    job.face = static_cast<std::uint8_t>(p.face);
    job.transfer = p.transfer;
    job.part = static_cast<std::uint8_t>(p.part);
    job.at = p.at;
    jobs.push_back(job);
  }
  return jobs;
}

void add_local(const Mesh<3>& mesh, const kernels::BlockLayout& layout, std::int32_t i, int face,
               std::vector<TileJob>& jobs) {
  const auto& links = mesh.links(i);
  const FaceKind kind = links.kind[face];
  TileJob job;
  job.tile = i;
  job.face = static_cast<std::uint8_t>(face);
  if (kind == FaceKind::boundary) {
    job.work = TileWork::close;
    jobs.push_back(job);
    return;
  }
  job.work = TileWork::fill;
  job.transfer = kind == FaceKind::same     ? Transfer::whole
                 : kind == FaceKind::coarse ? Transfer::quarter
                                            : Transfer::restricted;
  for (int q = 0; q < (kind == FaceKind::fine ? 4 : 1); ++q) {
    job.other = links.index[face][q];
    if (job.other >= mesh.size()) continue;
    const int part = kind == FaceKind::coarse ? own_part(layout, mesh.coord(i), face / 2) : q;
    job.part = static_cast<std::uint8_t>(part);
    jobs.push_back(job);
  }
}

}  // namespace

TileTables make_tile_tables(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const HaloPlan& plan, int axis) {
  TileTables tables;
  tables.packs = message_jobs(plan.sends, TileWork::pack);
  tables.unpacks = message_jobs(plan.receives, TileWork::unpack);
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (int side = 0; side < 2; ++side) add_local(mesh, layout, i, 2 * axis + side, tables.local);
  }
  return tables;
}

}  // namespace amrbench::amr
