#pragma once
// Faces that cross a rank or a change of level on a GPU (the twin of kernels/faces.hpp, whose definitions hold here
// too).
//
// In:  jobs, each of which says what to do with one face: pack it for another rank, make it finer or coarser, put a
//      received part in its place.
// Out: packed faces.
// One launch does any number of jobs.
#include "kernels/face_jobs.hpp"
#include "kernels/layout.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// Does jobs that are ordered by face_key(), in any order: no two of them write the same values. starts: where those of
/// each key begin. All pointers are device memory.
void launch_faces(const BlockLayout& layout, const FaceJob* jobs, const FaceJobStarts& starts,
                  const support::DeviceSlots& blocks, const double* received, double* out,
                  const support::CudaStream& stream);

}  // namespace amrbench::kernels
