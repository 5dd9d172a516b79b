#pragma once
// Fused multiply-add of doubles, on the host where the build has it in hardware and on every GPU. Vectors: simd.hpp.
#include <cmath>

#include "sfc/host_device.hpp"

namespace amrbench::kernels {

/// Does this build have fused multiply-add in hardware? (In software it would cost more than a division.)
#if defined(__FMA__) || defined(__CUDA_ARCH__)
inline constexpr bool kHasFma = true;
#else
inline constexpr bool kHasFma = false;
#endif

/// a * b + c, rounded once; only where kHasFma.
AMRBENCH_HD inline double fused(double a, double b, double c) {
  return std::fma(a, b, c);
}

}  // namespace amrbench::kernels
