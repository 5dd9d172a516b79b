#include <algorithm>

#include "kernels/shallow_water/block_cuda.hpp"
#include "support/error.hpp"

namespace amrbench::kernels::shallow_water {
namespace {

constexpr int kWarp = 32;
constexpr int kMostThreads = 384;
constexpr int kTravelling = 4;

/// Threads for blocks of n x n cells: the faces along one axis in as few passes as may be.
constexpr int thread_count(int n) {
  const int faces = n * (n + 1), passes = (faces + kMostThreads - 1) / kMostThreads;
  return ((faces + passes - 1) / passes + kWarp - 1) / kWarp * kWarp;
}
/// Bytes of shared memory: a tile and the fluxes along both axes, four values each.
constexpr std::size_t shared_bytes(int n) {
  const auto edge = static_cast<std::size_t>(n);
  return sizeof(double) * 4 * ((edge + 4) * (edge + 4) + 2 * edge * (edge + 1));
}
/// Thread blocks that a multiprocessor should hold at once: fewer leave it waiting, more leave too few registers, of
/// which the harmonic mean wants most.
constexpr int resident_blocks(int n, Limiter limiter) {
  const int threads = limiter == Limiter::van_leer ? 896 : 1200;
  constexpr std::size_t kSharedBytes = 227 << 10;
  return n == 0 ? 2 : std::min(threads / thread_count(n), static_cast<int>(kSharedBytes / (shared_bytes(n) + 1024)));
}

using Prim = Primitive<double>;
using Raw = RawCell<double>;

/// Four planes of values beside each other in shared memory.
struct Planes {
  double* at;
  int plane;
  __device__ double& operator()(int v, int i) const { return at[v * plane + i]; }
  __device__ Prim cell(int i) const { return {at[i], at[plane + i], at[2 * plane + i], at[3 * plane + i]}; }
  /// Turned so that u lies along y.
  __device__ Prim turned(int i) const { return {at[i], at[plane + i], at[3 * plane + i], at[2 * plane + i]}; }
};

/// The half slope of the surface in a cell, as the faces beside it have it.
template <Limiter kLimiter>
__device__ double surface_half_slope(const Planes& tile, int at, int step) {
  const Prim a = tile.cell(at - step), c = tile.cell(at), b = tile.cell(at + step);
  const double depth = half_slope<kLimiter>(c.h - a.h, b.h - c.h);
  const double z = c.w - c.h;
  return surface_slope(half_slope<kLimiter>(c.w - a.w, b.w - c.w), depth, c.h, z - (a.w - a.h), (b.w - b.h) - z);
}

/// A thread block at work on its block. kN: cells along an edge, 0: job.cells.
template <Limiter kLimiter, int kN>
class BlockStage {
 public:
  __device__ BlockStage(const StageJob& job, const BlockWork& work, double* shared)
      : job_(job),
        work_(work),
        in_(job.in.at(work.number)),
        tile_{shared, stride() * stride()},
        flux_x_{shared + 4 * tile_.plane, n() * (n() + 1)},
        flux_y_{flux_x_.at + 4 * flux_x_.plane, n() * (n() + 1)},
        // Powers of 2 scale exactly: these have the bits of the quotients of this level's sizes.
        finer_(exp2_of(work.level)),
        coarser_(exp2_of(-work.level)),
        dt_over_dx_(job.dt_over_dx * finer_),
        dt_over_dy_(job.dt_over_dy * finer_) {}

  __device__ void fill() const {
    for (int c = static_cast<int>(threadIdx.x); c < n() * n(); c += static_cast<int>(blockDim.x)) {
      const int plane = n() * n();
      store((c / n() + 2) * stride() + c % n() + 2,
            primitive(in_[c], in_[plane + c], in_[2 * plane + c], in_[3 * plane + c], dry()));
    }
    for (int k = static_cast<int>(threadIdx.x); k < 8 * n(); k += static_cast<int>(blockDim.x))
      fill_behind(k / (2 * n()), k / n() % 2, k % n());
  }

  __device__ void find_fluxes() const {
    const double dx_over_dt = job_.dx_over_dt * coarser_, dy_over_dt = job_.dy_over_dt * coarser_;
    for (int k = static_cast<int>(threadIdx.x); k < n() * (n() + 1); k += static_cast<int>(blockDim.x)) {
      const int x = k % (n() + 1), y = k / (n() + 1);  // faces across x: n + 1 a row
      const int right = (y + 2) * stride() + x + 2;
      const Prim a = tile_.cell(right - 2), b = tile_.cell(right - 1), c = tile_.cell(right), d = tile_.cell(right + 1);
      put(flux_x_, k, flux(a, b, c, d, spare(b.u, b.v), spare(c.u, c.v), dx_over_dt));
    }
    for (int k = static_cast<int>(threadIdx.x); k < n() * (n() + 1); k += static_cast<int>(blockDim.x)) {
      const int x = k % n(), y = k / n();
      const int upper = (y + 2) * stride() + x + 2;
      const Prim a = tile_.turned(upper - 2 * stride()), b = tile_.turned(upper - stride()), c = tile_.turned(upper),
                 d = tile_.turned(upper + stride());
      put(flux_y_, k, flux(a, b, c, d, spare(b.v, b.u), spare(c.v, c.u), dy_over_dt));
    }
  }

  [[nodiscard]] __device__ bool has_jumps() const {
    bool has = false;
    for (int face = 0; face < 4; ++face) has = has || is_coarse(face) || work_.behind[face] == Behind::fine;
    return has;
  }
  /// Faces at which the level changes; after a barrier behind find_fluxes().
  __device__ void find_jumps() const {
    for (int k = static_cast<int>(threadIdx.x); k < 4 * n(); k += static_cast<int>(blockDim.x)) {
      const int face = k / n(), m = k % n();
      const bool coarse = is_coarse(face);
      if (!coarse && work_.behind[face] != Behind::fine) continue;
      const double part = coarse ? 1.0 : 0.5, times = coarse ? 1.0 : 2.0;
      const double over_dt = (face < 2 ? job_.dx_over_dt : job_.dy_over_dt) * coarser_;
      const double across = face < 2 ? dt_over_dx_ : dt_over_dy_, along = face < 2 ? dt_over_dy_ : dt_over_dx_;
      const Extents<double> fine{part * over_dt, times * across, times * along};
      FaceFlux<double> half[2];
      jump_fluxes<kLimiter>(jump_of(face, coarse ? m / 2 : m), coarse == (face % 2 == 0), fine, job_.physics, half);
      FaceFlux<double> mine = half[m % 2];
      if (!coarse)
        mine = {0.5 * (half[0].mass + half[1].mass), 0.5 * (half[0].transverse + half[1].transverse),
                0.5 * (half[0].lower + half[1].lower), 0.5 * (half[0].upper + half[1].upper)};
      const int end = face % 2 == 0 ? 0 : n();
      put(face < 2 ? flux_x_ : flux_y_, face < 2 ? m * (n() + 1) + end : end * n() + m, mine);
    }
  }

  /// The new state of every cell; its figures, of this thread's cells.
  __device__ void update(double& fastest, double& least, double& most) const {
    const int plane = n() * n();
    const double ax = dt_over_dx_, ay = dt_over_dy_, twice_g = 2.0 * job_.physics.gravity;
    double* const out = job_.out.at(work_.number);
    for (int c = static_cast<int>(threadIdx.x); c < plane; c += static_cast<int>(blockDim.x)) {
      const int x = c % n(), y = c / n(), at = (y + 2) * stride() + x + 2, left = y * (n() + 1) + x;
      const double h = in_[c], weight = twice_g * h;
      const double wx = surface_half_slope<kLimiter>(tile_, at, 1);
      const double wy = surface_half_slope<kLimiter>(tile_, at, stride());
      const auto fx = [&](int v, int side) { return flux_x_(v, left + side); };
      const auto fy = [&](int v, int side) { return flux_y_(v, c + side * n()); };
      double nh = h - (ax * (fx(0, 1) - fx(0, 0)) + ay * (fy(0, 1) - fy(0, 0)));
      double nu = in_[plane + c] - (ax * ((fx(2, 1) - fx(3, 0)) + weight * wx) + ay * (fy(1, 1) - fy(1, 0)));
      double nv = in_[2 * plane + c] - (ay * ((fy(2, 1) - fy(3, 0)) + weight * wy) + ax * (fx(1, 1) - fx(1, 0)));
      if (job_.physics.friction) {
        const double rough = in_[kRoughness * plane + c];
        if (rough > 0.0) {
          const double factor = friction_factor(nh, nu, nv, rough, 4.0 * (job_.physics.gravity * job_.dt), dry());
          nu *= factor;
          nv *= factor;
        }
      }
      if (job_.second) {
        nh = 0.5 * (out[c] + nh);
        nu = 0.5 * (out[plane + c] + nu);
        nv = 0.5 * (out[2 * plane + c] + nv);
      }
      measure(nh, nu, nv, fastest, least, most);
      out[c] = nh;
      out[plane + c] = nu;
      out[2 * plane + c] = nv;
      if (job_.copies_bed) {
        out[3 * plane + c] = in_[3 * plane + c];
        out[4 * plane + c] = in_[4 * plane + c];
      }
    }
  }

  /// Figures of a cell, whose discharge is damped first where it is all but dry (rows.hpp, measure_row).
  __device__ void measure(double h, double& hu, double& hv, double& fastest, double& least, double& most) const {
    const double inverse = damped_inverse(h, dry());
    const double u = hu * inverse, v = hv * inverse, c = std::sqrt(job_.physics.gravity * h);
    hu = h < dry() ? h * u : hu;
    hv = h < dry() ? h * v : hv;
    const double x = (magnitude(u) + c) * (job_.inverse_dx * finer_);
    const double y = (magnitude(v) + c) * (job_.inverse_dy * finer_);
    fastest = larger(larger(x, y), fastest);
    least = smaller(h, least);
    most = larger(h, most);
  }

  [[nodiscard]] __device__ int n() const { return kN > 0 ? kN : job_.cells; }

 private:
  [[nodiscard]] __device__ double spare(double u, double v) const {
    return spare_share(u, v, dt_over_dx_, dt_over_dy_);
  }
  [[nodiscard]] __device__ int stride() const { return n() + 4; }
  [[nodiscard]] __device__ double dry() const { return job_.physics.dry_depth; }
  [[nodiscard]] __device__ static double exp2_of(int e) { return __longlong_as_double((1023LL + e) << 52); }
  [[nodiscard]] __device__ bool is_coarse(int face) const {
    return work_.behind[face] == Behind::coarse || work_.behind[face] == Behind::coarse_packed;
  }
  __device__ void store(int at, const Prim& p) const {
    tile_(0, at) = p.w;
    tile_(1, at) = p.h;
    tile_(2, at) = p.u;
    tile_(3, at) = p.v;
  }
  __device__ static void put(const Planes& to, int k, const FaceFlux<double>& flux) {
    to(0, k) = flux.mass;
    to(1, k) = flux.transverse;
    to(2, k) = flux.lower;
    to(3, k) = flux.upper;
  }
  /// Between cells b and c, with a and d beside them.
  __device__ FaceFlux<double> flux(const Prim& a, const Prim& b, const Prim& c, const Prim& d, double spare_b,
                                   double spare_c, double dx_over_dt) const {
    return face_flux(at_face<kLimiter>(a, b, c), at_face<kLimiter>(d, c, b),
                     largest_outflow(b.h, b.u, spare_b, dx_over_dt), largest_outflow(c.h, -c.u, spare_c, dx_over_dt),
                     job_.physics.gravity);
  }

  /// A cell of a packed strip with `along` cells a layer.
  __device__ static Raw packed_cell(const double* strip, int along, int axis, int layer, int m) {
    const double* const at = strip + layer * along + m;
    const int plane = 2 * along;
    return {at[0], at[(1 + axis) * plane], at[(2 - axis) * plane], at[3 * plane]};
  }
  __device__ Raw block_cell(const double* block, int face, int layer, int m) const {
    const std::size_t plane = std::size_t(n()) * n();
    const double* const at = block + cell_at_face(n(), face, layer, m);
    const int axis = face / 2;
    return {at[0], at[(1 + axis) * plane], at[(2 - axis) * plane], at[3 * plane]};
  }
  /// Raw cell m of a layer behind a face, in the frame of the face.
  __device__ Raw behind(int face, int layer, int m) const {
    const int axis = face / 2, half = n() / 2;
    switch (work_.behind[face]) {
      case Behind::same:
        return block_cell(job_.in.at(work_.a[face]), face ^ 1, layer, m);
      case Behind::same_packed:
        return packed_cell(job_.memory.packed + work_.a[face], n(), axis, layer, m);
      case Behind::coarse:
        return block_cell(job_.in.at(work_.a[face]), face ^ 1, layer, work_.part[face] * half + m);
      case Behind::coarse_packed:
        return packed_cell(job_.memory.packed + work_.a[face], half, axis, layer, m);
      case Behind::fine: {
        const std::int32_t from = m < n() ? work_.a[face] : work_.b[face];
        const int cell = m < n() ? m : m - n();
        return from >= 0 ? block_cell(job_.in.at(from), face ^ 1, layer, cell)
                         : packed_cell(job_.memory.packed + ~from, n(), axis, layer, cell);
      }
      case Behind::given:
        return packed_cell(job_.memory.given + work_.a[face], n(), axis, layer, m);
      default: {
        double value[kVariables];
        boundary_value(job_.sides[face], n(), face, job_.physics, in_, m, layer, value);
        return {value[0], value[1 + axis], value[2 - axis], value[3]};
      }
    }
  }
  __device__ Jump<double> jump_of(int face, int m) const {
    Jump<double> jump;
    const bool coarse = is_coarse(face);
    for (int layer = 0; layer < 2; ++layer) {
      jump.coarse[layer] = coarse ? behind(face, layer, m) : block_cell(in_, face, layer, m);
      for (int half = 0; half < 2; ++half)
        jump.fine[layer][half] =
            coarse ? block_cell(in_, face, layer, 2 * m + half) : behind(face, layer, 2 * m + half);
    }
    return jump;
  }
  __device__ void fill_behind(int face, int layer, int m) const {
    const bool coarse = is_coarse(face);
    Prim value;
    if (coarse || work_.behind[face] == Behind::fine) {
      const Jump<double> jump = jump_of(face, coarse ? m / 2 : m);
      value = coarse ? ghost_of_fine(primitive(jump.fine[0][m % 2], dry()), primitive(jump.coarse[0], dry()))
                     : ghost_of_coarse(jump.fine, dry());
    } else {
      value = primitive(behind(face, layer, m), dry());
    }
    const int across = face % 2 == 0 ? 1 - layer : n() + 2 + layer;
    store(face < 2 ? (m + 2) * stride() + across : across * stride() + m + 2,
          face < 2 ? value : Prim{value.w, value.h, value.v, value.u});
  }

  const StageJob& job_;
  const BlockWork& work_;
  const double* in_;
  Planes tile_;
  Planes flux_x_, flux_y_;
  double finer_, coarser_, dt_over_dx_, dt_over_dy_;
};

/// The largest and smallest over a warp.
__device__ double warp_max(double x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = larger(x, __shfl_xor_sync(0xffffffffU, x, step));
  return x;
}
__device__ double warp_min(double x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = smaller(x, __shfl_xor_sync(0xffffffffU, x, step));
  return x;
}

/// Adds a thread block's figures to those of the launch; bits of doubles that are not negative compare like numbers.
__device__ void report(const StageJob& job, double fastest, double least) {
  __shared__ double parts[2][kMostThreads / kWarp];
  const int warp = static_cast<int>(threadIdx.x) / kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  fastest = warp_max(fastest);
  least = warp_min(least);
  if (threadIdx.x % kWarp == 0) {
    parts[0][warp] = fastest;
    parts[1][warp] = least;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) {
    fastest = larger(fastest, parts[0][w]);
    least = smaller(least, parts[1][w]);
  }
  atomicMax(job.memory.found, static_cast<unsigned long long>(__double_as_longlong(fastest)));
  atomicMin(reinterpret_cast<long long*>(job.memory.found) + 1, __double_as_longlong(least));
}

/// Holds neither the block nor what lies behind its faces water?
__device__ bool is_dry(const StageJob& job, const BlockWork& work) {
  const unsigned char* const water = job.memory.had_water;
  bool wet = water[work.number] != 0;
  for (int face = 0; face < 4; ++face) {
    switch (work.behind[face]) {
      case Behind::same:
      case Behind::coarse:
        wet = wet || water[work.a[face]] != 0;
        break;
      case Behind::fine:
        wet = wet || work.a[face] < 0 || work.b[face] < 0 || water[work.a[face]] != 0 || water[work.b[face]] != 0;
        break;
      case Behind::boundary:
        wet = wet || job.sides[face].kind == BoundaryKind::inflow || job.sides[face].kind == BoundaryKind::level;
        break;
      default:
        wet = true;
    }
  }
  return !wet;
}

/// Lists the blocks of a job that are to be computed, and those that are only to be copied; in any order.
__global__ void list_kernel(const __grid_constant__ StageJob job) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= job.count) return;
  const BlockWork& work = job.blocks[k];
  if (!is_dry(job, work)) {
    job.memory.is_same[work.number] = 0;
    job.memory.computed[atomicAdd(job.memory.counts, 1)] = k;
    return;
  }
  job.memory.has_water[work.number] = 0;
  if (job.memory.is_same[work.number] != 0) return;
  job.memory.is_same[work.number] = 1;
  job.memory.copied[atomicAdd(job.memory.counts + 1, 1)] = k;
}

__global__ void copy_kernel(const __grid_constant__ StageJob job) {
  const int values = kVariables * job.cells * job.cells;
  for (int i = static_cast<int>(blockIdx.x); i < job.memory.counts[1]; i += static_cast<int>(gridDim.x)) {
    const int number = job.blocks[job.memory.copied[i]].number;
    const double* const from = job.in.at(number);
    double* const to = job.out.at(number);
    for (int k = static_cast<int>(threadIdx.x); k < values; k += static_cast<int>(blockDim.x)) to[k] = from[k];
  }
}

/// Thread blocks stay and take one block of the list after another: how many there are only the device knows.
template <Limiter kLimiter, int kN>
__global__ void __launch_bounds__(kN == 0 ? kMostThreads : thread_count(kN), resident_blocks(kN, kLimiter))
    stage_kernel(const __grid_constant__ StageJob job) {
  extern __shared__ double shared[];
  const int count = job.memory.counts[0];
  double fastest = 0.0, least = 1e300;
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    const BlockWork& work = job.blocks[job.memory.computed[i]];
    const BlockStage<kLimiter, kN> stage(job, work, shared);
    stage.fill();
    __syncthreads();
    stage.find_fluxes();
    __syncthreads();
    if (stage.has_jumps()) {
      stage.find_jumps();
      __syncthreads();
    }
    double most = 0.0;
    stage.update(fastest, least, most);
    const bool water = __syncthreads_or(most > 0.0);
    if (threadIdx.x == 0) job.memory.has_water[work.number] = water;
  }
  if (static_cast<int>(blockIdx.x) < count) report(job, fastest, least);
}

__global__ void __launch_bounds__(kMostThreads) measure_kernel(const __grid_constant__ StageJob job) {
  const BlockWork& work = job.blocks[blockIdx.x];
  const BlockStage<Limiter::minmod, 0> stage(job, work, nullptr);
  const double* const in = job.in.at(work.number);
  const int plane = job.cells * job.cells;
  double fastest = 0.0, least = 1e300, most = 0.0;
  for (int c = static_cast<int>(threadIdx.x); c < plane; c += static_cast<int>(blockDim.x)) {
    double hu = in[plane + c], hv = in[2 * plane + c];
    stage.measure(in[c], hu, hv, fastest, least, most);
  }
  const bool water = __syncthreads_or(most > 0.0);
  if (threadIdx.x == 0) job.memory.has_water[work.number] = water;
  report(job, fastest, least);
}

__global__ void strip_kernel(const StripJob* jobs, int n, support::DeviceSlots blocks, double* packed) {
  const StripJob job = jobs[blockIdx.x];
  const double* const block = blocks.at(job.block);
  const std::size_t plane = std::size_t(n) * n;
  for (int k = static_cast<int>(threadIdx.x); k < kTravelling * 2 * job.count; k += static_cast<int>(blockDim.x)) {
    const int m = k % job.count, layer = k / job.count % 2, v = k / (2 * job.count);
    packed[job.at + k] = block[v * plane + cell_at_face(n, job.face, layer, job.begin + m)];
  }
}

int multiprocessors() {
  int device = 0, count = 0;
  support::cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  support::cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "multiprocessors");
  return count;
}

template <Limiter kLimiter, int kN>
void launch(const StageJob& job, const support::CudaStream& stream) {
  const int n = job.cells;
  const std::size_t bytes = shared_bytes(n);
  constexpr std::size_t kUsual = 48 << 10;
  if (bytes > kUsual)
    support::cuda_check(cudaFuncSetAttribute(stage_kernel<kLimiter, kN>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)),
                        "shared memory of a shallow-water stage");
  int resident = 0;
  support::cuda_check(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, stage_kernel<kLimiter, kN>, thread_count(n), bytes),
      "occupancy of a shallow-water stage");
  const int most = multiprocessors() * std::max(1, resident);
  stage_kernel<kLimiter, kN><<<std::min(job.count, most), thread_count(n), bytes, stream.get()>>>(job);
}

template <Limiter kLimiter>
void launch_limited(const StageJob& job, const support::CudaStream& stream) {
  switch (job.cells) {
    case 8:
      return launch<kLimiter, 8>(job, stream);
    case 16:
      return launch<kLimiter, 16>(job, stream);
    case 32:
      return launch<kLimiter, 32>(job, stream);
    default:
      return launch<kLimiter, 0>(job, stream);
  }
}

}  // namespace

void launch_stage(const StageJob& job, const support::CudaStream& stream) {
  if (job.count == 0) return;
  constexpr int kListThreads = 256;
  list_kernel<<<(job.count + kListThreads - 1) / kListThreads, kListThreads, 0, stream.get()>>>(job);
  copy_kernel<<<std::min(job.count, 2 * multiprocessors()), kListThreads, 0, stream.get()>>>(job);
  switch (job.physics.limiter) {
    case Limiter::minmod:
      launch_limited<Limiter::minmod>(job, stream);
      break;
    case Limiter::van_leer:
      launch_limited<Limiter::van_leer>(job, stream);
      break;
    default:
      launch_limited<Limiter::monotonized>(job, stream);
  }
  support::cuda_check_launch("shallow-water stage");
}

void launch_measure(const StageJob& job, const support::CudaStream& stream) {
  if (job.count == 0) return;
  measure_kernel<<<job.count, thread_count(job.cells), 0, stream.get()>>>(job);
  support::cuda_check_launch("shallow-water measure");
}

void launch_strips(const StripJob* jobs, int count, int cells, const support::DeviceSlots& blocks, double* packed,
                   const support::CudaStream& stream) {
  if (count == 0) return;
  constexpr int kStripThreads = 64;
  strip_kernel<<<count, kStripThreads, 0, stream.get()>>>(jobs, cells, blocks, packed);
  support::cuda_check_launch("shallow-water strips");
}

}  // namespace amrbench::kernels::shallow_water
