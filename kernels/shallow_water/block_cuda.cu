#include <algorithm>

#include "kernels/shallow_water/block_cuda.hpp"
#include "kernels/shallow_water/block_view.cuh"
#include "support/error.hpp"

namespace amrbench::kernels::shallow_water {
namespace detail {
template <class Real, Limiter kLimiter>
int launch_limited(const StageJob<Real>& job, const support::CudaStream& stream);
}  // namespace detail

namespace {

constexpr int kThreads = 256;
constexpr int kTravelling = 4;

/// Holds neither the block nor what lies behind its faces water?
template <class Real>
__device__ bool is_dry(const StageJob<Real>& job, const BlockWork& work) {
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
template <class Real>
__global__ void list_kernel(const __grid_constant__ StageJob<Real> job) {
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

template <class Real>
__global__ void __launch_bounds__(kThreads) measure_kernel(const __grid_constant__ StageJob<Real> job) {
  const BlockWork& work = job.blocks[blockIdx.x];
  const detail::BlockView<Real, 0> view(job, work);
  const Real* const in = view.in();
  const int plane = job.cells * job.cells;
  Real fastest = Real(0);
  bool is_wet = false;
  for (int c = static_cast<int>(threadIdx.x); c < plane; c += static_cast<int>(blockDim.x)) {
    Real hu = in[plane + c], hv = in[2 * plane + c];
    view.measure(in[c], hu, hv, fastest);
    is_wet = is_wet || in[c] > Real(0);
  }
  const bool water = __syncthreads_or(is_wet);
  if (threadIdx.x == 0) job.memory.has_water[work.number] = water;
  detail::report(job, fastest);
}

template <class Real>
__global__ void strip_kernel(const StripJob* jobs, int n, support::DeviceSlots blocks, Real* packed) {
  const StripJob job = jobs[blockIdx.x];
  const Real* const block = detail::values_of<Real>(blocks, job.block);
  const std::size_t plane = std::size_t(n) * n;
  for (int k = static_cast<int>(threadIdx.x); k < kTravelling * 2 * job.count; k += static_cast<int>(blockDim.x)) {
    const int m = k % job.count, layer = k / job.count % 2, v = k / (2 * job.count);
    packed[job.at + k] = block[v * plane + cell_at_face(n, job.face, layer, job.begin + m)];
  }
}

/// A thread block a face, a thread a cell.
template <class Real>
__global__ void inflow_kernel(const __grid_constant__ StageJob<Real> job, const InflowJob* faces,
                              const Inflow<Real>* cells, Real* to) {
  const InflowJob at = faces[blockIdx.x];
  const int n = job.cells, m = static_cast<int>(threadIdx.x);
  if (m >= n) return;
  const Inflow<Real> inflow = cells[blockIdx.x * n + m];
  const Real* const block = detail::values_of<Real>(job.in, at.block);
  Real* const strip = to + blockIdx.x * inflow_strip_values(n);
  Real* const through = strip + kVariables * 2 * n;
  if (inflow.discharge > Real(0)) {
    fill_inflow_cell(inflow, n, at.face, job.physics, block, m, strip, through);
  } else {
    fill_boundary_cell(job.sides[at.face], n, at.face, job.physics, block, m, strip);
    through[m] = Real(0);
  }
}

}  // namespace

template <class Real>
int launch_stage(const StageJob<Real>& job, const support::CudaStream& stream) {
  if (job.count == 0) return job.thread_blocks;
  list_kernel<<<(job.count + kThreads - 1) / kThreads, kThreads, 0, stream.get()>>>(job);
  const int thread_blocks = [&] {
    switch (job.physics.limiter) {
      case Limiter::minmod:
        return detail::launch_limited<Real, Limiter::minmod>(job, stream);
      case Limiter::van_leer:
        return detail::launch_limited<Real, Limiter::van_leer>(job, stream);
      default:
        return detail::launch_limited<Real, Limiter::monotonized>(job, stream);
    }
  }();
  support::cuda_check_launch("shallow-water stage");
  return thread_blocks;
}

template <class Real>
void launch_measure(const StageJob<Real>& job, const support::CudaStream& stream) {
  if (job.count == 0) return;
  measure_kernel<<<job.count, kThreads, 0, stream.get()>>>(job);
  support::cuda_check_launch("shallow-water measure");
}

template <class Real>
void launch_inflows(const StageJob<Real>& job, const InflowJob* faces, int count, const Inflow<Real>* cells, Real* to,
                    const support::CudaStream& stream) {
  if (count == 0) return;
  constexpr int kWarp = 32;  // as many cells as a face has at most
  inflow_kernel<<<count, kWarp, 0, stream.get()>>>(job, faces, cells, to);
  support::cuda_check_launch("shallow-water inflows");
}

template <class Real>
void launch_strips(const StripJob* jobs, int count, int cells, const support::DeviceSlots& blocks, Real* packed,
                   const support::CudaStream& stream) {
  if (count == 0) return;
  constexpr int kStripThreads = 64;
  strip_kernel<<<count, kStripThreads, 0, stream.get()>>>(jobs, cells, blocks, packed);
  support::cuda_check_launch("shallow-water strips");
}

template int launch_stage<double>(const StageJob<double>&, const support::CudaStream&);
template void launch_measure<double>(const StageJob<double>&, const support::CudaStream&);
template void launch_strips<double>(const StripJob*, int, int, const support::DeviceSlots&, double*,
                                    const support::CudaStream&);
template void launch_inflows<double>(const StageJob<double>&, const InflowJob*, int, const Inflow<double>*, double*,
                                     const support::CudaStream&);
template void launch_inflows<float>(const StageJob<float>&, const InflowJob*, int, const Inflow<float>*, float*,
                                    const support::CudaStream&);
template int launch_stage<float>(const StageJob<float>&, const support::CudaStream&);
template void launch_measure<float>(const StageJob<float>&, const support::CudaStream&);
template void launch_strips<float>(const StripJob*, int, int, const support::DeviceSlots&, float*,
                                   const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water
