#pragma once
// Small steps that the rounds of ORB on a GPU share: prefix sums, numbers, labels. All are put into the given stream.
// Internal to OrbGpu.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

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
  support::cuda_check(cudaMemsetAsync(buffer.data(), 0, n * sizeof(V), stream.get()), "cudaMemsetAsync");
}

/// Can a thread block of the current device have so much dynamic shared memory?
inline bool has_shared(std::size_t bytes) {
  return bytes <= support::current_device_shape().shared_bytes;
}

/// Lets a kernel have so much dynamic shared memory; to be called where it is launched.
template <class... Arguments>
void allow_shared(void (*kernel)(Arguments...), std::size_t bytes) {
  support::cuda_check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
                      "cudaFuncSetAttribute");
}

/// sums[i]: the sum of values[0 .. i - 1]; may be the values. `temporary` grows as needed.
void sums_before(const std::uint32_t* values, std::uint32_t* sums, std::size_t n,
                 support::DeviceBuffer<unsigned char>& temporary, const support::CudaStream& stream);
/// 0, 1, 2 ..
void write_numbers(std::uint32_t* numbers, std::uint64_t n, const support::CudaStream& stream);
/// Leaves of n points from their codes. 6 bytes a point. Both aligned to 16 bytes.
void label_codes(const std::uint16_t* codes, std::uint64_t n, const std::uint32_t* leaf_of_code, std::uint32_t* labels,
                 const support::CudaStream& stream);

/// On the host: gives node v of a heap, whose root is 1, and all nodes below it a value.
template <class V>
void fill_below(std::vector<V>& heap, std::size_t v, V value) {
  for (std::size_t begin = v, end = v + 1; begin < heap.size(); begin *= 2, end *= 2)
    std::fill(heap.begin() + static_cast<std::ptrdiff_t>(begin), heap.begin() + static_cast<std::ptrdiff_t>(end),
              value);
}

}  // namespace amrbench::partitioners::gpu
