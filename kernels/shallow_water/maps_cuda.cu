#include "kernels/shallow_water/cell.hpp"
#include "kernels/shallow_water/maps_cuda.hpp"

namespace amrbench::kernels::shallow_water {

namespace {

template <class Real>
__global__ void update_maps_kernel(support::DeviceSlots blocks, int plane, Real arrival_depth, Real time) {
  Real* const block = reinterpret_cast<Real*>(blocks.at(static_cast<int>(blockIdx.x)));
  Real* const largest = block + kVariables * plane;
  Real* const arrival = largest + plane;
  for (int at = static_cast<int>(threadIdx.x); at < plane; at += static_cast<int>(blockDim.x)) {
    const Real depth = block[at];
    if (!(depth > Real(0))) continue;
    if (depth > largest[at]) largest[at] = depth;
    if (depth >= arrival_depth && arrival[at] < Real(0)) arrival[at] = time;
  }
}

}  // namespace

template <class Real>
void launch_maps(const support::DeviceSlots& blocks, int count, int cells, double arrival_depth, double time,
                 const support::CudaStream& stream) {
  if (count == 0) return;
  const int plane = cells * cells;
  const int threads = plane < 256 ? (plane + 31) / 32 * 32 : 256;
  update_maps_kernel<<<count, threads, 0, stream.get()>>>(blocks, plane, static_cast<Real>(arrival_depth),
                                                          static_cast<Real>(time));
  support::cuda_check(cudaGetLastError(), "maps of largest depths");
}

template void launch_maps<double>(const support::DeviceSlots&, int, int, double, double, const support::CudaStream&);
template void launch_maps<float>(const support::DeviceSlots&, int, int, double, double, const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water
