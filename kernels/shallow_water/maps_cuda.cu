#include "kernels/shallow_water/cell.hpp"
#include "kernels/shallow_water/maps_cuda.hpp"

namespace amrbench::kernels::shallow_water {

namespace {

__global__ void update_maps_kernel(support::DeviceSlots blocks, int plane, double arrival_depth, double time) {
  double* const block = blocks.at(static_cast<int>(blockIdx.x));
  double* const largest = block + kVariables * plane;
  double* const arrival = largest + plane;
  for (int at = static_cast<int>(threadIdx.x); at < plane; at += static_cast<int>(blockDim.x)) {
    const double depth = block[at];
    if (!(depth > 0.0)) continue;
    if (depth > largest[at]) largest[at] = depth;
    if (depth >= arrival_depth && arrival[at] < 0.0) arrival[at] = time;
  }
}

}  // namespace

void launch_maps(const support::DeviceSlots& blocks, int count, int cells, double arrival_depth, double time,
                 const support::CudaStream& stream) {
  if (count == 0) return;
  const int plane = cells * cells;
  const int threads = plane < 256 ? (plane + 31) / 32 * 32 : 256;
  update_maps_kernel<<<count, threads, 0, stream.get()>>>(blocks, plane, arrival_depth, time);
  support::cuda_check(cudaGetLastError(), "maps of largest depths");
}

}  // namespace amrbench::kernels::shallow_water
