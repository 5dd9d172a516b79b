#include "kernels/block_sums_cuda.hpp"
#include "kernels/device_sum.cuh"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

template <int Lanes>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(int values, support::DeviceSlots blocks, DeviceSumView view, const double* measures) {
  // The step from one pass to the next is a multiple of the lanes, so a thread keeps to one variable.
  constexpr int kStep = kThreads / Lanes * Lanes;
  __shared__ unsigned long long scratch[sum_scratch_words<Lanes, 1>(kThreads)];
  const int chunk = static_cast<int>(blockIdx.y);
  const double* const from = blocks.at(static_cast<int>(blockIdx.x)) + std::size_t(chunk) * values;
  const double measure = measures == nullptr ? 1.0 : measures[blockIdx.x];
  CellSum sums[1];
  if (threadIdx.x < kStep) {
    for (int k = static_cast<int>(threadIdx.x); k < values; k += kStep) sums[0].add(from[k] * measure, view);
  }
  flush_sums<Lanes, 1>(sums, static_cast<std::uint32_t>(values / Lanes), chunk, view, scratch);
}

template <int Lanes>
void launch_sums(const BlockLayout& l, const dim3& grid, const support::DeviceSlots& blocks, const DeviceSumView& sums,
                 const double* measures, cudaStream_t stream) {
  sum_kernel<Lanes><<<grid, kThreads, 0, stream>>>(static_cast<int>(l.chunk_values()), blocks, sums, measures);
}

}  // namespace

void launch_block_sums(const BlockLayout& l, int count, const support::DeviceSlots& blocks, const DeviceSumView& sums,
                       const support::CudaStream& stream, const double* measures) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(l.chunks));
  using Launch = void (*)(const BlockLayout&, const dim3&, const support::DeviceSlots&, const DeviceSumView&,
                          const double*, cudaStream_t);
  static constexpr Launch kLaunches[kMaxLanes] = {launch_sums<1>, launch_sums<2>, launch_sums<3>, launch_sums<4>,
                                                  launch_sums<5>, launch_sums<6>, launch_sums<7>, launch_sums<8>};
  kLaunches[l.lanes - 1](l, grid, blocks, sums, measures, stream.get());
  support::cuda_check_launch("block sums");
}

}  // namespace amrbench::kernels
