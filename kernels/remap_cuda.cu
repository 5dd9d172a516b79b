#include "kernels/remap_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

__device__ BlockEntry remapped(BlockEntry entry, const std::int32_t* slots) {
  entry.in = slots[entry.in];
  for (int face = 0; face < 6; ++face) {
    const FaceCode code = entry.faces[face];
    if (!face_is_packed(code)) entry.faces[face] = face_in_place(slots[code >> 1], code & 1);
  }
  return entry;
}
/// Jobs that read a packed quarter read no slot; they name slot 0.
__device__ FaceJob remapped(FaceJob job, const std::int32_t* slots) {
  job.slot = slots[job.slot];
  return job;
}

template <class T>
__global__ void __launch_bounds__(kThreads) remap_kernel(const T* in, int count, const std::int32_t* slots, T* out) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < count) out[i] = remapped(in[i], slots);
}

template <class T>
void launch(const T* in, int count, const std::int32_t* slots, T* out, const support::CudaStream& stream) {
  if (count == 0) return;
  remap_kernel<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream.get()>>>(in, count, slots, out);
  support::cuda_check_launch("remap");
}

}  // namespace

void launch_remap(const BlockEntry* entries, int count, const std::int32_t* slots, BlockEntry* out,
                  const support::CudaStream& stream) {
  launch(entries, count, slots, out, stream);
}

void launch_remap(const FaceJob* jobs, int count, const std::int32_t* slots, FaceJob* out,
                  const support::CudaStream& stream) {
  launch(jobs, count, slots, out, stream);
}

}  // namespace amrbench::kernels
