#include <algorithm>
#include <vector>

#include "kernels/device_sum.cuh"
#include "kernels/mixed_block.hpp"
#include "kernels/mixed_cuda.hpp"

namespace amrbench::kernels {

namespace {

constexpr int kThreads = 256, kMostThreads = 1024;

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
    for (int k = static_cast<int>(threadIdx.x); k < nx_ * ny_ * nz_; k += static_cast<int>(blockDim.x)) {
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
    for (int k = static_cast<int>(threadIdx.x); k < nx_ * ny_ * nz_ / length; k += static_cast<int>(blockDim.x)) {
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

/// A block and its ghosts into a tile by variable, a row a warp.
__device__ void load_tile(const TileLayout& l, const DeviceSurroundings& around, int block, double* tile) {
  const int lanes = l.block.lanes, row = (l.block.cells[0] + 2) * lanes, ny = l.block.cells[1] + 2;
  const int rows = ny * (l.block.cells[2] + 2), warps = static_cast<int>(blockDim.x) / 32;
  for (int r = static_cast<int>(threadIdx.x) / 32; r < rows * l.block.chunks; r += warps) {
    const int chunk = r / rows, y = r % rows % ny - 1, z = r % rows / ny - 1;
    for (int k = static_cast<int>(threadIdx.x) % 32; k < row; k += 32) {
      const int x = k / lanes - 1, lane = k % lanes, variable = chunk * lanes + lane;
      if (variable < l.block.variables)
        tile[variable * l.chunk_values() + l.cell(x, y, z)] = *around.value(l.block, block, chunk, lane, x, y, z);
    }
  }
}

/// The inside of a tile by variable to a block.
__device__ void store_tile(const TileLayout& l, const double* tile, double* to) {
  const int values = static_cast<int>(l.block.chunk_values()), lanes = l.block.lanes;
  for (int k = static_cast<int>(threadIdx.x); k < values * l.block.chunks; k += static_cast<int>(blockDim.x)) {
    const int variable = k / values * lanes + k % lanes, cell = k % values / lanes, line = cell / l.block.cells[0];
    const std::size_t at = l.cell(cell % l.block.cells[0], line % l.block.cells[1], line / l.block.cells[1]);
    to[k] = variable < l.block.variables ? tile[variable * l.chunk_values() + at] : 0.0;
  }
}

struct MixedParameters {
  TileLayout layout;
  DeviceSurroundings around;
  const std::int32_t* blocks;
  int count;
  const double* constants;  ///< a1, then a0 (kernels/mixed.hpp)
  int fours, kind;
  double* scratch;  ///< of each thread block: a tile and room for a variable
  support::DeviceSlots out;
};

/// A thread block a block at a time.
__global__ void __launch_bounds__(kMostThreads) mixed_kernel(const __grid_constant__ MixedParameters p) {
  const TileLayout& l = p.layout;
  double* const tile = p.scratch + blockIdx.x * (l.values() + l.chunk_values());
  const std::size_t first = l.cell(0, 0, 0);
  for (int i = static_cast<int>(blockIdx.x); i < p.count; i += static_cast<int>(gridDim.x)) {
    const int block = p.blocks == nullptr ? i : p.blocks[i];
    load_tile(l, p.around, block, tile);
    __syncthreads();
    detail::MixedBlock<ThreadWalk> mixed(ThreadWalk(l, tile + l.values() + first), p.constants[0], p.constants + 1,
                                         p.fours, tile + first, static_cast<std::ptrdiff_t>(l.chunk_values()), 1,
                                         static_cast<std::ptrdiff_t>(l.row_values()),
                                         static_cast<std::ptrdiff_t>(l.plane_values()));
    for (int v = 0; v < l.block.variables; ++v) mixed.advance(v, p.kind);
    store_tile(l, tile, p.out.at(block));
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

DeviceMixed::DeviceMixed(const BlockLayout& layout, const support::CudaStream& stream)
    : layout_(make_tile_layout_by_variable(layout)), fours_(layout.variables / 4) {
  // As many thread blocks a multiprocessor as keep their tiles in the second-level cache, and threads to fill it.
  constexpr std::size_t kCache = std::size_t{32} << 20, kResident = 2048;
  const int multiprocessors = support::current_device_shape().multiprocessors;
  const std::size_t values = layout_.values() + layout_.chunk_values();
  const std::size_t each = std::clamp<std::size_t>(kCache / (values * sizeof(double) * multiprocessors), 1, 8);
  groups_ = multiprocessors * static_cast<int>(each);
  threads_ = static_cast<int>(std::clamp<std::size_t>(kResident / each, kThreads, kMostThreads)) / 32 * 32;
  const MixedConstants constants = mixed_constants(layout.variables);
  std::vector<double> numbers{constants.a1};
  numbers.insert(numbers.end(), constants.a0.begin(), constants.a0.end());
  constants_.resize_discard(numbers.size());
  support::copy_to_device(constants_.data(), numbers.data(), numbers.size(), stream);
  scratch_.resize_discard(groups_ * values);
  stream.synchronize();
}

void DeviceMixed::launch(std::int64_t stage, const DeviceSurroundings& around, const std::int32_t* blocks, int count,
                         const support::DeviceSlots& out, const support::CudaStream& stream) {
  if (count == 0) return;
  const MixedParameters p{
      layout_, around, blocks, count, constants_.data(), fours_, static_cast<int>(stage % 6), scratch_.data(), out};
  mixed_kernel<<<std::min(count, groups_), threads_, 0, stream.get()>>>(p);
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
