#include "kernels/block_sums_cuda.hpp"
#include "kernels/device_sum.cuh"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

template <int Lanes, class Real>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(int values, support::DeviceSlots blocks, DeviceSumView view, const double* measures) {
  // The step from one pass to the next is a multiple of the lanes, so a thread keeps to one variable.
  constexpr int kStep = kThreads / Lanes * Lanes;
  __shared__ unsigned long long scratch[sum_scratch_words<Lanes, 1>(kThreads)];
  const int chunk = static_cast<int>(blockIdx.y);
  const Real* const from =
      reinterpret_cast<const Real*>(blocks.at(static_cast<int>(blockIdx.x))) + std::size_t(chunk) * values;
  const double measure = measures == nullptr ? 1.0 : measures[blockIdx.x];
  CellSum sums[1];
  if (threadIdx.x < kStep) {
    for (int k = static_cast<int>(threadIdx.x); k < values; k += kStep) sums[0].add(from[k] * measure, view);
  }
  flush_sums<Lanes, 1>(sums, static_cast<std::uint32_t>(values / Lanes), chunk, view, scratch);
}

template <int Lanes, class Real>
void launch_sums(const BlockLayout& l, const dim3& grid, const support::DeviceSlots& blocks, const DeviceSumView& sums,
                 const double* measures, cudaStream_t stream) {
  sum_kernel<Lanes, Real><<<grid, kThreads, 0, stream>>>(static_cast<int>(l.chunk_values()), blocks, sums, measures);
}

}  // namespace

template <class Real>
void launch_block_sums(const BlockLayout& l, int count, const support::DeviceSlots& blocks, const DeviceSumView& sums,
                       const support::CudaStream& stream, const double* measures) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(l.chunks));
  if constexpr (sizeof(Real) == sizeof(double)) {
    using Launch = void (*)(const BlockLayout&, const dim3&, const support::DeviceSlots&, const DeviceSumView&,
                            const double*, cudaStream_t);
    static constexpr Launch kLaunches[kMaxLanes] = {launch_sums<1, Real>, launch_sums<2, Real>, launch_sums<3, Real>,
                                                    launch_sums<4, Real>, launch_sums<5, Real>, launch_sums<6, Real>,
                                                    launch_sums<7, Real>, launch_sums<8, Real>};
    kLaunches[l.lanes - 1](l, grid, blocks, sums, measures, stream.get());
  } else {
    launch_sums<1, Real>(l, grid, blocks, sums, measures, stream.get());
  }
  support::cuda_check_launch("block sums");
}

template void launch_block_sums<double>(const BlockLayout&, int, const support::DeviceSlots&, const DeviceSumView&,
                                        const support::CudaStream&, const double*);
template void launch_block_sums<float>(const BlockLayout&, int, const support::DeviceSlots&, const DeviceSumView&,
                                       const support::CudaStream&, const double*);

}  // namespace amrbench::kernels
