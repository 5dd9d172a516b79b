#pragma once
// Water that enters through a side of the domain, with its momentum.
//
// Given is the discharge per metre q > 0, inwards. As much mass flows, to the bit: the flux of the face is made here
// and not by the Riemann solver. It comes in with depth d and velocity q / d:
// - slower than its waves: d follows from what leaves the domain. With the velocity u inwards and c = sqrt(g h), the
//   cell inside has R = u - 2 c, and so has the water that comes in: 2 c^3 + R c^2 = g q, one root where R < -c_q,
//   found by Newton's steps from above. c_q = (g q)^(1/3) is that of critical flow, the fastest that comes in so.
// - faster, where a depth is given at which q is: that one.
// The bed goes on behind the side as it is inside. Source: Sanders, Adv. Water Resour. 25, 2002 (conditions at sides by
// characteristics).
#include <cstddef>

#include "kernels/shallow_water/boundary.hpp"

namespace amrbench::kernels::shallow_water {

/// At one cell of a side. 0: as if there were no inflow.
template <class Real>
struct Inflow {
  Real discharge = Real(0);  ///< inwards [m^2/s]
  Real depth = Real(0);      ///< that it comes in with where it is faster than its waves [m]; 0: none is given
};

/// Values behind a face, as Strip has them, and what goes with an inflow: discharges [n], fluxes [4][n] (mass,
/// transverse, lower, upper).
[[nodiscard]] AMRBENCH_HD constexpr std::size_t inflow_values(int n) {
  return 5 * std::size_t(n);
}

/// (g q)^(1/3): the speed of critical flow, and of its waves.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real critical_speed(Real q, Real gravity) {
  const Real cube = larger(gravity * q, Real(1e-30)), root = inverse_cube_root(cube);
  return cube * (root * root);
}

/// The depth of the inflow before a cell of depth h that flows with `inwards` [m^2/s].
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real inflow_depth(const Inflow<Real>& inflow, Real h, Real inwards,
                                                   const Physics<Real>& physics) {
  const Real q = inflow.discharge, d = inflow.depth, target = physics.gravity * q;
  if (d > Real(0) && q * q > physics.gravity * (d * (d * d))) return d;
  const Real critical = critical_speed(q, physics.gravity);
  const Real u = inwards * damped_inverse(h, physics.dry_depth), c = std::sqrt(physics.gravity * h);
  const Real leaving = smaller(u - (c + c), -critical);
  // At (1/2)^(1/3) c_q - R/2 the cubic is above 0 and bends upwards from the root on.
  Real wave = Real(0.8) * critical - Real(0.5) * leaving;
  constexpr int kSteps = 8;
  for (int step = 0; step < kSteps; ++step) {
    const Real above = ((wave + wave) + leaving) * (wave * wave) - target;
    wave = wave - above / (wave * (Real(6) * wave + (leaving + leaving)));
  }
  return (wave * wave) / physics.gravity;
}

/// The depth at the face of a cell of depth `at`, `behind` on its other side and `beyond` across the face.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real depth_at_face(Limiter limiter, Real behind, Real at, Real beyond) {
  const Real a = at - behind, b = beyond - at;
  if (limiter == Limiter::minmod) return at + half_slope<Limiter::minmod>(a, b);
  if (limiter == Limiter::van_leer) return at + half_slope<Limiter::van_leer>(a, b);
  return at + half_slope<Limiter::monotonized>(a, b);
}

/// Fills the two layers behind cell m of a face at which water comes in, inflow.discharge > 0, as fill_boundary_cell()
/// does, and the discharge and fluxes in `through` [inflow_values(n)]. Stored: of the block's values.
template <class Real, class Stored>
AMRBENCH_HD inline void fill_inflow_cell(const Inflow<Real>& inflow, int n, int face, const Physics<Real>& physics,
                                         const Stored* block, int m, Stored* strip, Stored* through) {
  const std::size_t plane = std::size_t(n) * n;
  const std::size_t at = cell_at_face(n, face, 0, m), next = cell_at_face(n, face, 1, m);
  const auto value = [&](int v, std::size_t cell) { return static_cast<Real>(block[v * plane + cell]); };
  const int normal = face < 2 ? kDischargeX : kDischargeY, transverse = face < 2 ? kDischargeY : kDischargeX;
  const bool is_low = face % 2 == 0;
  const Real q = inflow.discharge, h = value(kDepth, at), z = value(kBed, at), rise = z - value(kBed, next);
  const Real depth = inflow_depth(inflow, h, is_low ? value(normal, at) : -value(normal, at), physics);
  const Real along = is_low ? q : -q;
  for (int layer = 0; layer < 2; ++layer) {
    const auto put = [&](int v, Real x) { strip[(std::size_t(v) * 2 + layer) * n + m] = static_cast<Stored>(x); };
    put(kDepth, depth);
    put(normal, along);
    put(transverse, Real(0));
    put(kBed, z + Real(layer + 1) * rise);
    put(kRoughness, value(kRoughness, at));
  }
  const Real inside = depth_at_face(physics.limiter, value(kDepth, next), h, depth);
  const Real momentum = q * (q * damped_inverse(depth, physics.dry_depth)) +
                        (Real(0.5) * physics.gravity) * ((depth - inside) * (depth + inside));
  const Real flux[5] = {q, along, Real(0), momentum, momentum};
  for (int v = 0; v < 5; ++v) through[std::size_t(v) * n + m] = static_cast<Stored>(flux[v]);
}

/// The whole strip of a face of a block of n x n cells, `inflows` at its cells; the others as `boundary` has them.
/// False where no water comes in: `through` means nothing then.
template <class Real, class Stored>
inline bool fill_inflow(const Inflow<Real>* inflows, const Boundary<Real>& boundary, int n, int face,
                        const Physics<Real>& physics, const Stored* block, Stored* strip, Stored* through) {
  bool comes = false;
  for (int m = 0; m < n; ++m) {
    if (inflows[m].discharge > Real(0)) {
      fill_inflow_cell(inflows[m], n, face, physics, block, m, strip, through);
      comes = true;
    } else {
      fill_boundary_cell(boundary, n, face, physics, block, m, strip);
      through[m] = Stored(0);
    }
  }
  return comes;
}

}  // namespace amrbench::kernels::shallow_water
