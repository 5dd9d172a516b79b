#pragma once
// Rows of cells and faces: the loops without branches that a stage of a block is made of, and where their values lie.
// For block.cpp alone, whose flags let compilers vectorise square roots; row ends are padded to whole vectors, whose
// last values are computed from what lies there and dropped.
#include <cmath>
#include <cstddef>

#include "kernels/shallow_water/block.hpp"

namespace amrbench::kernels::shallow_water {

inline constexpr int kGhosts = 2;  ///< layers of a tile behind each face
inline constexpr int kRowSlack = 16;
inline constexpr int kRowsAtOnce =
    4;  ///< along x: rows are walked as one, so that fewer vectors are cut off at their ends

/// One value of a row each: w, h, u, v; or mass, transverse, lower, upper of fluxes.
template <class Real>
struct RowOf4 {
  Real* row[4];
};

/// Rows that begin `by` cells on.
template <class Real>
[[nodiscard]] RowOf4<Real> shifted(const RowOf4<Real>& rows, std::ptrdiff_t by) {
  return {{rows.row[0] + by, rows.row[1] + by, rows.row[2] + by, rows.row[3] + by}};
}

/// `count` up to whole vectors: of 4 doubles, or of 16 floats, whose loops' ends compilers leave in single values.
template <class Real>
[[nodiscard]] constexpr int whole_vectors(int count) {
  constexpr int kWidth = sizeof(Real) == 4 ? 16 : 4;
  return (count + kWidth - 1) / kWidth * kWidth;
}

/// How the scratch is divided for blocks of n x n cells.
template <class Real>
struct Plan {
  int n, stride;
  std::size_t plane;  ///< values of a plane of the tile
  Real *tile, *rows, *jumps;

  Plan(int cells, Real* memory)
      : n(cells),
        stride(cells + 2 * kGhosts),
        plane(plane_values(cells)),
        tile(memory),
        rows(tile + 5 * plane),
        jumps(rows + std::size_t(kRows) * row_values()) {}
  [[nodiscard]] std::size_t row_values() const { return row_values(n); }
  [[nodiscard]] static std::size_t row_values(int cells) {
    return std::size_t(cells + 2 * kGhosts) * kRowsAtOnce + kRowSlack;
  }
  [[nodiscard]] static std::size_t plane_values(int cells) {
    return std::size_t(cells + 2 * kGhosts) * std::size_t(cells + 2 * kGhosts) + kRowSlack;
  }
  /// Of the whole scratch.
  [[nodiscard]] static std::size_t values(int cells) {
    return 5 * plane_values(cells) + kRows * row_values(cells) + std::size_t{16} * std::size_t(cells);
  }
  /// Row y of the tile, -2 .. n+1, standing at cell x = 0.
  [[nodiscard]] RowOf4<Real> tile_row(int y) const {
    Real* const at = tile + std::size_t(y + kGhosts) * stride + kGhosts;
    return {{at, at + plane, at + 2 * plane, at + 3 * plane}};
  }
  /// The same row of the cells' spare shares (face.hpp).
  [[nodiscard]] Real* spare_row(int y) const { return tile_row(y).row[0] + 4 * plane; }
  /// Row buffers, standing at cell or face 0; two values before it belong to them.
  [[nodiscard]] Real* buffer(int i) const { return rows + std::size_t(i) * row_values() + kGhosts; }
  [[nodiscard]] RowOf4<Real> buffers(int i) const { return {{buffer(i), buffer(i + 1), buffer(i + 2), buffer(i + 3)}}; }
  [[nodiscard]] RowOf4<Real> jump(int face) const {
    Real* const at = jumps + std::size_t(face) * 4 * n;
    return {{at, at + n, at + 2 * n, at + 3 * n}};
  }

  // Row buffers: half slopes along x, of several rows, each `stride` after the one before; along y of this and the row
  // before; fluxes likewise; new values.
  static constexpr int kSlopesX = 0, kSlopesY = 4, kFluxX = 12, kFluxY = 16, kNew = 24, kRows = 27;
};

/// Primitive values of `count` cells whose raw values lie `plane` apart. Returns their largest depth.
template <class Real>
[[gnu::flatten]] inline Real primitive_row(int count, const Real* raw, std::size_t plane, Real dry,
                                           const RowOf4<Real>& out) {
  const Real *const h = raw, *const hu = raw + plane, *const hv = raw + 2 * plane, *const z = raw + 3 * plane;
  Real *const ow = out.row[0], *const oh = out.row[1], *const ou = out.row[2], *const ov = out.row[3];
  Real deepest = Real(0);
#pragma omp simd reduction(max : deepest)
  for (int i = 0; i < count; ++i) {
    const Primitive<Real> p = primitive(h[i], hu[i], hv[i], z[i], dry);
    ow[i] = p.w;
    oh[i] = p.h;
    ou[i] = p.u;
    ov[i] = p.v;
    deepest = larger(h[i], deepest);
  }
  return deepest;
}

template <Limiter kLimiter, class Real>
[[gnu::flatten]] inline void slope_row(int count, const Real* before, const Real* here, const Real* after, Real* half) {
#pragma omp simd
  for (int i = 0; i < count; ++i) half[i] = half_slope<kLimiter>(here[i] - before[i], after[i] - here[i]);
}

/// Half slopes of w and h, which depend on each other.
template <Limiter kLimiter, class Real>
[[gnu::flatten]] inline void depth_slope_row(int count, const RowOf4<Real>& before, const RowOf4<Real>& here,
                                             const RowOf4<Real>& after, const RowOf4<Real>& half) {
  const Real *const bw = before.row[0], *const w = here.row[0], *const aw = after.row[0];
  const Real *const bh = before.row[1], *const h = here.row[1], *const ah = after.row[1];
  Real *const dw = half.row[0], *const dh = half.row[1];
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    const Real depth = half_slope<kLimiter>(h[i] - bh[i], ah[i] - h[i]);
    const Real z = w[i] - h[i];
    dh[i] = depth;
    dw[i] = surface_slope(half_slope<kLimiter>(w[i] - bw[i], aw[i] - w[i]), depth, h[i], z - (bw[i] - bh[i]),
                          (aw[i] - ah[i]) - z);
  }
}

/// Half slopes of all four values.
template <Limiter kLimiter, class Real>
inline void slope_rows(int count, const RowOf4<Real>& before, const RowOf4<Real>& here, const RowOf4<Real>& after,
                       const RowOf4<Real>& half) {
  depth_slope_row<kLimiter>(count, before, here, after, half);
  for (int v = 2; v < 4; ++v) slope_row<kLimiter>(count, before.row[v], here.row[v], after.row[v], half.row[v]);
}

/// Fluxes of `count` faces between cells `l` and `r` with half slopes `dl` and `dr`. `u` and `v` name the rows of the
/// normal and of the transverse velocity.
template <class Real>
[[gnu::flatten]] inline void flux_row(int count, const RowOf4<Real>& l, const RowOf4<Real>& dl, const RowOf4<Real>& r,
                                      const RowOf4<Real>& dr, int u, int v, const Real* spare_l, const Real* spare_r,
                                      Real dx_over_dt, Real gravity, const RowOf4<Real>& out) {
  const Real *const lw = l.row[0], *const lh = l.row[1], *const lu = l.row[u], *const lv = l.row[v];
  const Real *const rw = r.row[0], *const rh = r.row[1], *const ru = r.row[u], *const rv = r.row[v];
  const Real *const dlw = dl.row[0], *const dlh = dl.row[1], *const dlu = dl.row[u], *const dlv = dl.row[v];
  const Real *const drw = dr.row[0], *const drh = dr.row[1], *const dru = dr.row[u], *const drv = dr.row[v];
  Real *const mass = out.row[0], *const transverse = out.row[1], *const lower = out.row[2], *const upper = out.row[3];
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    const Primitive<Real> a{lw[i] + dlw[i], lh[i] + dlh[i], lu[i] + dlu[i], lv[i] + dlv[i]};
    const Primitive<Real> b{rw[i] - drw[i], rh[i] - drh[i], ru[i] - dru[i], rv[i] - drv[i]};
    const Real out_l = largest_outflow(lh[i], lu[i], spare_l[i], dx_over_dt);
    const Real out_r = largest_outflow(rh[i], -ru[i], spare_r[i], dx_over_dt);
    const FaceFlux<Real> flux = face_flux(a, b, gravity, [&](bool forward) { return forward ? out_l : out_r; });
    mass[i] = flux.mass;
    transverse[i] = flux.transverse;
    lower[i] = flux.lower;
    upper[i] = flux.upper;
  }
}

/// Shares that velocities leave over (face.hpp). Those of ghosts at a change of level are made of the ghost and not
/// used.
template <class Real>
[[gnu::flatten]] inline void spare_row(int count, const Real* u, const Real* v, Real dt_over_dx, Real dt_over_dy,
                                       Real* spare) {
#pragma omp simd
  for (int i = 0; i < count; ++i) spare[i] = spare_share(u[i], v[i], dt_over_dx, dt_over_dy);
}

/// Figures of `count` cells, whose discharges are damped first where they are all but dry.
template <class Real>
[[gnu::flatten]] inline void measure_row(int count, const Real* h, Real* hu, Real* hv, const Physics<Real>& physics,
                                         Real inverse_dx, Real inverse_dy, StepResult<Real>& result) {
  const Real dry = physics.dry_depth, gravity = physics.gravity;
  Real fastest = result.fastest, least = result.smallest_depth, most = result.largest_depth;
#pragma omp simd reduction(max : fastest, most) reduction(min : least)
  for (int i = 0; i < count; ++i) {
    const Real inverse = damped_inverse(h[i], dry);
    const Real u = hu[i] * inverse, v = hv[i] * inverse, c = std::sqrt(gravity * h[i]);
    hu[i] = no_minus_zero(h[i] < dry ? h[i] * u : hu[i]);
    hv[i] = no_minus_zero(h[i] < dry ? h[i] * v : hv[i]);
    const Real x = (std::abs(u) + c) * inverse_dx, y = (std::abs(v) + c) * inverse_dy;
    fastest = larger(larger(x, y), fastest);
    least = smaller(h[i], least);
    most = larger(h[i], most);
  }
  result.fastest = fastest;
  result.smallest_depth = least;
  result.largest_depth = most;
}

}  // namespace amrbench::kernels::shallow_water
