#pragma once
// Arithmetic of the shallow-water kernels: only + - * / sqrt, comparisons and bit operations, in a fixed order, so that
// processors and GPUs give the same bits and compilers vectorise loops over it.
#include <bit>
#include <cmath>
#include <cstdint>

#include "sfc/host_device.hpp"

namespace amrbench::kernels::shallow_water {

template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real smaller(Real a, Real b) {
  return a < b ? a : b;
}
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real larger(Real a, Real b) {
  return a > b ? a : b;
}
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real magnitude(Real a) {
  return a < Real(0) ? -a : a;
}

/// A first value of x^(-1/3), right to 4 %: the exponent over -3, by the bits of x read as a whole number.
[[nodiscard]] AMRBENCH_HD inline double rough_inverse_cube_root(double x) {
  const std::uint64_t high = std::bit_cast<std::uint64_t>(x) >> 32;
  return std::bit_cast<double>((std::uint64_t{0x553ef0ff} - ((high * 0x55555556U) >> 32)) << 32);
}
[[nodiscard]] AMRBENCH_HD inline float rough_inverse_cube_root(float x) {
  const std::uint64_t bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>(static_cast<std::uint32_t>(0x54a21d2aU - ((bits * 0x55555556U) >> 32)));
}

/// x^(-1/3) for normal x > 0, to 4 units in the last place. Three steps of third order (r += r d (1/3 + 2/9 d) with
/// d = 1 - x r^3), one of which a float would not need. No library's cbrt or pow: those differ between machines.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real inverse_cube_root(Real x) {
  Real r = rough_inverse_cube_root(x);
  for (int step = 0; step < 3; ++step) {
    const Real d = Real(1) - (x * r) * (r * r);
    r = r + (r * d) * (Real(1) / Real(3) + d * (Real(2) / Real(9)));
  }
  return r;
}

}  // namespace amrbench::kernels::shallow_water
