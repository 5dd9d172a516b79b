#include "amr/wide_tables.hpp"

namespace amrbench::amr {

using kernels::WideFaceJob;
using kernels::WideFaceWork;

WideMessageJobs make_message_jobs(const WideSources& sources, const HaloPlan& plan) {
  WideMessageJobs jobs;
  for (const HaloPiece& p : plan.sends.pieces) {
    WideFaceJob& job = jobs.packs.emplace_back(wide_face_job(WideFaceWork::pack, p.face, p.transfer, p.part));
    job.block = p.block;
    job.at = p.at;
  }
  for (const HaloPiece& p : plan.receives.pieces) {
    WideFaceJob& job = jobs.unpacks.emplace_back(wide_face_job(WideFaceWork::unpack, p.face, p.transfer, p.part));
    job.to = sources.number(p.block, p.face);
    job.at = p.at;
  }
  return jobs;
}

}  // namespace amrbench::amr
