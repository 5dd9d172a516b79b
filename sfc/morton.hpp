#pragma once
// Morton codes: the bits of Dim coordinates interleaved, axis 0 in the lowest bit of each digit of Dim bits.
//
// Dim = 2 takes coordinates of up to 32 bits, Dim = 3 of up to 21; higher bits are ignored. O(1): parallel bit deposit
// and extract where the processor has them (BMI2), shifts and masks elsewhere (Morton 1966; the masks are the usual
// doubling scheme). Usable in device code.
#include <array>
#include <cstdint>

#include "sfc/host_device.hpp"

#if defined(__BMI2__) && !defined(__CUDA_ARCH__)
#include <immintrin.h>
#endif

namespace amrbench::sfc {

template <int Dim>
using Coord = std::array<std::uint32_t, Dim>;

/// The bits of a Morton code that belong to axis 0; axis d has them shifted left by d.
template <int Dim>
inline constexpr std::uint64_t kMortonMask = Dim == 2 ? 0x5555555555555555ULL : 0x1249249249249249ULL;

/// Moves bit i of x to bit Dim * i, by shifts and masks. Portable twin of morton_spread.
template <int Dim>
AMRBENCH_HD constexpr std::uint64_t morton_spread_portable(std::uint32_t x) {
  static_assert(Dim == 2 || Dim == 3);
  std::uint64_t v = x;
  if constexpr (Dim == 2) {
    v = (v | v << 16) & 0x0000ffff0000ffffULL;
    v = (v | v << 8) & 0x00ff00ff00ff00ffULL;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0fULL;
    v = (v | v << 2) & 0x3333333333333333ULL;
    v = (v | v << 1) & 0x5555555555555555ULL;
  } else {
    v &= 0x1fffff;
    v = (v | v << 32) & 0x001f00000000ffffULL;
    v = (v | v << 16) & 0x001f0000ff0000ffULL;
    v = (v | v << 8) & 0x100f00f00f00f00fULL;
    v = (v | v << 4) & 0x10c30c30c30c30c3ULL;
    v = (v | v << 2) & 0x1249249249249249ULL;
  }
  return v;
}

/// Inverse of morton_spread; bits outside axis 0's are ignored.
template <int Dim>
AMRBENCH_HD constexpr std::uint32_t morton_gather_portable(std::uint64_t v) {
  static_assert(Dim == 2 || Dim == 3);
  if constexpr (Dim == 2) {
    v &= 0x5555555555555555ULL;
    v = (v | v >> 1) & 0x3333333333333333ULL;
    v = (v | v >> 2) & 0x0f0f0f0f0f0f0f0fULL;
    v = (v | v >> 4) & 0x00ff00ff00ff00ffULL;
    v = (v | v >> 8) & 0x0000ffff0000ffffULL;
    v = (v | v >> 16) & 0x00000000ffffffffULL;
  } else {
    v &= 0x1249249249249249ULL;
    v = (v | v >> 2) & 0x10c30c30c30c30c3ULL;
    v = (v | v >> 4) & 0x100f00f00f00f00fULL;
    v = (v | v >> 8) & 0x001f0000ff0000ffULL;
    v = (v | v >> 16) & 0x001f00000000ffffULL;
    v = (v | v >> 32) & 0x00000000001fffffULL;
  }
  return static_cast<std::uint32_t>(v);
}

template <int Dim>
AMRBENCH_HD inline std::uint64_t morton_spread(std::uint32_t x) {
#if defined(__BMI2__) && !defined(__CUDA_ARCH__)
  return _pdep_u64(x, kMortonMask<Dim>);
#else
  return morton_spread_portable<Dim>(x);
#endif
}

template <int Dim>
AMRBENCH_HD inline std::uint32_t morton_gather(std::uint64_t v) {
#if defined(__BMI2__) && !defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(_pext_u64(v, kMortonMask<Dim>));
#else
  return morton_gather_portable<Dim>(v);
#endif
}

template <int Dim>
AMRBENCH_HD inline std::uint64_t morton_encode(const Coord<Dim>& c) {
  std::uint64_t code = 0;
  for (int d = 0; d < Dim; ++d) code |= morton_spread<Dim>(c[d]) << d;
  return code;
}

template <int Dim>
AMRBENCH_HD inline Coord<Dim> morton_decode(std::uint64_t code) {
  Coord<Dim> c{};
  for (int d = 0; d < Dim; ++d) c[d] = morton_gather<Dim>(code >> d);
  return c;
}

}  // namespace amrbench::sfc
