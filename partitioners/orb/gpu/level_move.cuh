#pragma once
// Kernels of gpu/levels.cuh that part the points of a level at cuts that are known (gpu/level_kernels.cuh): count the
// left points of each tile, add up (prefix sum, gpu/steps.hpp), move. Stable: points keep the order they have. Those
// whose cell has become a leaf are written to the results instead.
#include "partitioners/orb/gpu/level_kernels.cuh"

namespace amrbench::partitioners::gpu {

/// One block a tile: how many of its points go left, and the cells' coordinates beside their cuts.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_count_kernel(const T* __restrict__ points, LevelCell<T, Dim>* cells, const LevelTiles tiles,
                       std::uint32_t* __restrict__ left_of_tile) {
  using Key = OrderKey<T>;
  constexpr unsigned kWarps = kLevelThreads / 32;
  __shared__ std::uint32_t counts[kWarps];
  __shared__ Key lasts[kWarps], firsts[kWarps];
  const auto [cell, offset, n, begin] = level_tile(cells, tiles);
  const Parting<T, Dim> parting = cell.parting;  // in registers
  const int axis = cell.axis;
  std::uint32_t count = 0;
  Key last = 0;         // of the left
  Key below_first = 0;  // complement of the right's first, so that both are maxima
  visit_points<T, Dim>(points + begin * Dim, offset, n, [&](const OrbPoint<T, Dim>& p, std::uint32_t, bool there) {
    if (!there) return;
    const Key key = OrderKeys<T, Dim>::key_of(p, axis, 0);
    if (parting.left(p, axis)) {
      ++count;
      last = key > last ? key : last;
    } else {
      below_first = Key(~key) > below_first ? Key(~key) : below_first;
    }
  });
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

/// What level_move_kernel works on. results: of points that reach a leaf.
template <class T>
struct LevelMove {
  LevelColumns<T> from, to;
  LevelResults<T> results;
};

/// Points that a block moves together.
template <class T>
constexpr unsigned kLevelPart = 16 / sizeof(T) * kLevelThreads;

/// Shared memory of level_move_kernel: while a part of a tile is written the next one comes.
template <class T, int Dim>
struct LevelMoveShared {
  T raw[2][kLevelPart<T> * Dim + kRawRoom<T>];
  std::uint64_t arrived[2];
  std::uint32_t counts[kLevelThreads / 32];
  std::uint16_t order[kLevelPart<T>];
};

/// A part of a tile in shared memory, and where its points go.
template <class T>
struct LevelPart {
  const T* values;
  const std::uint16_t* order;  ///< its points, those that go left first
  std::uint32_t n, n_left;
  std::uint64_t from;         ///< where it begins among all points
  std::uint32_t left, right;  ///< place in the cell, less that in the part, of those on either side
};

/// Called by the block; neighbours in order are written together.
template <class T, int Dim>
__device__ inline void write_part(const LevelMove<T>& a, const LevelCell<T, Dim>& cell, const LevelPart<T>& part) {
  const bool leaf_left = cell.leaf[0] >= 0, leaf_right = cell.leaf[1] >= 0;
  const std::uint64_t to_left = (leaf_left ? cell.out : cell.begin) + part.left;
  const std::uint64_t to_right = (leaf_right ? cell.out : cell.begin) + part.right;
  const auto points_of = [&](bool leaf, std::uint64_t to) {
    T* const points = leaf ? a.results.points : a.to.points;
    return points != nullptr ? points + to * Dim : nullptr;
  };
  T* const left = points_of(leaf_left, to_left);
  T* const right = points_of(leaf_right, to_right);
#pragma unroll 4
  for (std::uint32_t k = threadIdx.x; k < part.n * Dim; k += kLevelThreads) {
    const std::uint32_t p = k / Dim;
    T* const to = p < part.n_left ? left : right;
    if (to != nullptr) to[k] = part.values[(part.order[p] - p) * Dim + k];
  }
  if (a.from.weights == nullptr && a.to.ids == nullptr) return;
  for (std::uint32_t p = threadIdx.x; p < part.n; p += kLevelThreads) {
    const bool is_left = p < part.n_left;
    const bool leaf = is_left ? leaf_left : leaf_right;
    const std::uint64_t to = p + (is_left ? to_left : to_right);
    const std::uint64_t at = part.from + part.order[p];
    if (a.from.weights != nullptr && !leaf) a.to.weights[to] = a.from.weights[at];
    if (a.to.ids == nullptr) continue;
    const std::uint32_t id = a.from.ids != nullptr ? a.from.ids[at] : static_cast<std::uint32_t>(at);
    if (!leaf) {
      a.to.ids[to] = id;
      continue;
    }
    if (a.results.permutation != nullptr) a.results.permutation[to] = id;
    if (a.results.labels != nullptr) a.results.labels[id] = static_cast<std::uint32_t>(cell.leaf[is_left ? 0 : 1]);
  }
}

/// Puts a part's points in order by sides. Returns how many go left. All threads call.
template <class T, int Dim>
__device__ inline std::uint32_t order_part(const T* values, std::uint32_t offset, std::uint32_t n, int axis,
                                           const Parting<T, Dim>& parting, LevelMoveShared<T, Dim>& shared) {
  constexpr unsigned kEach = kLevelPart<T> / kLevelThreads;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t ballots[kEach];
  std::uint32_t mine = 0;
#pragma unroll
  for (unsigned j = 0; j < kEach; ++j) {
    const std::uint32_t i = (warp * kEach + j) * 32 + lane;
    const bool left = i < n && parting.left(point_at<T, Dim>(values + i * Dim, offset + i), axis);
    ballots[j] = __ballot_sync(kFull, left);
    mine += static_cast<unsigned>(__popc(ballots[j]));
  }
  if (lane == 0) shared.counts[warp] = mine;
  __syncthreads();
  std::uint32_t before = 0, all = 0;
#pragma unroll
  for (unsigned w = 0; w < kLevelThreads / 32; ++w) {
    if (w == warp) before = all;
    all += shared.counts[w];
  }
#pragma unroll
  for (unsigned j = 0; j < kEach; ++j) {
    const std::uint32_t i = (warp * kEach + j) * 32 + lane;
    const std::uint32_t mine_before = before + static_cast<unsigned>(__popc(ballots[j] & ((1U << lane) - 1U)));
    before += static_cast<unsigned>(__popc(ballots[j]));
    const bool left = (ballots[j] >> lane & 1U) != 0U;
    if (i < n) shared.order[left ? mine_before : all + i - mine_before] = static_cast<std::uint16_t>(i);
  }
  __syncthreads();
  return all;
}

/// One block a tile: brings its points to their sides, a part of them at a time, sorted in shared memory so that what
/// is written lies together. left_before: left_of_tile's sums before each tile. Points of children that are leaves do
/// not move: they are written to the results instead.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_move_kernel(const LevelMove<T> a, const LevelCell<T, Dim>* cells, const LevelTiles tiles,
                      const std::uint32_t* __restrict__ left_before) {
  constexpr std::uint32_t kPart = kLevelPart<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<LevelMoveShared<T, Dim>*>(memory);
  const auto [cell, offset, n, begin] = level_tile(cells, tiles);
  const T* const points = a.from.points + begin * Dim;
  const T* values[2] = {};
  for (unsigned k = 0; k < 2; ++k) {
    start_arrivals(&shared.arrived[k]);
    if (k * kPart < n)
      values[k] =
          ask_for_values(shared.raw[k], points + k * kPart * Dim, min(kPart, n - k * kPart) * Dim, &shared.arrived[k]);
  }
  const Parting<T, Dim> parting = cell.parting;  // in registers
  const int axis = cell.axis;
  std::uint32_t lefts = left_before[blockIdx.x] - left_before[cell.first_tile];  // in the cell, before the part
  __syncthreads();
  for (std::uint32_t part = 0; part * kPart < n; ++part) {
    const std::uint32_t first = part * kPart;
    const std::uint32_t m = min(kPart, n - first);
    const unsigned k = part % 2;
    wait_for_values(&shared.arrived[k], part / 2 % 2);
    const T* const here = k == 0 ? values[0] : values[1];
    const std::uint32_t all = order_part<T, Dim>(here, offset + first, m, axis, parting, shared);
    write_part<T, Dim>(a, cell,
                       {here, shared.order, m, all, begin + first, lefts, cell.left + (offset + first - lefts) - all});
    lefts += all;
    release_values();
    __syncthreads();
    const std::uint32_t next = first + 2 * kPart;
    if (next < n) ask_for_values(shared.raw[k], points + next * Dim, min(kPart, n - next) * Dim, &shared.arrived[k]);
  }
}

}  // namespace amrbench::partitioners::gpu
