#pragma once
// AMRBENCH_HD marks a function for host and device where a CUDA compiler reads it, and is nothing elsewhere. Device
// builds need nvcc's --expt-relaxed-constexpr, because coordinates are std::array.
//
// In code for devices the functions of <bit> that look for bits are not to be trusted: nvcc 13.0 makes std::bit_width
// of every 64-bit number 0, and std::countl_zero and std::countr_zero 64, without a word. Those below are right on
// either.
#include <cstdint>
#if defined(__CUDACC__)
#define AMRBENCH_HD __host__ __device__
#else
#define AMRBENCH_HD
#endif

namespace amrbench {

/// Number of zero bits below the lowest one; x != 0.
AMRBENCH_HD inline int trailing_zeros(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(x)) - 1;
#else
  return __builtin_ctzll(x);
#endif
}

/// Number of bits up to the highest one: 0 for 0, 64 for the largest x.
AMRBENCH_HD inline int bit_width(std::uint64_t x) {
#if defined(__CUDA_ARCH__)
  return 64 - __clzll(static_cast<long long>(x));
#else
  return x == 0 ? 0 : 64 - __builtin_clzll(x);
#endif
}

}  // namespace amrbench
