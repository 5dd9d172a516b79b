#pragma once
// Jobs of the CUDA kernels done by the CPU's functions.
#include "kernels/face_jobs.hpp"
#include "kernels/faces.hpp"
#include "kernels/layout.hpp"

namespace amrbench::kernels::checks {

/// `block`: the block in the job's slot; `received`, `out`: the buffers.
inline void do_on_cpu(const BlockLayout& l, const FaceJob& job, const double* block, const double* received,
                      double* out) {
  const double* const from = received + std::size_t(job.from) * 4;
  double* const to = out + std::size_t(job.to) * 4;
  const int qa = job.part & 1, qb = job.part >> 1, axis = job.face / 2;
  switch (job.work) {
    case FaceWork::pack:
      return pack_face(l, block, job.face, to);
    case FaceWork::pack_quarter:
      return pack_quarter(l, block, job.face, qa, qb, to);
    case FaceWork::pack_restricted:
      return pack_restricted(l, block, job.face, to);
    case FaceWork::prolong:
      return prolong_face(l, block, job.face, qa, qb, l.chunks, to);
    case FaceWork::expand:
      return expand_quarter(l, from, axis, l.chunks, to);
    case FaceWork::restrict_part:
      return restrict_face(l, block, job.face, qa, qb, l.chunks, to);
    case FaceWork::insert:
      return insert_quarter(l, from, axis, qa, qb, l.chunks, to);
  }
}

}  // namespace amrbench::kernels::checks
