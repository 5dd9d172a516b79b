#include "kernels/shallow_water/water_cuda.hpp"
#include "support/error.hpp"

namespace amrbench::kernels::shallow_water {

namespace {

constexpr int kThreads = 128;

template <class Real>
__global__ void __launch_bounds__(kThreads)
    water_kernel(support::DeviceSlots blocks, const std::int32_t* list, int cells, WaterMarks* water) {
  __shared__ unsigned all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  const Real* const depth = reinterpret_cast<const Real*>(blocks.at(list[blockIdx.x]));
  unsigned marks = 0;
  for (int at = static_cast<int>(threadIdx.x); at < cells * cells; at += kThreads)
    if (depth[at] > Real(0)) marks |= water_marks(cells, at % cells, at / cells);
  if (marks != 0) atomicOr(&all, marks);
  __syncthreads();
  if (threadIdx.x == 0) water[blockIdx.x] = static_cast<WaterMarks>(all);
}

}  // namespace

template <class Real>
void launch_water(const support::DeviceSlots& blocks, const std::int32_t* list, int count, int cells, WaterMarks* water,
                  const support::CudaStream& stream) {
  if (count == 0) return;
  water_kernel<Real><<<count, kThreads, 0, stream.get()>>>(blocks, list, cells, water);
  support::cuda_check_launch("blocks with water");
}

template void launch_water<double>(const support::DeviceSlots&, const std::int32_t*, int, int, WaterMarks*,
                                   const support::CudaStream&);
template void launch_water<float>(const support::DeviceSlots&, const std::int32_t*, int, int, WaterMarks*,
                                  const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water
