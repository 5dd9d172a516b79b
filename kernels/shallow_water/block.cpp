// The walk over a block: a tile of primitive values with what lies behind the faces, then row by row slopes, fluxes and
// new values (rows.hpp), all in the first-level cache.
#include "kernels/shallow_water/block.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/shallow_water/rows.hpp"

namespace amrbench::kernels::shallow_water {
namespace {

/// A cell of a strip or of a block, discharges turned into the frame of a face across `axis`.
template <class Real>
RawCell<Real> raw_cell(const Real* at, std::size_t plane, int axis) {
  return {at[0], at[(1 + axis) * plane], at[(2 - axis) * plane], at[3 * plane]};
}

/// Everything a stage needs to know about its block.
template <Limiter kLimiter, class Real>
class Stage {
 public:
  Stage(const BlockShape<Real>& shape, const Physics<Real>& physics, const Real* in,
        const std::array<Strip<Real>, 4>& strips, const Real* old, Real dt, Real* out, Real* memory)
      : shape_(shape),
        physics_(physics),
        in_(in),
        strips_(strips),
        old_(old),
        dt_(dt),
        out_(out),
        plan_(shape.cells, memory) {}

  StepResult<Real> run() {
    fill_tile();
    if (deepest_ > Real(0)) {
      for (int face = 0; face < 4; ++face)
        if (strips_[face].kind != StripKind::same) find_jump(face);
      march();
    } else {  // dry here and around: no flux
      for (int y = 0; y < shape_.cells; ++y) {
        for (int v = 0; v < kMoving; ++v)
          std::copy_n(in_ + v * shape_.plane() + std::size_t(y) * shape_.cells, shape_.cells,
                      plan_.buffer(Plan<Real>::kNew + v));
        finish_row(y);
      }
    }
    result_.wet = result_.largest_depth > physics_.dry_depth;
    return result_;
  }

 private:
  void fill_tile();
  void fill_behind(int face);
  void fill_layer(int face, int layer);
  void store_behind(int face, int layer, int m, const Primitive<Real>& value);
  Jump<Real> jump_of(int face, int m) const;
  void find_jump(int face);
  void march();
  void x_rows(int y);
  void let_in(int side, int m, const RowOf4<Real>& flux) const;
  void update_row(int y, int now);
  void finish_row(int y);

  BlockShape<Real> shape_;
  Physics<Real> physics_;
  const Real* in_;
  std::array<Strip<Real>, 4> strips_;
  const Real* old_;
  Real dt_;
  Real* out_;
  Plan<Real> plan_;
  Real deepest_ = Real(0);
  bool first_ = true;
  StepResult<Real> result_;
};

template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::fill_tile() {
  const int n = shape_.cells;
  for (int y = 0; y < n; ++y)
    deepest_ = std::max(
        deepest_, primitive_row(n, in_ + std::size_t(y) * n, shape_.plane(), physics_.dry_depth, plan_.tile_row(y)));
  for (int face = 0; face < 4; ++face) fill_behind(face);
  const RowOf4<Real> all = shifted(plan_.tile_row(-kGhosts), -kGhosts);
  spare_row(plan_.stride * plan_.stride, all.row[2], all.row[3], dt_ / shape_.dx, dt_ / shape_.dy,
            all.row[0] + 4 * plan_.plane);
}

/// The two layers behind a face. At a change of level both are the one ghost that gives the cell at the face its slope;
/// fluxes from them are replaced by those of the jump.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::fill_behind(int face) {
  const int n = shape_.cells;
  const Strip<Real>& strip = strips_[face];
  if (strip.kind == StripKind::same) {
    for (int layer = 0; layer < 2; ++layer) fill_layer(face, layer);
    return;
  }
  const std::size_t along = strip_cells(strip.kind, n);
  deepest_ = std::max(deepest_, *std::max_element(strip.values, strip.values + 2 * along));
  for (int m = 0; m < n; ++m) {
    const Jump<Real> jump = jump_of(face, strip.kind == StripKind::coarse ? m / 2 : m);
    const Primitive<Real> ghost = strip.kind == StripKind::coarse
                                      ? ghost_of_fine(primitive(jump.fine[0][m % 2], physics_.dry_depth),
                                                      primitive(jump.coarse[0], physics_.dry_depth))
                                      : ghost_of_coarse(jump.fine, physics_.dry_depth);
    for (int layer = 0; layer < 2; ++layer) store_behind(face, layer, m, ghost);
  }
}

template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::fill_layer(int face, int layer) {
  const int n = shape_.cells;
  const Real* const values = strips_[face].values + std::size_t(layer) * n;
  const std::size_t plane = 2 * std::size_t(n);
  if (face >= 2) {
    const RowOf4<Real> row = plan_.tile_row(face == 2 ? -1 - layer : n + layer);
    deepest_ = std::max(deepest_, primitive_row(n, values, plane, physics_.dry_depth, row));
    return;
  }
  const RowOf4<Real> column = plan_.buffers(0);
  deepest_ = std::max(deepest_, primitive_row(n, values, plane, physics_.dry_depth, column));
  const int x = face == 0 ? -1 - layer : n + layer;
  for (int v = 0; v < 4; ++v) {
    Real* const at = plan_.tile_row(0).row[v] + x;
    for (int m = 0; m < n; ++m) at[std::ptrdiff_t(m) * plan_.stride] = column.row[v][m];
  }
}

/// `value` is in the frame of the face: u along its normal.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::store_behind(int face, int layer, int m, const Primitive<Real>& value) {
  const int across = face % 2 == 0 ? -1 - layer : shape_.cells + layer;
  const RowOf4<Real> row = plan_.tile_row(face < 2 ? m : across);
  const int x = face < 2 ? across : m;
  row.row[0][x] = value.w;
  row.row[1][x] = value.h;
  row.row[2][x] = face < 2 ? value.u : value.v;
  row.row[3][x] = face < 2 ? value.v : value.u;
}

/// The cells around coarse cell m of a face at which the level changes.
template <Limiter kLimiter, class Real>
Jump<Real> Stage<kLimiter, Real>::jump_of(int face, int m) const {
  const int n = shape_.cells, axis = face / 2;
  const Strip<Real>& strip = strips_[face];
  const int along = strip_cells(strip.kind, n);
  const auto behind = [&](int layer, int at) {
    return raw_cell(strip.values + std::size_t(layer) * along + at, 2 * std::size_t(along), axis);
  };
  const auto own = [&](int layer, int at) {
    const int across = face % 2 == 0 ? layer : n - 1 - layer;
    return raw_cell(in_ + (axis == 0 ? std::size_t(at) * n + across : std::size_t(across) * n + at), shape_.plane(),
                    axis);
  };
  Jump<Real> jump;
  for (int layer = 0; layer < 2; ++layer) {
    const bool own_is_fine = strip.kind == StripKind::coarse;
    jump.coarse[layer] = own_is_fine ? behind(layer, m) : own(layer, m);
    for (int half = 0; half < 2; ++half)
      jump.fine[layer][half] = own_is_fine ? own(layer, 2 * m + half) : behind(layer, 2 * m + half);
  }
  return jump;
}

/// Fluxes of a face at which the level changes, one for each cell of the block at it.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::find_jump(int face) {
  const bool coarse_behind = strips_[face].kind == StripKind::coarse;
  const Real across = face < 2 ? shape_.dx : shape_.dy, along = face < 2 ? shape_.dy : shape_.dx;
  const Real part = coarse_behind ? Real(1) : Real(0.5), times = coarse_behind ? Real(1) : Real(2);
  const Extents<Real> fine{part * (across / dt_), times * (dt_ / across), times * (dt_ / along)};
  const bool coarse_is_lower = coarse_behind == (face % 2 == 0);
  const RowOf4<Real> to = plan_.jump(face);
  const auto store = [&](int m, const FaceFlux<Real>& flux) {
    to.row[0][m] = flux.mass;
    to.row[1][m] = flux.transverse;
    to.row[2][m] = flux.lower;
    to.row[3][m] = flux.upper;
  };
  for (int m = 0; m < (coarse_behind ? shape_.cells / 2 : shape_.cells); ++m) {
    FaceFlux<Real> half[2];
    jump_fluxes<kLimiter>(jump_of(face, m), coarse_is_lower, fine, physics_, half);
    if (coarse_behind) {
      for (int i = 0; i < 2; ++i) store(2 * m + i, half[i]);
    } else {
      const Real mean = Real(0.5);
      store(m, {mean * (half[0].mass + half[1].mass), mean * (half[0].transverse + half[1].transverse),
                mean * (half[0].lower + half[1].lower), mean * (half[0].upper + half[1].upper)});
    }
  }
}

/// Rows of faces across y, upwards; when those on both sides of a row of cells are known, the row is updated.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::march() {
  const int n = shape_.cells, count = whole_vectors<Real>(n);
  const Real dy_over_dt = shape_.dy / dt_;
  for (int face = -1; face <= n;
       ++face) {  // the face below row `face`; the first turn makes the slopes of row -1 alone
    const int now = face & 1;
    const RowOf4<Real> row = plan_.tile_row(face), slopes = plan_.buffers(Plan<Real>::kSlopesY + 4 * now);
    slope_rows<kLimiter>(count, shifted(row, -plan_.stride), row, shifted(row, plan_.stride), slopes);
    if (face < 0) continue;
    const RowOf4<Real> flux = plan_.buffers(Plan<Real>::kFluxY + 4 * now);
    const int side = face == 0 ? 2 : face == n ? 3 : -1;
    if (side >= 0 && strips_[side].kind != StripKind::same) {
      for (int v = 0; v < 4; ++v) std::copy_n(plan_.jump(side).row[v], n, flux.row[v]);
    } else {
      flux_row(count, plan_.tile_row(face - 1), plan_.buffers(Plan<Real>::kSlopesY + 4 * (1 - now)), row, slopes, 3, 2,
               plan_.spare_row(face - 1), plan_.spare_row(face), dy_over_dt, physics_.gravity, flux);
    }
    if (side >= 0 && strips_[side].inflow != nullptr)
      for (int m = 0; m < n; ++m) let_in(side, m, shifted(flux, m));
    if (face == 0) continue;
    if ((face - 1) % kRowsAtOnce == 0) x_rows(face - 1);
    update_row(face - 1, now);
    finish_row(face - 1);
  }
}

/// Slopes and fluxes along x in row y and those that go with it. What is computed between the rows means nothing.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::x_rows(int y) {
  const int n = shape_.cells, stride = plan_.stride, rows = std::min(kRowsAtOnce, n - y), before = (rows - 1) * stride;
  const RowOf4<Real> row = plan_.tile_row(y), slopes = plan_.buffers(Plan<Real>::kSlopesX);
  const RowOf4<Real> flux = plan_.buffers(Plan<Real>::kFluxX);
  slope_rows<kLimiter>(whole_vectors<Real>(before + n + 2), shifted(row, -2), shifted(row, -1), row,
                       shifted(slopes, -1));
  flux_row(whole_vectors<Real>(before + n + 1), shifted(row, -1), shifted(slopes, -1), row, slopes, 2, 3,
           plan_.spare_row(y) - 1, plan_.spare_row(y), shape_.dx / dt_, physics_.gravity, flux);
  for (int face = 0; face < 2; ++face)
    if (strips_[face].kind != StripKind::same)
      for (int v = 0; v < 4; ++v)
        for (int k = 0; k < rows; ++k) flux.row[v][k * stride + face * n] = plan_.jump(face).row[v][y + k];
  for (int face = 0; face < 2; ++face)
    if (strips_[face].inflow != nullptr)
      for (int k = 0; k < rows; ++k) let_in(face, y + k, shifted(flux, k * stride + face * n));
}

/// The flux of what comes in at cell m of a side, where there is any.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::let_in(int side, int m, const RowOf4<Real>& flux) const {
  const Real* const inflow = strips_[side].inflow + m;
  for (int v = 0; inflow[0] > Real(0) && v < 4; ++v) flux.row[v][0] = inflow[std::ptrdiff_t(v + 1) * shape_.cells];
}

/// U + dt L(U) of row y. Sums are ordered so that x and y may be exchanged.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::update_row(int y, int now) {
  const int n = shape_.cells;
  const std::size_t plane = shape_.plane();
  const Real *const h = in_ + std::size_t(y) * n, *const hu = h + plane, *const hv = hu + plane;
  const Real* const rough = h + kRoughness * plane;
  const int among = y % kRowsAtOnce * plan_.stride;
  const RowOf4<Real> fx = shifted(plan_.buffers(Plan<Real>::kFluxX), among);
  const RowOf4<Real> below = plan_.buffers(Plan<Real>::kFluxY + 4 * (1 - now)),
                     above = plan_.buffers(Plan<Real>::kFluxY + 4 * now);
  const Real* const wx = plan_.buffer(Plan<Real>::kSlopesX) + among;
  const Real* const wy = plan_.buffer(Plan<Real>::kSlopesY + 4 * (1 - now));
  const Real *const mx = fx.row[0], *const tx = fx.row[1], *const lx = fx.row[2], *const ux = fx.row[3];
  const Real *const m0 = below.row[0], *const t0 = below.row[1], *const u0 = below.row[3];
  const Real *const m1 = above.row[0], *const t1 = above.row[1], *const l1 = above.row[2];
  Real *const nh = plan_.buffer(Plan<Real>::kNew), *const nu = plan_.buffer(Plan<Real>::kNew + 1),
              *const nv = plan_.buffer(Plan<Real>::kNew + 2);
  const Real ax = dt_ / shape_.dx, ay = dt_ / shape_.dy, twice_g = Real(2) * physics_.gravity;
  Real roughest = Real(0);
#pragma omp simd reduction(max : roughest)
  for (int i = 0; i < n; ++i) {
    const Real weight = twice_g * h[i];
    nh[i] = h[i] - (ax * (mx[i + 1] - mx[i]) + ay * (m1[i] - m0[i]));
    nu[i] = hu[i] - (ax * ((lx[i + 1] - ux[i]) + weight * wx[i]) + ay * (t1[i] - t0[i]));
    nv[i] = hv[i] - (ay * ((l1[i] - u0[i]) + weight * wy[i]) + ax * (tx[i + 1] - tx[i]));
    roughest = larger(rough[i], roughest);
  }
  if (!physics_.friction || !(roughest > Real(0))) return;
  const Real scale = Real(4) * (physics_.gravity * dt_), dry = physics_.dry_depth;
#pragma omp simd
  for (int i = 0; i < n; ++i) {
    const Real factor = friction_factor(nh[i], nu[i], nv[i], rough[i], scale, dry);
    nu[i] *= factor;
    nv[i] *= factor;
  }
}

/// The second stage's mean with U^n; then the row is measured and stored.
template <Limiter kLimiter, class Real>
void Stage<kLimiter, Real>::finish_row(int y) {
  const int n = shape_.cells;
  const std::size_t at = std::size_t(y) * n;
  for (int v = 0; v < kMoving && old_ != nullptr; ++v) {
    const Real* const before = old_ + v * shape_.plane() + at;
    Real* const now = plan_.buffer(Plan<Real>::kNew + v);
#pragma omp simd
    for (int i = 0; i < n; ++i) now[i] = Real(0.5) * (before[i] + now[i]);
  }
  Real* const h = plan_.buffer(Plan<Real>::kNew);
  if (first_) result_.smallest_depth = h[0];
  first_ = false;
  measure_row(n, h, plan_.buffer(Plan<Real>::kNew + 1), plan_.buffer(Plan<Real>::kNew + 2), physics_,
              Real(1) / shape_.dx, Real(1) / shape_.dy, result_);
  for (int v = 0; v < kMoving; ++v) std::copy_n(plan_.buffer(Plan<Real>::kNew + v), n, out_ + v * shape_.plane() + at);
}

}  // namespace

template <class Real>
Scratch<Real>::Scratch(int cells) : cells_(cells), memory_(Plan<Real>::values(cells), Real(0)) {}

template <class Real>
StepResult<Real> advance_block(const BlockShape<Real>& shape, const Physics<Real>& physics, const Real* in,
                               const std::array<Strip<Real>, 4>& strips, const Real* old, Real dt, Real* out,
                               Scratch<Real>& scratch) {
  switch (physics.limiter) {
    case Limiter::minmod:
      return Stage<Limiter::minmod, Real>(shape, physics, in, strips, old, dt, out, scratch.data()).run();
    case Limiter::van_leer:
      return Stage<Limiter::van_leer, Real>(shape, physics, in, strips, old, dt, out, scratch.data()).run();
    default:
      return Stage<Limiter::monotonized, Real>(shape, physics, in, strips, old, dt, out, scratch.data()).run();
  }
}

template <class Real>
StepResult<Real> measure_block(const BlockShape<Real>& shape, const Physics<Real>& physics, const Real* in) {
  StepResult<Real> result;
  result.smallest_depth = in[0];
  std::vector<Real> row(2 * std::size_t(shape.cells));
  for (int y = 0; y < shape.cells; ++y) {
    const Real* const h = in + std::size_t(y) * shape.cells;
    for (int v = 0; v < 2; ++v) std::copy_n(h + (1 + v) * shape.plane(), shape.cells, row.data() + v * shape.cells);
    measure_row(shape.cells, h, row.data(), row.data() + shape.cells, physics, Real(1) / shape.dx, Real(1) / shape.dy,
                result);
  }
  result.wet = result.largest_depth > physics.dry_depth;
  return result;
}

template class Scratch<double>;
template class Scratch<float>;
template StepResult<double> advance_block(const BlockShape<double>&, const Physics<double>&, const double*,
                                          const std::array<Strip<double>, 4>&, const double*, double, double*,
                                          Scratch<double>&);
template StepResult<float> advance_block(const BlockShape<float>&, const Physics<float>&, const float*,
                                         const std::array<Strip<float>, 4>&, const float*, float, float*,
                                         Scratch<float>&);
template StepResult<double> measure_block(const BlockShape<double>&, const Physics<double>&, const double*);
template StepResult<float> measure_block(const BlockShape<float>&, const Physics<float>&, const float*);

}  // namespace amrbench::kernels::shallow_water
