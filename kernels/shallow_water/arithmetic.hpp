#pragma once
// Arithmetic of the shallow-water kernels: only + - * / sqrt, comparisons and bit operations, in a fixed order, so that
// processors and GPUs give the same bits and compilers vectorise loops over it.
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "sfc/host_device.hpp"

namespace amrbench::kernels::shallow_water {

/// GPUs have both of floats in one operation. It tells zeros apart by their signs, so signs of zeros within a stage of
/// floats are not the host's; no_minus_zero() keeps them out of what a stage leaves.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real smaller(Real a, Real b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) return fminf(a, b);
#endif
  return a < b ? a : b;
}
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real larger(Real a, Real b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) return fmaxf(a, b);
#endif
  return a > b ? a : b;
}

/// x, and +0 for a float -0. What a stage leaves is x - y of such an x, or half a sum of two: where none of them is -0,
/// no sign of a zero within the stage shows in it.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real no_minus_zero(Real x) {
  return sizeof(Real) == 4 ? x + Real(0) : x;
}

/// 1 - (min(a, 1/2) + min(b, 1/2)) of two products a and b that are not negative.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real rest_of_halves(Real a1, Real a2, Real b1, Real b2) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) {  // twice each, which is exact, cut off at 1 by the multiplication itself
    float a, b;
    asm("mul.rn.sat.f32 %0, %1, %2;" : "=f"(a) : "f"(a1), "f"(a2 + a2));
    asm("mul.rn.sat.f32 %0, %1, %2;" : "=f"(b) : "f"(b1), "f"(b2 + b2));
    return fmaf(-0.5F, a + b, 1.0F);
  }
#endif
  return Real(1) - (smaller(a1 * a2, Real(0.5)) + smaller(b1 * b2, Real(0.5)));
}

/// Have both the same sign?
template <class Real>
[[nodiscard]] AMRBENCH_HD inline bool have_one_sign(Real a, Real b) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
  return (std::bit_cast<Bits>(a) ^ std::bit_cast<Bits>(b)) >= 0;
}
/// The one nearer to 0, the second where they are as near.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real nearer(Real a, Real b) {
  return std::abs(a) < std::abs(b) ? a : b;
}

template <class Real>
struct Two {
  Real first, second;
};

/// 1/x, a/b and two square roots, rounded as IEEE 754 says. GPUs pay for the ends of the range: they need 1e-30 <= x, b
/// <= 1e30 here, and either a = 0 or as large; both roots share one look at their range. Steps as in CUDA's own.
#if defined(__CUDA_ARCH__)
__device__ inline double reciprocal(double x) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  // Low bits as CUDA has them: with others the quotient of a number whose bits are all ones rounds wrongly.
  y = __hiloint2double(__double2hiint(y), __double2hiint(x) + 0x300402);
  const double e = fma(-x, y, 1.0);
  y = fma(y, fma(e, e, e), y);
  return fma(y, fma(-x, y, 1.0), y);
}
__device__ inline float reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return fmaf(y, fmaf(-x, y, 1.0F), y);
}
template <class Real>
__device__ inline Real quotient(Real a, Real b) {
  const Real y = reciprocal(b), q = a * y;
  return fma(y, fma(-b, q, a), q);
}
__device__ inline double root_inside(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double e = fma(x, -(y * y), 1.0);
  y = fma(fma(e, 0.375, 0.5), y * e, y);
  const double s = x * y;
  return fma(fma(s, -s, x), 0.5 * y, s);
}
__device__ inline float root_inside(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  const float s = x * y;
  return fmaf(fmaf(-s, s, x), 0.5F * y, s);
}
template <class Real>
__device__ inline bool is_inside(Real least, Real most) {
  return least > Real(1e-30) && most < Real(1e30);
}
template <class Real>
__device__ inline Two<Real> roots(Real a, Real b) {
  if (is_inside(smaller(a, b), larger(a, b))) return {root_inside(a), root_inside(b)};
  // Beside dry cells; std::sqrt takes long over 0.
  return {a == Real(0) ? a : std::sqrt(a), b == Real(0) ? b : std::sqrt(b)};
}
#else
template <class Real>
[[nodiscard]] inline Real reciprocal(Real x) {
  return Real(1) / x;
}
template <class Real>
[[nodiscard]] inline Real quotient(Real a, Real b) {
  return a / b;
}
template <class Real>
[[nodiscard]] inline Two<Real> roots(Real a, Real b) {
  return {std::sqrt(a), std::sqrt(b)};
}
#endif

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
