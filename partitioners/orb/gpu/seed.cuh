#pragma once
// The document's bisection on a GPU (document 000, 6.4-6.6), to compare with. Internal to OrbGpu.
//
// All cuts of a level are bisected by passes that count the points below a guess, over a column of the cut coordinates,
// until few points are left between two guesses. What follows is Levels' way: it orders those few, and parts the
// points. The counting kernels are the document's. What differs: values and counts have the types that 2^32 points
// need, and a search ends as soon as few points are left between the guesses, so that the cuts are exact.
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/orb/gpu/level_kernels.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/steps.hpp"
#include "support/cuda.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners::gpu {

/// Which of the document's kernels counts.
enum class SeedKernel {
  cells,  ///< one launch a cell, reduction in shared memory (6.4, listing 9)
  level,  ///< one launch for all cells of a level (6.5, listing 10)
  warp,   ///< the same, reduction by warp primitives (6.6, listing 11)
};

/// The kernel of a method; none for multiway. InputError for a method that does not exist.
inline std::optional<SeedKernel> seed_kernel(std::string_view method) {
  if (method == "multiway") return std::nullopt;
  if (method == "seed-cells") return SeedKernel::cells;
  if (method == "seed-level") return SeedKernel::level;
  if (method == "seed-warp") return SeedKernel::warp;
  throw support::InputError("no GPU method of ORB is called \"" + std::string(method) +
                            "\"; there are multiway, seed-cells, seed-level and seed-warp");
}

/// A cell's search: the first right point lies above `below` and at `above` or below it.
template <class T>
struct SeedBracket {
  T below, above, guess;
  std::uint32_t count_below, count_above;  ///< points at these values or below
  std::uint32_t target;                    ///< points that go left
  bool searching;

  /// False: few points are left in between, or no value is.
  bool next_guess() {
    guess = T(0.5) * below + T(0.5) * above;
    return searching = searching && count_above - count_below > kLevelFew && guess > below && guess < above;
  }
  void learn(std::uint32_t left) {
    if (!searching) return;
    (left <= target ? below : above) = guess;
    (left <= target ? count_below : count_above) = left;
  }
};

constexpr unsigned kSeedThreads = 256;

/// Sum over the block, in thread 0: halves in shared memory down to a warp.
__device__ inline std::uint32_t block_sum_by_halves(std::uint32_t value) {
  __shared__ std::uint32_t sums[kSeedThreads];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kSeedThreads / 2; half >= 32; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  return threadIdx.x < 32 ? __reduce_add_sync(kFull, sums[threadIdx.x]) : 0;
}

/// The same: each warp by itself, then the warps' sums.
__device__ inline std::uint32_t block_sum_by_warps(std::uint32_t value) {
  __shared__ std::uint32_t sums[kSeedThreads / 32];
  value = __reduce_add_sync(kFull, value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  return __reduce_add_sync(kFull, threadIdx.x < kSeedThreads / 32 ? sums[threadIdx.x] : 0);
}

/// Listings 9 to 11: a block counts one stretch of a cell; sums go to the cell's counter.
template <class T, int Dim, bool Warp>
__global__ void __launch_bounds__(kSeedThreads)
    count_left_kernel(const T* __restrict__ column, const LevelCell<T, Dim>* cells, const LevelTiles tiles,
                      const SeedBracket<T>* brackets, std::uint32_t* counts) {
  const auto [cell, offset, n, begin] = level_tile(cells, tiles);
  const std::ptrdiff_t c = &cell - cells;
  const T* const values = column + begin;
  const T guess = brackets[c].guess;
  std::uint32_t mine = 0;
  for (std::uint32_t i = threadIdx.x; i < n; i += kSeedThreads) mine += values[i] <= guess ? 1U : 0U;
  const std::uint32_t sum = Warp ? block_sum_by_warps(mine) : block_sum_by_halves(mine);
  if (threadIdx.x == 0) atomicAdd(&counts[c], sum);
}

/// The document's "make axis": the cut coordinate of every point as a column.
template <class T, int Dim>
__global__ void __launch_bounds__(kSeedThreads)
    make_axis_kernel(const T* __restrict__ points, const LevelCell<T, Dim>* cells, const LevelTiles tiles,
                     T* __restrict__ column) {
  const auto [cell, offset, n, begin] = level_tile(cells, tiles);
  const int axis = cell.axis;
  for (std::uint32_t i = threadIdx.x; i < n; i += kSeedThreads) column[begin + i] = points[(begin + i) * Dim + axis];
}

/// The cells' windows: what lies between the last two guesses. One thread a cell.
template <class T, int Dim>
__global__ void set_windows_kernel(const SeedBracket<T>* brackets, LevelCell<T, Dim>* cells, std::uint32_t n) {
  const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= n) return;
  LevelCell<T, Dim>& cell = cells[c];
  const SeedBracket<T> bracket = brackets[c];
  if (bracket.count_below > 0) cell.window.low[0] = ordered_bits(bracket.below) + 1;
  cell.window.high[0] = ordered_bits(bracket.above);
  cell.scale = 0;
  cell.before = bracket.count_below;
  cell.inside = bracket.count_above - bracket.count_below;
  cell.state = cell.inside <= kLevelFew ? SearchState::few : SearchState::narrowing;
}

template <class T, int Dim>
class SeedSearch {
 public:
  SeedSearch(SeedKernel kernel, const support::CudaStream& stream) : kernel_(kernel), stream_(stream) {}

  /// Narrows the windows of a level's cells, which are on the host and on the device, their searches just started.
  /// points: all that the level works on. tiles: of all cells; cell_of: theirs, on the device.
  void narrow(const T* points, std::span<const LevelCell<T, Dim>> cells, const std::uint32_t* cell_of,
              std::uint32_t tiles, LevelCell<T, Dim>* on_device, OrbGpuTimes& times) {
    const auto n = static_cast<std::uint32_t>(cells.size());
    brackets_.clear();
    for (const LevelCell<T, Dim>& cell : cells) {
      const auto axis = static_cast<std::size_t>(cell.axis);
      brackets_.push_back({std::nextafter(cell.box.lower[axis], -std::numeric_limits<T>::infinity()),
                           cell.box.upper[axis], 0, 0, cell.goal.count, cell.goal.unit(), true});
    }
    device_brackets_.resize_discard(n);
    column_.resize_discard(std::size_t{cells.back().begin} + cells.back().goal.count);
    make_axis_kernel<T, Dim>
        <<<tiles, kSeedThreads, 0, stream_.get()>>>(points, on_device, {cell_of, 0, 0}, column_.data());
    cuda_check_launch("make_axis_kernel");
    for (;;) {
      bool any = false;
      for (SeedBracket<T>& bracket : brackets_) any = bracket.next_guess() || any;
      if (!any) break;
      ++times.passes;
      count(cells, cell_of, tiles, on_device);
      for (std::uint32_t c = 0; c < n; ++c) brackets_[c].learn(left_[c]);
    }
    copy_to_device(device_brackets_.data(), brackets_.data(), n, stream_);
    set_windows_kernel<<<blocks_of(n, 128), 128, 0, stream_.get()>>>(device_brackets_.data(), on_device, n);
    cuda_check_launch("set_windows_kernel");
    stream_.synchronize();
  }

 private:
  /// Points at the cells' guesses or below.
  void count(std::span<const LevelCell<T, Dim>> cells, const std::uint32_t* cell_of, std::uint32_t tiles,
             const LevelCell<T, Dim>* on_device) {
    clear(counts_, cells.size(), stream_);
    copy_to_device(device_brackets_.data(), brackets_.data(), brackets_.size(), stream_);
    const bool warp = kernel_ == SeedKernel::warp;
    const auto kernel = warp ? count_left_kernel<T, Dim, true> : count_left_kernel<T, Dim, false>;
    const auto launch = [&](std::size_t first, std::uint32_t grid) {
      const std::uint32_t first_tile = cells[first].first_tile;
      kernel<<<grid, kSeedThreads, 0, stream_.get()>>>(
          column_.data(), on_device + first, {cell_of + first_tile, static_cast<std::uint32_t>(first), first_tile},
          device_brackets_.data() + first, counts_.data() + first);
    };
    if (kernel_ != SeedKernel::cells) launch(0, tiles);
    for (std::size_t c = 0; kernel_ == SeedKernel::cells && c < cells.size(); ++c)
      if (brackets_[c].searching) launch(c, cells[c].tiles);
    cuda_check_launch("count_left_kernel");
    left_.resize(cells.size());
    copy_to_host(left_.data(), counts_.data(), cells.size(), stream_);
    stream_.synchronize();
  }

  SeedKernel kernel_;
  const support::CudaStream& stream_;
  std::vector<SeedBracket<T>> brackets_;  ///< [cell]
  std::vector<std::uint32_t> left_;       ///< points at a cell's guess or below
  support::DeviceBuffer<SeedBracket<T>> device_brackets_;
  support::DeviceBuffer<std::uint32_t> counts_;
  support::DeviceBuffer<T> column_;
};

}  // namespace amrbench::partitioners::gpu
