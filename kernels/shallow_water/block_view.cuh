#pragma once
// How kernels of the shallow-water scheme see a block: its cells, what lies behind its faces, its sizes over the time
// step. Included by CUDA sources only.
#include "kernels/shallow_water/block_cuda.hpp"

namespace amrbench::kernels::shallow_water::detail {

/// The values of a block.
template <class Real>
__device__ Real* values_of(const support::DeviceSlots& slots, int number) {
  Real* const values = reinterpret_cast<Real*>(slots.at(number));
  __builtin_assume(__isGlobal(values));
  return values;
}

/// Powers of 2 scale exactly: quotients of a level's sizes have the bits of those of level 0, scaled.
template <class Real>
__device__ Real exp2_of(int e) {
  if constexpr (sizeof(Real) == 4)
    return __int_as_float((127 + e) << 23);
  else
    return __longlong_as_double((1023LL + e) << 52);
}

/// A block of a stage. kN: cells along an edge, 0: job.cells.
template <class Real, int kN>
class BlockView {
 public:
  __device__ BlockView(const StageJob<Real>& job, const BlockWork& work)
      : job_(job), work_(work), in_(values_of<Real>(job.in, work.number)) {}

  [[nodiscard]] __device__ int n() const { return kN > 0 ? kN : job_.cells; }
  [[nodiscard]] __device__ Real dry() const { return job_.physics.dry_depth; }
  [[nodiscard]] __device__ const Real* in() const { return in_; }
  [[nodiscard]] __device__ Real* out() const { return values_of<Real>(job_.out, work_.number); }
  [[nodiscard]] __device__ Real dt_over(int axis) const {
    return (axis == 0 ? job_.dt_over_dx : job_.dt_over_dy) * exp2_of<Real>(work_.level);
  }
  [[nodiscard]] __device__ Real over_dt(int axis) const {
    return (axis == 0 ? job_.dx_over_dt : job_.dy_over_dt) * exp2_of<Real>(-work_.level);
  }
  [[nodiscard]] __device__ bool is_coarse(int face) const {
    return work_.behind[face] == Behind::coarse || work_.behind[face] == Behind::coarse_packed;
  }
  [[nodiscard]] __device__ bool is_jump(int face) const {
    return is_coarse(face) || work_.behind[face] == Behind::fine;
  }
  [[nodiscard]] __device__ bool is_inflow(int face) const { return work_.behind[face] == Behind::inflow; }
  /// Has a face fluxes that are not those between the cells on both sides?
  [[nodiscard]] __device__ bool has_own_flux(int face) const { return is_jump(face) || is_inflow(face); }
  /// Does water come in through cell m of an inflow's face, and how.
  [[nodiscard]] __device__ bool comes_in(int face, int m) const { return inflow(face)[m] > Real(0); }
  [[nodiscard]] __device__ FaceFlux<Real> inflow_flux(int face, int m) const {
    const Real* const at = inflow(face) + n() + m;
    return {at[0], at[n()], at[2 * n()], at[3 * n()]};
  }

  /// What a cell takes for its neighbour `layer` behind cell m of a face, in the frame of the face.
  __device__ Primitive<Real> ghost(int face, int layer, int m) const {
    if (!is_jump(face)) return primitive(behind(face, layer, m), dry());
    const bool coarse = is_coarse(face);
    const Jump<Real> jump = jump_of(face, coarse ? m / 2 : m);
    return coarse ? ghost_of_fine(primitive(jump.fine[0][m % 2], dry()), primitive(jump.coarse[0], dry()))
                  : ghost_of_coarse(jump.fine, dry());
  }
  /// The flux through cell m of a face at which the level changes.
  template <Limiter kLimiter>
  __device__ FaceFlux<Real> jump_flux(int face, int m) const {
    const bool coarse = is_coarse(face);
    const Real part = coarse ? Real(1) : Real(0.5), times = coarse ? Real(1) : Real(2);
    const int axis = face / 2;
    const Extents<Real> fine{part * over_dt(axis), times * dt_over(axis), times * dt_over(1 - axis)};
    FaceFlux<Real> half[2];
    jump_fluxes<kLimiter>(jump_of(face, coarse ? m / 2 : m), coarse == (face % 2 == 0), fine, job_.physics, half);
    if (coarse) return half[m % 2];
    constexpr Real kHalf = Real(0.5);
    return {kHalf * (half[0].mass + half[1].mass), kHalf * (half[0].transverse + half[1].transverse),
            kHalf * (half[0].lower + half[1].lower), kHalf * (half[0].upper + half[1].upper)};
  }

  /// The discharge of a cell that is all but dry is damped.
  __device__ void settle(Real h, Real& hu, Real& hv) const {
    if (h < dry()) {
      const Real inverse = damped_inverse(h, dry());
      hu = h * (hu * inverse);
      hv = h * (hv * inverse);
    }
    hu = no_minus_zero(hu);
    hv = no_minus_zero(hv);
  }
  /// The same, and its fastest wave, in cells a second (rows.hpp, measure_row).
  __device__ void measure(Real h, Real& hu, Real& hv, Real& fastest) const {
    const Real pressure = job_.physics.gravity * h, finer = exp2_of<Real>(work_.level);
    Real u, v, c;
    if (h > larger(dry(), Real(1e-12)) && is_inside(pressure, pressure)) {  // all at once: most cells are deep
      const Real inverse = quotient(h, h * h);
      u = hu * inverse, v = hv * inverse, c = root_inside(pressure);
    } else {
      const Real inverse = damped_inverse(h, dry());
      u = hu * inverse, v = hv * inverse, c = pressure == Real(0) ? pressure : std::sqrt(pressure);
      if (h < dry()) hu = h * u, hv = h * v;
    }
    hu = no_minus_zero(hu);
    hv = no_minus_zero(hv);
    const Real x = (std::abs(u) + c) * (job_.inverse_dx * finer), y = (std::abs(v) + c) * (job_.inverse_dy * finer);
    fastest = larger(larger(x, y), fastest);
  }

 private:
  /// A cell of a packed strip with `along` cells a layer.
  __device__ static RawCell<Real> packed_cell(const Real* strip, int along, int axis, int layer, int m) {
    const Real* const at = strip + layer * along + m;
    const int plane = 2 * along;
    return {at[0], at[(1 + axis) * plane], at[(2 - axis) * plane], at[3 * plane]};
  }
  __device__ RawCell<Real> block_cell(const Real* block, int face, int layer, int m) const {
    const std::size_t plane = std::size_t(n()) * n();
    const Real* const at = block + cell_at_face(n(), face, layer, m);
    const int axis = face / 2;
    return {at[0], at[(1 + axis) * plane], at[(2 - axis) * plane], at[3 * plane]};
  }
  /// Raw cell m of a layer behind a face, in the frame of the face.
  __device__ RawCell<Real> behind(int face, int layer, int m) const {
    const int axis = face / 2, half = n() / 2;
    switch (work_.behind[face]) {
      case Behind::same:
        return block_cell(values_of<Real>(job_.in, work_.a[face]), face ^ 1, layer, m);
      case Behind::same_packed:
        return packed_cell(job_.memory.packed + work_.a[face], n(), axis, layer, m);
      case Behind::coarse:
        return block_cell(values_of<Real>(job_.in, work_.a[face]), face ^ 1, layer, work_.part[face] * half + m);
      case Behind::coarse_packed:
        return packed_cell(job_.memory.packed + work_.a[face], half, axis, layer, m);
      case Behind::fine: {
        const std::int32_t from = m < n() ? work_.a[face] : work_.b[face];
        const int cell = m < n() ? m : m - n();
        return from >= 0 ? block_cell(values_of<Real>(job_.in, from), face ^ 1, layer, cell)
                         : packed_cell(job_.memory.packed + ~from, n(), axis, layer, cell);
      }
      case Behind::given:
        return packed_cell(job_.memory.given + work_.a[face], n(), axis, layer, m);
      case Behind::inflow:
        return packed_cell(job_.memory.inflows + work_.a[face], n(), axis, layer, m);
      default: {
        Real value[kVariables];
        boundary_value(job_.sides[face], n(), face, job_.physics, in_, m, layer, value);
        return {value[0], value[1 + axis], value[2 - axis], value[3]};
      }
    }
  }
  [[nodiscard]] __device__ const Real* inflow(int face) const {
    return job_.memory.inflows + work_.a[face] + kVariables * 2 * n();
  }
  __device__ Jump<Real> jump_of(int face, int m) const {
    Jump<Real> jump;
    const bool coarse = is_coarse(face);
    for (int layer = 0; layer < 2; ++layer) {
      jump.coarse[layer] = coarse ? behind(face, layer, m) : block_cell(in_, face, layer, m);
      for (int half = 0; half < 2; ++half)
        jump.fine[layer][half] =
            coarse ? block_cell(in_, face, layer, 2 * m + half) : behind(face, layer, 2 * m + half);
    }
    return jump;
  }

  const StageJob<Real>& job_;
  const BlockWork& work_;
  const Real* in_;
};

/// Adds a thread block's fastest wave to that of the launch; bits of doubles that are not negative compare like
/// numbers.
template <class Real>
__device__ void report(const StageJob<Real>& job, Real fastest) {
  constexpr int kWarp = 32;
  __shared__ Real parts[kWarp];
  const auto reduce = [&] {
    for (int step = kWarp / 2; step > 0; step /= 2)
      fastest = larger(fastest, __shfl_xor_sync(0xffffffffU, fastest, step));
  };
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  reduce();
  if (lane == 0) parts[warp] = fastest;
  __syncthreads();
  if (warp != 0) return;
  fastest = lane < static_cast<int>(blockDim.x) / kWarp ? parts[lane] : Real(0);
  reduce();
  if (lane == 0) atomicMax(job.memory.found, static_cast<unsigned long long>(__double_as_longlong(fastest)));
}

}  // namespace amrbench::kernels::shallow_water::detail
