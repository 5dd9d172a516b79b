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

/// A part of a tile in shared memory, and where its points go.
template <class T>
struct LevelPart {
  const T* values;
  const std::uint16_t* order;  ///< its points, those that go left first
  std::uint32_t n, n_left;
  std::uint64_t from;         ///< where it begins among all points
  std::uint32_t left, right;  ///< place in the cell, less that in the part, of those on either side

  [[nodiscard]] __device__ unsigned side(std::uint32_t p) const { return p < n_left ? 0 : 1; }
  [[nodiscard]] __device__ std::uint64_t place(std::uint32_t p) const { return p + (p < n_left ? left : right); }
};

/// Called by the block; neighbours in order are written together.
template <class T, int Dim>
__device__ inline void write_part(const LevelMove<T>& a, const LevelCell<T, Dim>& cell, const LevelPart<T>& part) {
  const bool leaf[2] = {cell.leaf[0] >= 0, cell.leaf[1] >= 0};
  for (std::uint32_t k = threadIdx.x; k < part.n * Dim; k += kLevelThreads) {
    const std::uint32_t p = k / Dim;
    const bool out = leaf[part.side(p)];
    T* const to = out ? a.results.points : a.points_out;
    if (to == nullptr) continue;
    to[((out ? cell.out : cell.begin) + part.place(p)) * Dim + k % Dim] = part.values[part.order[p] * Dim + k % Dim];
  }
  for (std::uint32_t p = threadIdx.x; p < part.n; p += kLevelThreads) {
    const std::uint32_t id = a.ids[part.from + part.order[p]];
    if (leaf[part.side(p)]) {
      if (a.results.permutation != nullptr) a.results.permutation[cell.out + part.place(p)] = id;
      if (a.results.labels != nullptr) a.results.labels[id] = static_cast<std::uint32_t>(cell.leaf[part.side(p)]);
      continue;
    }
    a.ids_out[cell.begin + part.place(p)] = id;
    if (a.weights != nullptr) a.weights_out[cell.begin + part.place(p)] = a.weights[part.from + part.order[p]];
  }
}

/// One block a tile: brings its points to their sides, a part of them at a time, sorted in shared memory so that what
/// is written lies together. left_before: left_of_tile's sums before each tile. Points of children that are leaves do
/// not move: they are written to the results instead.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_move_kernel(const LevelMove<T> a, const LevelCell<T, Dim>* cells, std::uint32_t n_cells,
                      const std::uint32_t* __restrict__ left_before) {
  constexpr unsigned kWarps = kLevelThreads / 32;
  constexpr unsigned kEach = 16 / sizeof(T);  // of a thread
  constexpr unsigned kPart = kEach * kLevelThreads;
  __shared__ T values[kPart * Dim];
  __shared__ std::uint16_t order[kPart];
  __shared__ std::uint32_t counts[kWarps];
  const auto [cell, offset, n, begin] = level_tile(cells, n_cells, blockIdx.x);
  const Parting<T, Dim> parting = cell.parting;  // in registers
  const int axis = cell.axis;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t lefts = left_before[blockIdx.x] - left_before[cell.first_tile];  // in the cell, before the part
  for (std::uint32_t part = 0; part < n; part += kPart) {
    const std::uint32_t m = min(kPart, n - part);
    const std::uint64_t from = begin + part;
    for (std::uint32_t k = threadIdx.x; k < m * Dim; k += kLevelThreads) values[k] = a.points[from * Dim + k];
    __syncthreads();
    std::uint32_t ballots[kEach];
    std::uint32_t mine = 0;
#pragma unroll
    for (unsigned j = 0; j < kEach; ++j) {
      const std::uint32_t i = (warp * kEach + j) * 32 + lane;
      const bool left = i < m && parting.left(point_at<T, Dim>(values + i * Dim, offset + part + i), axis);
      ballots[j] = __ballot_sync(kFull, left);
      mine += static_cast<unsigned>(__popc(ballots[j]));
    }
    if (lane == 0) counts[warp] = mine;
    __syncthreads();
    std::uint32_t before = 0, all = 0;
    for (unsigned w = 0; w < kWarps; ++w) {
      if (w == warp) before = all;
      all += counts[w];
    }
#pragma unroll
    for (unsigned j = 0; j < kEach; ++j) {
      const std::uint32_t i = (warp * kEach + j) * 32 + lane;
      const std::uint32_t mine_before = before + static_cast<unsigned>(__popc(ballots[j] & ((1U << lane) - 1U)));
      before += static_cast<unsigned>(__popc(ballots[j]));
      const bool left = (ballots[j] >> lane & 1U) != 0U;
      if (i < m) order[left ? mine_before : all + i - mine_before] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
    write_part<T, Dim>(a, cell, {values, order, m, all, from, lefts, cell.left + (offset + part - lefts) - all});
    lefts += all;
    __syncthreads();
  }
}

}  // namespace amrbench::partitioners::gpu
