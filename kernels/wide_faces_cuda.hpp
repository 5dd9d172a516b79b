#pragma once
// Extended faces on a GPU (kernels/tile.hpp says what they hold): packed for messages, filled from blocks beside them
// and from messages. The twin of amr/wide_halo.hpp's work on CPUs, with the same values.
//
// A layer that is packed reaches into the ghosts of the axes before its own, so its values are looked up in what lies
// around the block. One launch for all jobs of an axis. All pointers are device memory. Errors: RunError when the
// launch fails. Asynchronous.
#include "kernels/device_surroundings.hpp"
#include "kernels/wide_jobs.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels {

/// Chunks whose ghosts a stage looks at: 0, then those from `from` on; `count` in all.
struct GhostChunks {
  int count = 0, from = 1;
  [[nodiscard]] AMRBENCH_HD int number(int i) const { return i == 0 ? 0 : from + i - 1; }
};

/// Does jobs of one axis that are ordered by wide_face_key(), in any order; writes those chunks of around.faces[axis]
/// and `message`. starts: where those of each key begin.
void launch_wide_faces(const BlockLayout& layout, int axis, const DeviceSurroundings& around, const GhostChunks& chunks,
                       const WideFaceJob* jobs, const WideFaceJobStarts& starts, const double* received,
                       double* message, const support::CudaStream& stream);

}  // namespace amrbench::kernels
