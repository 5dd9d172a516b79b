#pragma once
// Fluxes through one face, and through the two half faces at a change of level.
//
// Riemann solver HLLC (Toro, Shock-Capturing Methods for Free-Surface Shallow Flows, 2001): two waves for depth and
// normal momentum, transverse velocity from upwind. Beds that jump at the face: hydrostatic reconstruction of Chen and
// Noelle (SIAM J. Numer. Anal. 55, 2017), which is well balanced beside dry land and right for thin flow down steep
// slopes.
//
// Normal momentum is kept as differences. With p = g/2 h^2 at a cell's own side of the face, a cell's momentum changes
// by
//   -[(flux - p)_right - (flux - p)_left + g/2 (h_right + h_left) (w_right - w_left)]
// where the last term is pressure and bed within the cell together, 2 g h times its half slope of w. In a lake at rest
// each of the three is zero but for the rounding of w.
//
// Positivity: the water of a cell is shared out to its four faces, and no more than its share leaves through a face.
// Each gets what the cell's own velocity carries through it, and a quarter of the rest; so flow that is smooth is never
// held back at CFL numbers up to 1/2, and a cell cannot be emptied. Shares depend on the cell alone: both sides of a
// face know both cells, hence cut alike. Mass that stays keeps its momentum.
//
// Operations of face_flux: 1 division, 2 square roots, about 80 others.
#include "kernels/shallow_water/cell.hpp"

namespace amrbench::kernels::shallow_water {

/// Per metre of face and second: mass [m^2/s], momenta [m^3/s^2].
template <class Real>
struct FaceFlux {
  Real mass;
  Real transverse;
  Real lower;  ///< normal momentum as the cell below (left of) the face sees it, less its own g/2 h^2 at the face
  Real upper;  ///< the same for the cell above (right of) it
};

/// The share of its water that a cell gives away at most: a hair below 1, the hair far above rounding, so that depths
/// stay at or above 0 in rounded arithmetic.
template <class Real>
[[nodiscard]] AMRBENCH_HD constexpr Real all_but_a_hair() {
  return sizeof(Real) == 4 ? Real(1 - 0x1p-16) : Real(1 - 0x1p-40);
}

/// The share of a cell's water that its own velocity does not carry away within a time step; its faces get a quarter
/// each. Velocities count up to half a cell a step along each axis, so that this is not negative.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real spare_share(Real u, Real v, Real dt_over_dx, Real dt_over_dy) {
  return rest_of_halves(std::abs(u), dt_over_dx, std::abs(v), dt_over_dy);
}

/// Most mass that may leave a cell of depth h through one face [m^2/s]: `outward` is its velocity towards that face,
/// `dx_over_dt` its extent across the face over the time step. Half faces of a coarse cell have this bound too: each is
/// half as long.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real largest_outflow(Real h, Real outward, Real spare, Real dx_over_dt) {
  const Real carried = larger(smaller(outward, Real(0.5) * dx_over_dt), Real(0));
  return all_but_a_hair<Real>() * (h * (carried + spare * (Real(0.25) * dx_over_dt)));
}

/// The flux between `l` below and `r` above a face; at most outflow(true) leaves the one and outflow(false) the other
/// cell; on GPUs only that of the cell that gives is asked for.
template <class Real, class Outflow>
[[nodiscard]] AMRBENCH_HD inline FaceFlux<Real> face_flux(const Primitive<Real>& l, const Primitive<Real>& r,
                                                          Real gravity, const Outflow& outflow) {
  // Depths over the common bed.
  const Real bed = smaller(larger(l.w - l.h, r.w - r.h), smaller(l.w, r.w));
  const Real hl = smaller(l.w - bed, l.h);
  const Real hr = smaller(r.w - bed, r.h);
  // Speeds of the outer waves: two-rarefaction estimate, and Ritter's where one side is dry.
  const auto [cl, cr] = roots(gravity * hl, gravity * hr);
  const Real middle = Real(0.5) * (l.u + r.u) + (cl - cr);
  const Real c = Real(0.5) * (cl + cr) + Real(0.25) * (l.u - r.u);
  const Real slow = smaller(l.u - cl, middle - c), fast = larger(r.u + cr, middle + c);
  const Real slow_wet = hr > Real(0) ? slow : l.u - cl, fast_wet = hl > Real(0) ? fast : r.u + cr;
  const Real sl = smaller(hl > Real(0) ? slow_wet : r.u - (cr + cr), Real(0));
  const Real sr = larger(hr > Real(0) ? fast_wet : l.u + (cl + cl), Real(0));
  const Real inverse = reciprocal(larger(sr - sl, Real(1e-30)));
  const Real product = sl * sr;

  const Real ml = hl * l.u, mr = hr * r.u;
  const Real mass = ((sr * ml - sl * mr) + product * (hr - hl)) * inverse;
  const Real advected = (sr * (ml * l.u) - sl * (mr * r.u)) + product * (mr - ml);
  const Real half_g = Real(0.5) * gravity;
  const Real pressure = half_g * ((hr - hl) * (hr + hl));

  const bool forward = mass > Real(0);
#if defined(__CUDA_ARCH__)
  const Real most = outflow(forward);
  const Real kept = forward ? smaller(mass, most) : larger(mass, -most);
#else  // vectors have both at once
  const Real kept = smaller(larger(mass, -outflow(false)), outflow(true));
#endif
  const Real withheld = (mass - kept) * (forward ? l.u : r.u);
  FaceFlux<Real> flux;
  flux.mass = kept;
  flux.transverse = kept * (forward ? l.v : r.v);
  flux.lower = ((advected - sl * pressure) * inverse - withheld) + half_g * ((l.h + hl) * ((hl + bed) - l.w));
  flux.upper = ((advected - sr * pressure) * inverse - withheld) + half_g * ((r.h + hr) * ((hr + bed) - r.w));
  return flux;
}

/// What a fine cell takes for its neighbour behind a change of level: its own value and two thirds of the difference to
/// the coarse cell, whose centre is one and a half fine cells away.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Primitive<Real> ghost_of_fine(const Primitive<Real>& fine,
                                                               const Primitive<Real>& coarse) {
  constexpr Real kShare = Real(2) / Real(3);
  return {fine.w + (coarse.w - fine.w) * kShare, fine.h + (coarse.h - fine.h) * kShare,
          fine.u + (coarse.u - fine.u) * kShare, fine.v + (coarse.v - fine.v) * kShare};
}

/// The value at the face of a cell `at` with `behind` on the other side of it and `beyond` across the face. Has the
/// bits of at + half or at - half in the walk over a row, whichever side of the face it is: half_slope is odd and
/// symmetric.
template <Limiter kLimiter, class Real>
[[nodiscard]] AMRBENCH_HD inline Primitive<Real> at_face(const Primitive<Real>& behind, const Primitive<Real>& at,
                                                         const Primitive<Real>& beyond) {
  const Real dh = half_slope<kLimiter>(at.h - behind.h, beyond.h - at.h);
  const Real z = at.w - at.h;
  const Real dw = surface_slope(half_slope<kLimiter>(at.w - behind.w, beyond.w - at.w), dh, at.h,
                                z - (behind.w - behind.h), (beyond.w - beyond.h) - z);
  return {at.w + dw, at.h + dh, at.u + half_slope<kLimiter>(at.u - behind.u, beyond.u - at.u),
          at.v + half_slope<kLimiter>(at.v - behind.v, beyond.v - at.v)};
}

/// One coarse cell and the 2 x 2 fine cells across its face, raw: [0] nearest the face, [1] behind it. `along` is the
/// discharge along the face's normal (towards larger coordinates), `across` that along the face.
template <class Real>
struct RawCell {
  Real h, along, across, z;
};
template <class Real>
struct Jump {
  RawCell<Real> coarse[2];
  RawCell<Real> fine[2][2];  ///< [layer][which half of the face]
};

/// The conserved mean of the 2 x 2 fine cells: what the coarse cell takes for its neighbour.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Primitive<Real> ghost_of_coarse(const RawCell<Real> (&fine)[2][2], Real dry) {
  const auto mean = [&](Real RawCell<Real>::*value) {
    return Real(0.25) * ((fine[0][0].*value + fine[0][1].*value) + (fine[1][0].*value + fine[1][1].*value));
  };
  return primitive(mean(&RawCell<Real>::h), mean(&RawCell<Real>::along), mean(&RawCell<Real>::across),
                   mean(&RawCell<Real>::z), dry);
}

template <class Real>
[[nodiscard]] AMRBENCH_HD inline Primitive<Real> primitive(const RawCell<Real>& cell, Real dry) {
  return primitive(cell.h, cell.along, cell.across, cell.z, dry);
}

/// A cell's extents over the time step, and the other way round, across and along a face.
template <class Real>
struct Extents {
  Real across_over_dt, dt_over_across, dt_over_along;
};

/// The fluxes of the two half faces. The same for who asks from the coarse and who asks from the fine side: a fine cell
/// uses its own, the coarse cell the mean of both. `fine`: of fine cells.
template <Limiter kLimiter, class Real>
AMRBENCH_HD inline void jump_fluxes(const Jump<Real>& jump, bool coarse_is_lower, const Extents<Real>& fine,
                                    const Physics<Real>& physics, FaceFlux<Real> (&fluxes)[2]) {
  const Real dry = physics.dry_depth, to_fine = coarse_is_lower ? Real(1) : Real(-1);
  const Primitive<Real> coarse = primitive(jump.coarse[0], dry);
  const Primitive<Real> coarse_face =
      at_face<kLimiter>(primitive(jump.coarse[1], dry), coarse, ghost_of_coarse(jump.fine, dry));
  const Real half_step = Real(0.5);
  const Real coarse_spare =
      spare_share(coarse.u, coarse.v, half_step * fine.dt_over_across, half_step * fine.dt_over_along);
  const Real coarse_out = largest_outflow(coarse.h, to_fine * coarse.u, coarse_spare, Real(2) * fine.across_over_dt);
  for (int half = 0; half < 2; ++half) {
    const Primitive<Real> cell = primitive(jump.fine[0][half], dry);
    const Primitive<Real> cell_face =
        at_face<kLimiter>(primitive(jump.fine[1][half], dry), cell, ghost_of_fine(cell, coarse));
    const Real spare = spare_share(cell.u, cell.v, fine.dt_over_across, fine.dt_over_along);
    const Real out = largest_outflow(cell.h, -to_fine * cell.u, spare, fine.across_over_dt);
    fluxes[half] =
        face_flux(coarse_is_lower ? coarse_face : cell_face, coarse_is_lower ? cell_face : coarse_face, physics.gravity,
                  [&](bool forward) { return forward == coarse_is_lower ? coarse_out : out; });
  }
}

}  // namespace amrbench::kernels::shallow_water
