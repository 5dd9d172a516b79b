#pragma once
// The kernel of a stage (block_cuda.hpp), for one limiter. Included by block_cuda_*.cu, which share out its
// compilation.
#include <algorithm>

#include "kernels/shallow_water/block_view.cuh"
#include "support/async_copy.cuh"
#include "support/error.hpp"

namespace amrbench::kernels::shallow_water::detail {

inline constexpr int kMostTogether = 8;   ///< blocks of a thread block
inline constexpr int kMostThreads = 256;  ///< for edges that have no kernel of their own

/// How a thread block works on blocks of n x n cells: `together` at once, a thread a segment of a row or column.
struct Tiling {
  int n, segments, length, together, threads;

  __host__ __device__ constexpr explicit Tiling(int cells)
      : n(cells),
        segments(cells > 24 && cells % 8 == 0    ? 8
                 : cells >= 16 && cells % 4 == 0 ? 4
                                                 : 2),
        length(cells / segments),
        together(1),
        threads(2 * cells * segments) {
    constexpr int kThreads = 128, kWarp = 32;
    if (threads < kThreads) together = kThreads / threads < kMostTogether ? kThreads / threads : kMostTogether;
    threads = (threads * together + kWarp - 1) / kWarp * kWarp;
  }
  /// An odd one keeps columns out of each other's banks.
  [[nodiscard]] __host__ __device__ constexpr int stride() const { return n + 5; }
  [[nodiscard]] __host__ __device__ constexpr int tile() const { return (n + 4) * stride(); }
  [[nodiscard]] __host__ __device__ constexpr int faces() const { return n * (n + 1); }
  /// Values of a block in shared memory: a tile of four, and along both axes four of a flux and the surface's slopes.
  [[nodiscard]] __host__ __device__ constexpr int values() const { return 4 * tile() + 10 * faces(); }
};

/// Thread blocks that a multiprocessor should hold at once: fewer leave it waiting, more leave too few registers.
template <class Real>
constexpr int resident_blocks(int n) {
  if (n == 0) return sizeof(Real) == 4 ? 4 : 3;
  constexpr int kSharedBytes = 227 << 10, kReserved = 2048, kThreads = sizeof(Real) == 4 ? 768 : 640;
  const Tiling t(n);
  const int fit = kSharedBytes / (t.values() * t.together * static_cast<int>(sizeof(Real)) + kReserved);
  return std::max(1, std::min((kThreads + t.threads - 1) / t.threads, fit));
}

/// Blocks at work in a thread block.
template <class Real, Limiter kLimiter, int kN>
class Stage {
 public:
  using View = BlockView<Real, kN>;
  using Prim = Primitive<Real>;

  /// `works`: of the blocks, in shared memory; at most as many as the tiling puts together.
  __device__ Stage(const StageJob<Real>& job, const BlockWork* works, int count, Real* shared)
      : job_(job), works_(works), count_(count), shared_(shared), t_(kN > 0 ? kN : job.cells) {}

  /// Returns whether a face that this thread filled cells behind has fluxes of its own.
  __device__ bool fill() const {
    const int n = t_.n, cells = n * n;
    bool jumps = false;
    each(8 * n, [&](int b, int k) {
      const int face = k / (2 * n), layer = k / n % 2, m = k % n;
      const View view = view_of(b);
      jumps = jumps || view.has_own_flux(face);
      const Prim p = view.ghost(face, layer, m);
      const int across = face % 2 == 0 ? 1 - layer : n + 2 + layer;
      store(b, face < 2 ? (m + 2) * t_.stride() + across : across * t_.stride() + m + 2,
            face < 2 ? p : Prim{p.w, p.h, p.v, p.u});
    });
    each(cells, [&](int b, int c) {
      const View view = view_of(b);
      const Real* const in = view.in() + c;
      store(b, (c / n + 2) * t_.stride() + c % n + 2,
            primitive(in[0], in[cells], in[2 * cells], in[3 * cells], view.dry()));
    });
    return jumps;
  }

  /// This thread walks along its segment: fluxes through the faces before its cells, the last segment's also through
  /// the one behind them, and half slopes of the surface.
  __device__ void walk() const {
    const int n = t_.n, lines = 2 * n * count(), segment = thread() / lines, line = thread() % lines;
    if (segment >= t_.segments) return;
    const int b = line / (2 * n), axis = line / n % 2, m = line % n;
    const int begin = segment * t_.length, end = begin + t_.length + (segment + 1 == t_.segments ? 1 : 0);
    const View view = view_of(b);
    const Real dt_along = view.dt_over(axis), dt_across = view.dt_over(1 - axis), over_dt = view.over_dt(axis);
    const int step = axis == 0 ? 1 : t_.stride(), along = (2 + axis) * t_.tile(), across = (3 - axis) * t_.tile();
    const Real* at = tile(b) + (m + 2) * (t_.stride() + 1 - step) + begin * step;
    const auto read = [&] {
      const Prim p{at[0], at[t_.tile()], at[along], at[across]};
      at += step;
      return p;
    };
    const int face_step = axis == 0 ? 1 : n;
    Real* out = flux(b, axis) + (axis == 0 ? m * (n + 1) : m) + begin * face_step;
    const Prim before = read();
    Prim left = read(), right = read();
    Difference d = difference(before, left), e = difference(left, right);
    Prim below = sum(left, half_slopes(d, e, left.h));
    // Two need registers that doubles, divisions and many small blocks do not leave.
    constexpr int kFacesAtOnce = sizeof(Real) == 4 && kLimiter != Limiter::van_leer && kN >= 16 ? 2 : 1;
#pragma unroll kFacesAtOnce
    for (int face = begin; face < end; ++face) {
      const Prim next = read();
      d = e;
      e = difference(right, next);
      const Prim half = half_slopes(d, e, right.h);
      const Prim above{right.w - half.w, right.h - half.h, right.u - half.u, right.v - half.v};
      const FaceFlux<Real> f = face_flux(below, above, job_.physics.gravity, [&](bool forward) {
        const Real u = forward ? left.u : right.u;
        return largest_outflow(forward ? left.h : right.h, forward ? u : -u,
                               spare_share(u, forward ? left.v : right.v, dt_along, dt_across), over_dt);
      });
      put(out, f);
      out[4 * t_.faces()] = half.w;
      out += face_step;
      below = sum(right, half);
      left = right;
      right = next;
    }
  }

  /// Faces at which the level changes or water comes in; after a barrier behind walk().
  __device__ void find_jumps() const {
    const int n = t_.n;
    for (int k = thread(); k < count() * 4 * n; k += threads()) {
      const int b = k / (4 * n), face = k / n % 4, m = k % n;
      const View view = view_of(b);
      const bool is_inflow = view.is_inflow(face);
      if (!view.has_own_flux(face) || (is_inflow && !view.comes_in(face, m))) continue;
      const int end = face % 2 == 0 ? 0 : n;
      put(flux(b, face / 2) + (face < 2 ? m * (n + 1) + end : end * n + m),
          is_inflow ? view.inflow_flux(face, m) : view.template jump_flux<kLimiter>(face, m));
    }
  }

  /// The new state of every cell; in second stages, whose waves bound the next step, the fastest of this thread's
  /// cells; is_wet[b] where block b holds water.
  __device__ void update(Real& fastest, int* is_wet) const {
    const int n = t_.n, cells = n * n;
    each(cells, [&](int b, int c) {
      const View view = view_of(b);
      const Real* const in = view.in() + c;
      Real* const out = view.out() + c;
      const Real ax = view.dt_over(0), ay = view.dt_over(1), h = in[0], weight = (Real(2) * job_.physics.gravity) * h;
      const Real *const x = flux(b, 0) + c / n + c, *const y = flux(b, 1) + c;
      const auto fx = [&](int v, int side) { return x[v * t_.faces() + side]; };
      const auto fy = [&](int v, int side) { return y[v * t_.faces() + side * n]; };
      Real nh = h - (ax * (fx(0, 1) - fx(0, 0)) + ay * (fy(0, 1) - fy(0, 0)));
      Real nu = in[cells] - (ax * ((fx(2, 1) - fx(3, 0)) + weight * fx(4, 0)) + ay * (fy(1, 1) - fy(1, 0)));
      Real nv = in[2 * cells] - (ay * ((fy(2, 1) - fy(3, 0)) + weight * fy(4, 0)) + ax * (fx(1, 1) - fx(1, 0)));
      if (job_.physics.friction) {
        const Real rough = in[kRoughness * cells];
        if (rough > Real(0)) {
          const Real scale = Real(4) * (job_.physics.gravity * job_.dt);
          const Real factor = friction_factor(nh, nu, nv, rough, scale, view.dry());
          nu *= factor;
          nv *= factor;
        }
      }
      if (job_.second) {
        nh = Real(0.5) * (out[0] + nh);
        nu = Real(0.5) * (out[cells] + nu);
        nv = Real(0.5) * (out[2 * cells] + nv);
        view.measure(nh, nu, nv, fastest);
      } else {
        view.settle(nh, nu, nv);
      }
      if (nh > Real(0)) is_wet[b] = 1;
      out[0] = nh;
      out[cells] = nu;
      out[2 * cells] = nv;
      if (job_.copies_bed) {
        out[3 * cells] = in[3 * cells];
        out[4 * cells] = in[4 * cells];
      }
    });
  }

  /// Asks for the values of these blocks, soon to be worked on, so that they come from memory meanwhile.
  __device__ void expect() const {
    constexpr int kLine = 128 / sizeof(Real);
    const int cells = t_.n * t_.n, in = (4 * cells + kLine - 1) / kLine;
    const int lines = in + (job_.second ? (3 * cells + kLine - 1) / kLine : 0);
    for (int k = thread(); k < count() * lines; k += threads()) {
      const int b = kAlone ? 0 : k / lines, line = k - b * lines;
      const View view = view_of(b);
      const Real* const at = line < in ? view.in() + line * kLine : view.out() + (line - in) * kLine;
      support::prefetch_value(at);
    }
  }

 private:
  /// Is a thread block always at one block? Then all loops have known lengths.
  static constexpr bool kAlone = kN > 0 && Tiling(kN > 0 ? kN : 16).together == 1;

  [[nodiscard]] __device__ int count() const {
    return kAlone ? 1 : count_;
  }
  /// Calls f(b, k) for every block b and k = 0 .. values - 1, this thread's share of them.
  template <class F>
  __device__ void each(int values, const F& f) const {
    if constexpr (kAlone) {
      constexpr int kThreads = Tiling(kN).threads;
#pragma unroll
      for (int first = 0; first < values; first += kThreads)
        if (values % kThreads == 0 || first + thread() < values) f(0, first + thread());
    } else {
      for (int k = thread(); k < count_ * values; k += threads()) f(k / values, k % values);
    }
  }
  /// Of neighbouring cells, the latter less the former; z: of their beds.
  struct Difference {
    Real w, h, u, v, z;
  };
  __device__ static Difference difference(const Prim& a, const Prim& b) {
    return {b.w - a.w, b.h - a.h, b.u - a.u, b.v - a.v, (b.w - b.h) - (a.w - a.h)};
  }
  /// As at_face() has them.
  __device__ static Prim half_slopes(const Difference& d, const Difference& e, Real depth) {
    const Real h = half_slope<kLimiter>(d.h, e.h);
    return {surface_slope(half_slope<kLimiter>(d.w, e.w), h, depth, d.z, e.z), h, half_slope<kLimiter>(d.u, e.u),
            half_slope<kLimiter>(d.v, e.v)};
  }
  __device__ static Prim sum(const Prim& p, const Prim& half) {
    return {p.w + half.w, p.h + half.h, p.u + half.u, p.v + half.v};
  }
  __device__ static int thread() {
    return static_cast<int>(threadIdx.x);
  }
  __device__ static int threads() {
    return static_cast<int>(blockDim.x);
  }
  [[nodiscard]] __device__ View view_of(int b) const {
    return View(job_, works_[b]);
  }
  [[nodiscard]] __device__ Real* tile(int b) const {
    return shared_ + b * t_.values();
  }
  [[nodiscard]] __device__ Real* flux(int b, int axis) const {
    return tile(b) + 4 * t_.tile() + axis * 5 * t_.faces();
  }
  __device__ void store(int b, int at, const Prim& p) const {
    Real* const to = tile(b) + at;
    to[0] = p.w;
    to[t_.tile()] = p.h;
    to[2 * t_.tile()] = p.u;
    to[3 * t_.tile()] = p.v;
  }
  __device__ void put(Real* to, const FaceFlux<Real>& f) const {
    to[0] = f.mass;
    to[t_.faces()] = f.transverse;
    to[2 * t_.faces()] = f.lower;
    to[3 * t_.faces()] = f.upper;
  }

  const StageJob<Real>& job_;
  const BlockWork* works_;
  int count_;
  Real* shared_;
  Tiling t_;
};

/// A thread's part of the works of a group of blocks, which all threads bring to shared memory.
template <class Real>
struct Fetch {
  static constexpr int kWords = sizeof(BlockWork) / 4;
  int index = -1, word = 0;

  /// The group from `begin` of the list.
  __device__ void start(const StageJob<Real>& job, int begin, int together, int count) {
    const int b = static_cast<int>(threadIdx.x) / kWords;
    index = b < together && begin + b < count ? job.memory.computed[begin + b] : -1;
  }
  __device__ void go_on(const StageJob<Real>& job) {
    if (index >= 0) word = reinterpret_cast<const int*>(job.blocks + index)[threadIdx.x % kWords];
  }
  __device__ void finish(BlockWork* works) const {
    if (index >= 0) reinterpret_cast<int*>(works)[threadIdx.x] = word;
  }
};

/// Blocks that change no more are copied once.
template <class Real>
__device__ void copy_blocks(const StageJob<Real>& job) {
  const int values = kVariables * job.cells * job.cells;
  for (int i = static_cast<int>(blockIdx.x); i < job.memory.counts[1]; i += static_cast<int>(gridDim.x)) {
    const int number = job.blocks[job.memory.copied[i]].number;
    const Real* const from = values_of<Real>(job.in, number);
    Real* const to = values_of<Real>(job.out, number);
    for (int k = static_cast<int>(threadIdx.x); k < values; k += static_cast<int>(blockDim.x)) to[k] = from[k];
  }
}

/// Thread blocks stay and take one group of the list after another: how many there are only the device knows. While
/// they work on one, the next comes.
template <class Real, Limiter kLimiter, int kN>
__global__ void __launch_bounds__(kN == 0 ? kMostThreads : Tiling(kN).threads, resident_blocks<Real>(kN))
    stage_kernel(const __grid_constant__ StageJob<Real> job) {
  extern __shared__ double shared[];
  __shared__ BlockWork works[2][kMostTogether];
  __shared__ int is_wet[kMostTogether];
  using Group = Stage<Real, kLimiter, kN>;
  Real* const values = reinterpret_cast<Real*>(shared);
  const int count = job.memory.counts[0], together = Tiling(kN > 0 ? kN : job.cells).together;
  const int begin = static_cast<int>(blockIdx.x) * together, step = static_cast<int>(gridDim.x) * together;
  const int mine = static_cast<int>(threadIdx.x);
  Real fastest = Real(0);
  Fetch<Real> next;
  next.start(job, begin, together, count);
  next.go_on(job);
  next.finish(works[0]);
  __syncthreads();
  for (int i = begin, now = 0; i < count; i += step, now = 1 - now) {
    const Group group(job, works[now], min(together, count - i), values);
    if (mine < together) is_wet[mine] = 0;
    next.start(job, i + step, together, count);
    const bool jumps = __syncthreads_or(group.fill());
    next.go_on(job);
    group.walk();
    next.finish(works[1 - now]);
    __syncthreads();
    if (jumps) {
      group.find_jumps();
      __syncthreads();
    }
    if (i + step < count) Group(job, works[1 - now], min(together, count - i - step), values).expect();
    group.update(fastest, is_wet);
    __syncthreads();
    if (mine < min(together, count - i))
      job.memory.has_water[works[now][mine].number] = static_cast<unsigned char>(is_wet[mine]);
  }
  copy_blocks(job);
  if (begin < count) report(job, fastest);
}

/// Returns how many thread blocks run at once.
template <class Real, Limiter kLimiter, int kN>
int launch(const StageJob<Real>& job, const support::CudaStream& stream) {
  const Tiling t(job.cells);
  const std::size_t bytes = std::size_t(t.values()) * std::size_t(t.together) * sizeof(Real);
  const auto kernel = stage_kernel<Real, kLimiter, kN>;
  constexpr std::size_t kUsual = 48 << 10;
  if (bytes > kUsual)
    support::cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of a shallow-water stage");
  int thread_blocks = job.thread_blocks;
  if (thread_blocks == 0) {
    int resident = 0;
    support::cuda_check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, t.threads, bytes),
                        "occupancy of a shallow-water stage");
    thread_blocks = support::current_device_shape().multiprocessors * std::max(1, resident);
  }
  const int groups = (job.count + t.together - 1) / t.together;
  kernel<<<std::min(groups, thread_blocks), t.threads, bytes, stream.get()>>>(job);
  return thread_blocks;
}

template <class Real, Limiter kLimiter>
int launch_limited(const StageJob<Real>& job, const support::CudaStream& stream) {
  switch (job.cells) {
    case 4:
      return launch<Real, kLimiter, 4>(job, stream);
    case 6:
      return launch<Real, kLimiter, 6>(job, stream);
    case 8:
      return launch<Real, kLimiter, 8>(job, stream);
    case 10:
      return launch<Real, kLimiter, 10>(job, stream);
    case 12:
      return launch<Real, kLimiter, 12>(job, stream);
    case 16:
      return launch<Real, kLimiter, 16>(job, stream);
    case 24:
      return launch<Real, kLimiter, 24>(job, stream);
    case 32:
      return launch<Real, kLimiter, 32>(job, stream);
    default:
      return launch<Real, kLimiter, 0>(job, stream);
  }
}

}  // namespace amrbench::kernels::shallow_water::detail
