#pragma once
// The shallow-water equations of one cell: constants, primitive values, slopes, friction.
//
//   h_t  + (hu)_x + (hv)_y = 0
//   hu_t + (hu u + g/2 h^2)_x + (hu v)_y = -g h z_x - g n^2 |q| hu / h^(7/3)        and the same for hv
//
// A block holds five planes of n x n cells, [variable][y][x], no ghost cells (kernels::BlockLayout with cells {n, n,
// 1}, one lane, five chunks).
#include "kernels/shallow_water/arithmetic.hpp"

namespace amrbench::kernels::shallow_water {

/// Planes of a block. The first three move with time.
enum Variable : int {
  kDepth = 0,       ///< h [m], never negative
  kDischargeX = 1,  ///< hu [m^2/s]
  kDischargeY = 2,  ///< hv [m^2/s]
  kBed = 3,         ///< z [m]
  kRoughness = 4,   ///< Manning's n [s m^(-1/3)]
};
inline constexpr int kVariables = 5;
inline constexpr int kMoving = 3;

/// How a slope is limited. All keep depths at faces at or above zero.
enum class Limiter : int {
  minmod,       ///< the smaller of the two one-sided slopes: most robust, most diffusive
  monotonized,  ///< the central slope, at most twice the smaller one-sided one: sharpest, no division
  van_leer,     ///< the harmonic mean: smooth, hence steady flows settle; one division more a value
};

template <class Real>
struct Physics {
  Real gravity = Real(9.81);                                     ///< g [m/s^2]
  Real dry_depth = sizeof(Real) == 4 ? Real(1e-5) : Real(1e-6);  ///< below it velocities are damped [m]
  Limiter limiter = Limiter::monotonized;
  bool friction = true;  ///< false: roughness is not read
};

/// Primitive values of a cell or at one side of a face; u along the face's normal, v along the face.
template <class Real>
struct Primitive {
  Real w, h, u, v;
};

/// 1/h for h >= dry, and below it a value that goes to 0 with h: 2h / (h^2 + max(h, dry)^2) (after Kurganov and
/// Petrova, Commun. Math. Sci. 5, 2007, with squares instead of fourth powers).
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real damped_inverse(Real h, Real dry) {
#if defined(__CUDA_ARCH__)
  if (h > larger(dry, Real(1e-12))) return quotient(h, h * h);  // the same quotient, halved above and below
  if (h == Real(0) && dry > Real(1e-12)) return Real(0);
#endif
  const Real deep = larger(h, dry);
  return (h + h) / (h * h + deep * deep);
}

template <class Real>
[[nodiscard]] AMRBENCH_HD inline Primitive<Real> primitive(Real h, Real along, Real across, Real z, Real dry) {
  const Real inverse = damped_inverse(h, dry);
  return {h + z, h, along * inverse, across * inverse};
}

/// Half the limited slope between the differences `a` to the one side and `b` to the other: odd, symmetric in a and b,
/// and at most min(|a|, |b|) also when rounded, so that h - half >= 0 where the neighbours' depths are.
template <Limiter kLimiter, class Real>
[[nodiscard]] AMRBENCH_HD inline Real half_slope(Real a, Real b) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4 && kLimiter != Limiter::van_leer) {  // the same, cut off between 0 and the nearer one
    const Real low = smaller(a, b), high = larger(a, b);
    if constexpr (kLimiter == Limiter::minmod) return Real(0.5) * (larger(low, Real(0)) + smaller(high, Real(0)));
    return larger(smaller(Real(0.25) * (a + b), larger(low, Real(0))), smaller(high, Real(0)));
  }
  // Selecting a double is dear there: the same by signs. + 0: a zero is positive.
  const Real near = nearer(a, b), sum = a + b;
  const bool rises = have_one_sign(a, b);
  if constexpr (kLimiter == Limiter::minmod) return Real(0.5) * (rises ? near : Real(0)) + Real(0);
  if constexpr (kLimiter == Limiter::monotonized) return (rises ? nearer(near, Real(0.25) * sum) : Real(0)) + Real(0);
  const Real product = a * b;
  const bool is_needed = rises && near != Real(0);
  Real mean = quotient(product, sum);
  if (is_needed && !(std::abs(product) > Real(1e-30) && std::abs(sum) > Real(1e-30))) mean = product / sum;
  return is_needed ? nearer(near, mean) : Real(0);
#else
  const Real low = smaller(a, b), high = larger(a, b);
  if constexpr (kLimiter == Limiter::minmod) {
    return Real(0.5) * (larger(low, Real(0)) + smaller(high, Real(0)));
  } else if constexpr (kLimiter == Limiter::monotonized) {
    const Real central = Real(0.25) * (a + b);
    return larger(smaller(low, central), Real(0)) + smaller(larger(high, central), Real(0));
  } else {
    const Real sum = a + b;
    const Real mean = (a * b) / (sum == Real(0) ? Real(1) : sum);  // bounded below: rounding may exceed the smaller one
    return larger(smaller(low, mean), Real(0)) + smaller(larger(high, mean), Real(0));
  }
#endif
}

template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real surface_slope_by_bounds(Real surface, Real depth, Real slack, Real bed_a,
                                                              Real bed_b) {
  const Real highest = larger(smaller(bed_a, bed_b), Real(0)) + slack;
  const Real lowest = smaller(larger(bed_a, bed_b), Real(0)) - slack;
  const Real wanted = larger(smaller(surface - depth, highest), lowest) + depth;
  return larger(smaller(wanted, larger(surface, Real(0))), smaller(surface, Real(0)));
}

/// Half slope of the surface, `surface` before, so that the bed implied at the faces, z = w - h, stays between the beds
/// of the cells on both sides, give or take half the depth h; `bed_a`, `bed_b` are the differences of bed to either.
/// Else a film on the edge of a terrace would put a wall before the water behind it. Deep water is left as it is. The
/// slope is moved towards 0 only: where it is 0, as in a lake at rest, it stays.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real surface_slope(Real surface, Real depth, Real h, Real bed_a, Real bed_b) {
  const Real slack = Real(0.5) * h;
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) return surface_slope_by_bounds(surface, depth, slack, bed_a, bed_b);
  // The same by signs.
  const Real bend = surface - depth;
  const bool rises = have_one_sign(bed_a, bed_b) && have_one_sign(bed_a, bend);
  const Real bound = (rises ? nearer(std::abs(bed_a), std::abs(bed_b)) : Real(0)) + slack;
  const Real bent = (std::abs(bend) > bound ? std::copysign(bound, bend) : bend) + depth;
  return (have_one_sign(bent, surface) ? nearer(bent, surface) : Real(0)) + Real(0);
#else
  return surface_slope_by_bounds(surface, depth, slack, bed_a, bed_b);
#endif
}

/// What friction leaves of a discharge q after a time step: the factor f with f q + dt g n^2 |f q| f q / h^(7/3) = q,
/// which is backward Euler. A steady flow stays; 0 < f <= 1, so flow is never reversed; f = 1 where n = 0.
/// `scale` = 4 g dt. First order in time where friction changes.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real friction_factor(Real h, Real hu, Real hv, Real n, Real scale, Real dry) {
  const Real r = inverse_cube_root(larger(h, dry));
  const Real cube = r * r * r;
  const Real q = std::sqrt(hu * hu + hv * hv);
  return Real(2) / (Real(1) + std::sqrt(Real(1) + scale * (n * n) * (q * ((cube * cube) * r))));
}

}  // namespace amrbench::kernels::shallow_water
