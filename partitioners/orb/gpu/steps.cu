#include <cub/device/device_scan.cuh>

#include "partitioners/orb/gpu/steps.hpp"

namespace amrbench::partitioners::gpu {

namespace {

constexpr unsigned kStepThreads = 256;

__global__ void __launch_bounds__(kStepThreads) numbers_kernel(std::uint32_t* numbers, std::uint64_t n) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) numbers[i] = static_cast<std::uint32_t>(i);
}

/// Four points a thread at a time.
__global__ void __launch_bounds__(kStepThreads)
    code_labels_kernel(const std::uint16_t* __restrict__ codes, std::uint64_t n,
                       const std::uint32_t* __restrict__ leaf_of_code, std::uint32_t* __restrict__ labels) {
  const std::uint64_t groups = n / 4;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t me = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::uint64_t g = me; g < groups; g += step) {
    const uint2 four = __ldcs(reinterpret_cast<const uint2*>(codes) + g);
    const uint4 leaves = make_uint4(__ldg(leaf_of_code + (four.x & 0xffffU)), __ldg(leaf_of_code + (four.x >> 16U)),
                                    __ldg(leaf_of_code + (four.y & 0xffffU)), __ldg(leaf_of_code + (four.y >> 16U)));
    __stcs(reinterpret_cast<uint4*>(labels) + g, leaves);
  }
  if (me < n % 4) labels[4 * groups + me] = leaf_of_code[codes[4 * groups + me]];
}

}  // namespace

void sums_before(const std::uint32_t* values, std::uint32_t* sums, std::size_t n,
                 support::DeviceBuffer<unsigned char>& temporary, const support::CudaStream& stream) {
  std::size_t bytes = 0;
  support::cuda_check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, values, sums, n, stream.get()), "DeviceScan");
  temporary.resize_discard(bytes);
  support::cuda_check(cub::DeviceScan::ExclusiveSum(temporary.data(), bytes, values, sums, n, stream.get()),
                      "DeviceScan");
}

void write_numbers(std::uint32_t* numbers, std::uint64_t n, const support::CudaStream& stream) {
  numbers_kernel<<<blocks_of(n, kStepThreads), kStepThreads, 0, stream.get()>>>(numbers, n);
  support::cuda_check_launch("numbers_kernel");
}

void label_codes(const std::uint16_t* codes, std::uint64_t n, const std::uint32_t* leaf_of_code, std::uint32_t* labels,
                 const support::CudaStream& stream) {
  const unsigned grid = std::min(8 * multiprocessors(), blocks_of(n / 4 + 4, kStepThreads));
  code_labels_kernel<<<grid, kStepThreads, 0, stream.get()>>>(codes, n, leaf_of_code, labels);
  support::cuda_check_launch("code_labels_kernel");
}

}  // namespace amrbench::partitioners::gpu
