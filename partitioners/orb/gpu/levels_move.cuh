#pragma once
// Kernels of gpu/levels.cuh that part the points of all cells at their cuts, in the order they have: count the
// left points of each tile, add up (prefix sum), move. Points whose cell has become a leaf are written to the results
// instead.
#include "partitioners/orb/gpu/level_kernels.cuh"

namespace amrbench::partitioners::gpu {

/// One block a tile: how many of its points go left, and the cells' coordinates beside their cuts.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_count_kernel(const T* __restrict__ points, LevelCell<T, Dim>* cells, std::uint32_t n_cells,
                       std::uint32_t* __restrict__ left_of_tile) {
  using Key = OrderKey<T>;
  constexpr unsigned kWarps = kLevelThreads / 32;
  __shared__ std::uint32_t counts[kWarps];
  __shared__ Key lasts[kWarps], firsts[kWarps];
  const auto [cell, offset, n, begin] = level_tile(cells, n_cells, blockIdx.x);
  const Parting<T, Dim> parting = cell.parting;  // in registers
  const int axis = cell.axis;
  std::uint32_t count = 0;
  Key last = 0;         // of the left
  Key below_first = 0;  // complement of the right's first, so that both are maxima
  for (std::uint32_t i = threadIdx.x; i < n; i += kLevelThreads) {
    const T* const point = points + (begin + i) * Dim;
    const Key key = ordered_bits(point[axis]);
    if (parting.left(point_at<T, Dim>(point, offset + i), axis)) {
      ++count;
      last = key > last ? key : last;
    } else {
      below_first = Key(~key) > below_first ? Key(~key) : below_first;
    }
  }
  count = __reduce_add_sync(kFull, count);
  last = warp_max(last);
  below_first = warp_max(below_first);
  if (threadIdx.x % 32 == 0) {
    counts[threadIdx.x / 32] = count;
    lasts[threadIdx.x / 32] = last;
    firsts[threadIdx.x / 32] = below_first;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned w = 1; w < kWarps; ++w) {
    count += counts[w];
    last = lasts[w] > last ? lasts[w] : last;
    below_first = firsts[w] > below_first ? firsts[w] : below_first;
  }
  left_of_tile[blockIdx.x] = count;
  atomic_max(&cell.last_left, last);
  atomic_min(&cell.first_right, Key(~below_first));
}

/// What level_move_kernel works on.
template <class T>
struct LevelMove {
  const T* points;
  const std::uint64_t* weights;  ///< null without weights
  const std::uint32_t* ids;
  T* points_out;
  std::uint64_t* weights_out;
  std::uint32_t* ids_out;
  LevelResults<T> results;  ///< of points that reach a leaf
};

/// One block a tile: brings its points to their sides. left_before: left_of_tile's sums before each tile. Points of
/// children that are leaves do not move: they are written to the results instead.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_move_kernel(const LevelMove<T> a, const LevelCell<T, Dim>* cells, std::uint32_t n_cells,
                      const std::uint32_t* __restrict__ left_before) {
  constexpr unsigned kWarps = kLevelThreads / 32;
  constexpr unsigned kStretch = 32 * kLevelItems;  // of a warp
  __shared__ std::uint32_t counts[kWarps];
  const auto [cell, offset, n, begin] = level_tile(cells, n_cells, blockIdx.x);
  const Parting<T, Dim> parting = cell.parting;  // in registers
  const int axis = cell.axis;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t ballots[kLevelItems];
  std::uint32_t mine = 0;
#pragma unroll
  for (unsigned j = 0; j < kLevelItems; ++j) {
    const std::uint32_t i = warp * kStretch + j * 32 + lane;
    const bool left = i < n && parting.left(point_at<T, Dim>(a.points + (begin + i) * Dim, offset + i), axis);
    ballots[j] = __ballot_sync(kFull, left);
    mine += static_cast<unsigned>(__popc(ballots[j]));
  }
  if (lane == 0) counts[warp] = mine;
  __syncthreads();
  std::uint32_t lefts = left_before[blockIdx.x] - left_before[cell.first_tile];  // in the cell, before the warp's
  for (unsigned w = 0; w < warp; ++w) lefts += counts[w];
#pragma unroll
  for (unsigned j = 0; j < kLevelItems; ++j) {
    const std::uint32_t i = warp * kStretch + j * 32 + lane;
    const std::uint32_t before = lefts + static_cast<unsigned>(__popc(ballots[j] & ((1U << lane) - 1U)));
    lefts += static_cast<unsigned>(__popc(ballots[j]));
    if (i >= n) continue;
    const bool left = (ballots[j] >> lane & 1U) != 0U;
    const std::uint32_t place = left ? before : cell.left + (offset + i - before);
    const std::int64_t leaf = cell.leaf[left ? 0 : 1];
    const std::uint32_t id = a.ids[begin + i];
    if (leaf >= 0) {
      a.results.write(cell.out + place, id, static_cast<std::uint32_t>(leaf), a.points + (begin + i) * Dim, Dim);
      continue;
    }
    const std::uint64_t to = std::uint64_t{cell.begin} + place;
    for (int d = 0; d < Dim; ++d) a.points_out[to * Dim + d] = a.points[(begin + i) * Dim + d];
    if (a.weights != nullptr) a.weights_out[to] = a.weights[begin + i];
    a.ids_out[to] = id;
  }
}

}  // namespace amrbench::partitioners::gpu
