#include <algorithm>
#include <vector>

#include "kernels/device_sum.cuh"
#include "kernels/mixed_block.hpp"
#include "kernels/wide_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256;

/// A thread block a block (blockIdx.x) and chunk (blockIdx.y).
__global__ void __launch_bounds__(kThreads)
    average27_kernel(const __grid_constant__ TileLayout l, const double* tiles, support::DeviceSlots out) {
  const int chunk = static_cast<int>(blockIdx.y), values = static_cast<int>(l.block.chunk_values());
  const auto row = static_cast<int>(l.row_values()), plane = static_cast<int>(l.plane_values());
  const double* const tile = tiles + blockIdx.x * l.values() + chunk * l.chunk_values();
  double* const to = out.at(static_cast<int>(blockIdx.x)) + std::size_t(chunk) * values;
  for (int k = static_cast<int>(threadIdx.x); k < values; k += kThreads) {
    const int cell = k / l.lanes, line = cell / l.block.cells[0], x = cell % l.block.cells[0];
    const int y = line % l.block.cells[1], z = line / l.block.cells[1];
    const double* const centre = tile + l.cell(x, y, z) + k % l.lanes;
    // The 9 values of one x, in the order of the CPU's kernel: row by row in y, each in z.
    const auto around = [&](int dx) {
      const double* const c = centre + dx * l.lanes;
      const double *const a = c - row, *const b = c, *const d = c + row;
      return a[-plane] + a[0] + a[plane] + b[-plane] + b[0] + b[plane] + d[-plane] + d[0] + d[plane];
    };
    to[k] = (around(-1) + around(0) + around(1)) / 27.0;
  }
}

/// Walks over the cells of a block with all threads of a thread block, a barrier behind each walk.
class ThreadWalk {
 public:
  __device__ ThreadWalk(const TileLayout& l, double* scratch)
      : nx_(l.block.cells[0]),
        ny_(l.block.cells[1]),
        nz_(l.block.cells[2]),
        row_(static_cast<std::ptrdiff_t>(l.row_values())),
        plane_(static_cast<std::ptrdiff_t>(l.plane_values())),
        work_(scratch) {}

  // The shared source calls these from functions for host and device; only the device ever runs them.
  template <class F>
  AMRBENCH_HD void each_cell(double* u, const F& f) const {
#if defined(__CUDA_ARCH__)
    for (int k = static_cast<int>(threadIdx.x); k < nx_ * ny_ * nz_; k += kThreads) {
      const std::ptrdiff_t c = k / nx_ / ny_ * plane_ + k / nx_ % ny_ * row_ + k % nx_;
      u[c] = f(c);
    }
    __syncthreads();
#endif
  }
  template <int Axis, class F>
  AMRBENCH_HD void each_line(double* u, const F& f) const {
#if defined(__CUDA_ARCH__)
    const int length = Axis == 0 ? nx_ : Axis == 1 ? ny_ : nz_, first = Axis == 0 ? ny_ : nx_;
    const std::ptrdiff_t step = Axis == 0 ? 1 : Axis == 1 ? row_ : plane_;
    const std::ptrdiff_t step_a = Axis == 0 ? row_ : 1, step_b = Axis == 2 ? row_ : plane_;
    for (int k = static_cast<int>(threadIdx.x); k < nx_ * ny_ * nz_ / length; k += kThreads) {
      const std::ptrdiff_t start = k % first * step_a + k / first * step_b;
      for (int i = 0; i < length; ++i) u[start + i * step] = f(start + i * step);
    }
    __syncthreads();
#endif
  }
  template <class F>
  AMRBENCH_HD void replace(double* u, const F& f) const {
    double* const w = work_;
    each_cell(w, f);
    each_cell(u, [=](std::ptrdiff_t c) { return w[c]; });
  }

 private:
  int nx_, ny_, nz_;
  std::ptrdiff_t row_, plane_;
  double* work_;
};

/// A thread block a tile at a time. constants: a1, then a0 (kernels/mixed.hpp). scratch: room for a chunk for each
/// thread block.
__global__ void __launch_bounds__(kThreads)
    mixed_kernel(const __grid_constant__ TileLayout l, const double* constants, int fours, int kind, double* tiles,
                 int count, double* scratch, support::DeviceSlots out) {
  double* const work = scratch + blockIdx.x * l.chunk_values() + l.cell(0, 0, 0);
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    double* const tile = tiles + i * l.values();
    detail::MixedBlock<ThreadWalk> block(ThreadWalk(l, work), constants[0], constants + 1, fours,
                                         tile + l.cell(0, 0, 0), static_cast<std::ptrdiff_t>(l.chunk_values()), 1,
                                         static_cast<std::ptrdiff_t>(l.row_values()),
                                         static_cast<std::ptrdiff_t>(l.plane_values()));
    for (int v = 0; v < l.block.variables; ++v) block.advance(v, kind);
    double* const to = out.at(i);
    const int values = static_cast<int>(l.block.chunk_values());
    for (int k = static_cast<int>(threadIdx.x); k < values * l.block.chunks; k += kThreads) {
      const int variable = k / values * l.block.lanes + k % l.block.lanes, cell = k % values / l.block.lanes;
      const int line = cell / l.block.cells[0];
      const std::size_t at = l.cell(cell % l.block.cells[0], line % l.block.cells[1], line / l.block.cells[1]);
      to[k] = variable < l.block.variables ? tile[variable * l.chunk_values() + at] : 0.0;
    }
    __syncthreads();
  }
}

template <int Lanes>
__global__ void __launch_bounds__(kThreads) sum_kernel(int values, support::DeviceSlots blocks, DeviceSumView view) {
  // The step from one pass to the next is a multiple of the lanes, so a thread keeps to one variable.
  constexpr int kStep = kThreads / Lanes * Lanes;
  __shared__ unsigned long long scratch[sum_scratch_words<Lanes, 1>(kThreads)];
  const int chunk = static_cast<int>(blockIdx.y);
  const double* const from = blocks.at(static_cast<int>(blockIdx.x)) + std::size_t(chunk) * values;
  CellSum sums[1];
  if (threadIdx.x < kStep) {
    for (int k = static_cast<int>(threadIdx.x); k < values; k += kStep) sums[0].add(from[k], view);
  }
  flush_sums<Lanes, 1>(sums, static_cast<std::uint32_t>(values / Lanes), chunk, view, scratch);
}

template <int Lanes>
void launch_sums(const BlockLayout& l, const dim3& grid, const support::DeviceSlots& blocks, const DeviceSumView& sums,
                 cudaStream_t stream) {
  sum_kernel<Lanes><<<grid, kThreads, 0, stream>>>(static_cast<int>(l.chunk_values()), blocks, sums);
}

}  // namespace

void launch_average27(const TileLayout& layout, const double* tiles, int count, const support::DeviceSlots& out,
                      const support::CudaStream& stream) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(layout.chunks));
  average27_kernel<<<grid, kThreads, 0, stream.get()>>>(layout, tiles, out);
  support::cuda_check_launch("average27");
}

DeviceMixed::DeviceMixed(const TileLayout& layout, const support::CudaStream& stream)
    : layout_(layout), fours_(layout.block.variables / 4) {
  constexpr int kEach = 8;  // thread blocks a multiprocessor
  groups_ = support::current_device_shape().multiprocessors * kEach;
  const MixedConstants constants = mixed_constants(layout.block.variables);
  std::vector<double> values{constants.a1};
  values.insert(values.end(), constants.a0.begin(), constants.a0.end());
  constants_.resize_discard(values.size());
  support::copy_to_device(constants_.data(), values.data(), values.size(), stream);
  scratch_.resize_discard(groups_ * layout.chunk_values());
  stream.synchronize();
}

void DeviceMixed::launch(std::int64_t stage, double* tiles, int count, const support::DeviceSlots& out,
                         const support::CudaStream& stream) {
  if (count == 0) return;
  const int kind = static_cast<int>(stage % 6);
  mixed_kernel<<<std::min(count, groups_), kThreads, 0, stream.get()>>>(layout_, constants_.data(), fours_, kind, tiles,
                                                                        count, scratch_.data(), out);
  support::cuda_check_launch("mixed");
}

void launch_block_sums(const BlockLayout& l, int count, const support::DeviceSlots& blocks, const DeviceSumView& sums,
                       const support::CudaStream& stream) {
  if (count == 0) return;
  const dim3 grid(static_cast<unsigned int>(count), static_cast<unsigned int>(l.chunks));
  using Launch =
      void (*)(const BlockLayout&, const dim3&, const support::DeviceSlots&, const DeviceSumView&, cudaStream_t);
  static constexpr Launch kLaunches[kMaxLanes] = {launch_sums<1>, launch_sums<2>, launch_sums<3>, launch_sums<4>,
                                                  launch_sums<5>, launch_sums<6>, launch_sums<7>, launch_sums<8>};
  kLaunches[l.lanes - 1](l, grid, blocks, sums, stream.get());
  support::cuda_check_launch("block sums");
}

}  // namespace amrbench::kernels
