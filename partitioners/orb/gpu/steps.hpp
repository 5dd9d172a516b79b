#pragma once
// Small steps that the rounds of ORB on a GPU share. All are put into the given stream. Internal to OrbGpu.
#include <algorithm>
#include <cstdint>
#include <cub/device/device_scan.cuh>

#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

using support::copy_to_device;
using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

/// Blocks of so many threads that n items take, one a thread.
inline unsigned blocks_of(std::uint64_t n, unsigned threads) {
  return static_cast<unsigned>((n + threads - 1) / threads);
}

inline unsigned multiprocessors() {
  return static_cast<unsigned>(support::current_device_shape().multiprocessors);
}

/// Makes the buffer's size n and its values zero.
template <class V>
void clear(support::DeviceBuffer<V>& buffer, std::size_t n, const support::CudaStream& stream) {
  buffer.resize_discard(n);
  cuda_check(cudaMemsetAsync(buffer.data(), 0, n * sizeof(V), stream.get()), "cudaMemsetAsync");
}

/// Lets a kernel have so much dynamic shared memory; to be called where it is launched.
template <class... Arguments>
void allow_shared(void (*kernel)(Arguments...), std::size_t bytes) {
  cuda_check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "cudaFuncSetAttribute");
}

/// Runs one of CUB's algorithms for a whole device. call(room, bytes): with room null it says how many it needs.
template <class Call>
void with_room(support::DeviceBuffer<unsigned char>& temporary, const char* name, Call&& call) {
  std::size_t bytes = 0;
  cuda_check(call(nullptr, bytes), name);
  temporary.resize_discard(bytes);
  cuda_check(call(temporary.data(), bytes), name);
}

/// sums[i]: the sum of values[0 .. i - 1]; may be the values. `temporary` grows as needed.
template <class Values>
void sums_before(Values values, std::uint32_t* sums, std::size_t n, support::DeviceBuffer<unsigned char>& temporary,
                 const support::CudaStream& stream) {
  with_room(temporary, "DeviceScan", [&](void* room, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(room, bytes, values, sums, n, stream.get());
  });
}

/// values[i] becomes the sum of values[0 .. i].
template <class V>
void sums_up_to(support::DeviceBuffer<V>& values, support::DeviceBuffer<unsigned char>& temporary,
                const support::CudaStream& stream) {
  with_room(temporary, "DeviceScan", [&](void* room, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(room, bytes, values.data(), values.data(), values.size(), stream.get());
  });
}

}  // namespace amrbench::partitioners::gpu
