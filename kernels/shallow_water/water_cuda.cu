#include "kernels/shallow_water/water_cuda.hpp"
#include "support/error.hpp"

namespace amrbench::kernels::shallow_water {

namespace {

constexpr int kThreads = 128;

template <class Real>
__global__ void __launch_bounds__(kThreads)
    water_kernel(support::DeviceSlots blocks, const std::int32_t* list, int plane, unsigned char* water) {
  const Real* const depth = reinterpret_cast<const Real*>(blocks.at(list[blockIdx.x]));
  bool is_wet = false;
  for (int at = static_cast<int>(threadIdx.x); at < plane; at += kThreads) is_wet = is_wet || depth[at] > Real(0);
  const bool any = __syncthreads_or(is_wet);
  if (threadIdx.x == 0) water[blockIdx.x] = any ? 1 : 0;
}

}  // namespace

template <class Real>
void launch_water(const support::DeviceSlots& blocks, const std::int32_t* list, int count, int cells,
                  unsigned char* water, const support::CudaStream& stream) {
  if (count == 0) return;
  water_kernel<Real><<<count, kThreads, 0, stream.get()>>>(blocks, list, cells * cells, water);
  support::cuda_check_launch("blocks with water");
}

template void launch_water<double>(const support::DeviceSlots&, const std::int32_t*, int, int, unsigned char*,
                                   const support::CudaStream&);
template void launch_water<float>(const support::DeviceSlots&, const std::int32_t*, int, int, unsigned char*,
                                  const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water
