#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/device_bandwidth.hpp"
#include "support/field_stats.hpp"

namespace amrbench::support {

namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4;  // loads a thread has under way

__global__ void __launch_bounds__(kThreads) copy_kernel(double2* to, const double2* from, std::size_t n) {
  const std::size_t first = std::size_t(blockIdx.x) * kThreads * kEach + threadIdx.x;
  double2 values[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (first + k * kThreads < n) values[k] = __ldcs(from + first + k * kThreads);
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (first + k * kThreads < n) __stcs(to + first + k * kThreads, values[k]);
}

/// Values whose bits differ: constant data can be copied faster than a mesh's.
__global__ void __launch_bounds__(kThreads) fill_kernel(std::uint64_t* to, std::size_t n) {
  const std::size_t step = std::size_t(gridDim.x) * kThreads;
  for (std::size_t i = std::size_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) to[i] = mix64(i);
}

template <class Copy>
double median_rate(std::size_t bytes, int repetitions, const CudaStream& stream, const Copy& copy) {
  CudaEvent start(true), stop(true);
  std::vector<double> seconds;
  for (int r = 0; r <= repetitions; ++r) {
    start.record(stream);
    copy();
    stop.record(stream);
    stop.synchronize();
    if (r > 0) seconds.push_back(stop.seconds_since(start));
  }
  std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
  return 2.0 * static_cast<double>(bytes) / seconds[repetitions / 2];
}

}  // namespace

DeviceCopyBandwidth measure_device_copy(std::size_t bytes, int repetitions) {
  const DeviceRegion from(bytes), to(bytes);
  const CudaStream stream;
  const std::size_t n = bytes / sizeof(double2);
  constexpr int kFillBlocks = 2048;
  fill_kernel<<<kFillBlocks, kThreads, 0, stream.get()>>>(static_cast<std::uint64_t*>(from.data()), 2 * n);
  cuda_check_launch("fill");
  DeviceCopyBandwidth result;
  result.runtime_bytes_per_s = median_rate(bytes, repetitions, stream, [&] {
    cuda_check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream.get()),
               "cudaMemcpyAsync");
  });
  result.kernel_bytes_per_s = median_rate(bytes, repetitions, stream, [&] {
    const auto grid = static_cast<unsigned int>((n + kThreads * kEach - 1) / (kThreads * kEach));
    copy_kernel<<<grid, kThreads, 0, stream.get()>>>(static_cast<double2*>(to.data()),
                                                     static_cast<const double2*>(from.data()), n);
    cuda_check_launch("copy");
  });
  result.bytes_per_s = std::max(result.runtime_bytes_per_s, result.kernel_bytes_per_s);
  return result;
}

}  // namespace amrbench::support
