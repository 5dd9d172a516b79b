#pragma once
// Kernels of gpu/levels.cuh that search the cuts of a level, all cells at once, exactly. Points of a cell lie
// together, in ascending order of ids; a tile is a stretch of one cell's points that one thread block works on.
//
// A cell's cut is searched for (weight_search.hpp) by passes over its points, each of which narrows a window: the
// points, one after another in rule 1's order, among which the cut must lie. A pass counts and weighs the window's
// points in equal ranges: of the cell's side first, as long as that narrows windows well, else of keys; a key is a
// coordinate's bits as an integer that keeps order. The range in which the sum reaches its target is the next window.
// Where it still has many points, the ranges of their keys are made as narrow as they are, and the next pass goes by
// the first key that is not the same for all: on the cell's axis, on the others, the position. When few points are left
// they are collected and ordered. Sums are integers, so their order does not matter.
//
// Then the points of all cells are parted at their cuts (gpu/level_move.cuh).
#include <cstdint>

#include "partitioners/orb/gpu/candidates.cuh"
#include "partitioners/orb/key_bins.hpp"

namespace amrbench::partitioners::gpu {

constexpr unsigned kLevelThreads = 512;
/// Points of a tile, at most and at least; powers of 2.
constexpr std::uint32_t kLevelTile = 16 * kLevelThreads;
constexpr std::uint32_t kLeastTile = 2 * kLevelThreads;
constexpr unsigned kLevelBins = detail::kBins;
/// The points of a window of at most so many are collected; and those of a cell, without a look at its bins.
constexpr unsigned kLevelFew = 4096;
constexpr unsigned kLevelAtOnce = 1024;
/// Ranges of a side that leave more than a part of so many of a cell's points are of no use below it either.
constexpr unsigned kLevelNarrows = 32;

enum class SearchState : std::uint32_t { narrowing, few, done };

/// A cell that a level cuts.
template <class T, int Dim>
struct LevelCell {
  using Key = OrderKey<T>;
  // What the host says.
  std::uint32_t begin, first_tile, tiles;
  std::uint32_t tile_points;       ///< of each tile but the last
  std::uint32_t candidates_begin;  ///< where its few points are collected
  std::uint64_t out;               ///< where its first point stands in the permutation
  std::int64_t leaf[2];            ///< of the children; -1: no leaf
  std::int32_t axis;
  bool by_value;  ///< the first ranges are those of the side; false for the cells below where these have not served
  WeightGoal goal;
  OrbBox<T, Dim> box;
  // The search, set by start_search().
  SearchState state;
  WeightSearch search;
  KeyWindow<T, Dim> window;
  T scale;                                   ///< of the window's bins, as of KeyBins
  std::uint32_t before, inside, candidates;  ///< points before the window and in it
  std::uint64_t weight_before;
  // The cut.
  std::uint32_t left;
  std::uint64_t weight_left;
  Parting<T, Dim> parting;  ///< id: position
  Key last_left, first_right;
};

/// A tile of a level's cells.
template <class AnyCell>
struct LevelTile {
  AnyCell& cell;
  std::uint32_t offset, n;  ///< where its points begin in the cell, and how many they are
  std::uint64_t begin;      ///< where they begin among all that the level works on
};
/// Tiles of some of a level's cells, one a block.
struct LevelTiles {
  const std::uint32_t* cell_of;  ///< [block]: the tile's cell, among all of the level
  std::uint32_t first_cell, first_tile;
};
template <class AnyCell>
__device__ inline LevelTile<AnyCell> level_tile(AnyCell& cell, std::uint32_t tile) {
  const std::uint32_t offset = (tile - cell.first_tile) * cell.tile_points;
  return {cell, offset, min(cell.tile_points, cell.goal.count - offset), std::uint64_t{cell.begin} + offset};
}
/// The block's. cells: from tiles.first_cell on.
template <class AnyCell>
__device__ inline LevelTile<AnyCell> level_tile(AnyCell* cells, const LevelTiles& tiles) {
  return level_tile(cells[tiles.cell_of[blockIdx.x] - tiles.first_cell], tiles.first_tile + blockIdx.x);
}

/// Calls visit(point, its place in the tile, is there one?) for each point of a tile, in turn by all threads of a warp.
/// Points are read several ahead. points: the tile's, the first of which is at `offset` in its cell.
template <class T, int Dim, class Visit>
__device__ inline void visit_points(const T* __restrict__ points, std::uint32_t offset, std::uint32_t n,
                                    const Visit& visit) {
  constexpr unsigned kAhead = 16 / sizeof(T);
  for (std::uint32_t first = threadIdx.x; first - threadIdx.x < n; first += kAhead * kLevelThreads) {
    OrbPoint<T, Dim> p[kAhead] = {};
#pragma unroll
    for (unsigned j = 0; j < kAhead; ++j)
      if (const std::uint32_t i = first + j * kLevelThreads; i < n)
        p[j] = point_at<T, Dim>(points + i * Dim, offset + i);
#pragma unroll
    for (unsigned j = 0; j < kAhead; ++j) {
      const std::uint32_t i = first + j * kLevelThreads;
      visit(p[j], i, i < n);
    }
  }
}

template <class T, int Dim>
__device__ inline void start_search(LevelCell<T, Dim>& cell, const WeightSearch& search) {
  cell.search = search;
  cell.before = 0;
  cell.weight_before = 0;
  cell.inside = cell.goal.count;
  cell.candidates = 0;
  cell.state = cell.inside <= kLevelAtOnce ? SearchState::few : SearchState::narrowing;
  cell.window.open();
  for (int k = 0; k < Dim; ++k) {
    const int axis = axis_of_stage<T, Dim>(cell.axis, k);
    cell.window.low[k] = ordered_bits(cell.box.lower[axis]);
    cell.window.high[k] = ordered_bits(cell.box.upper[axis]);
  }
  cell.window.high[Dim] = cell.goal.count - 1;
  cell.scale = cell.by_value ? detail::value_scale(cell.box.lower[cell.axis], cell.box.upper[cell.axis]) : T(0);
}

/// Of the first key that is not the same for all points of the window.
template <class T, int Dim>
__device__ inline detail::KeyBins<T, OrderKey<T>> bins_of(const LevelCell<T, Dim>& cell, int k) {
  return {cell.window.low[k], cell.window.high[k], k == 0 ? cell.scale : T(0)};
}

/// Points that a level works on, cell by cell.
template <class T>
struct LevelColumns {
  T* points;
  std::uint64_t* weights;  ///< null without weights
  std::uint32_t* ids;      ///< null: a point's id is its place, or nobody asks
};

/// Points to cut, cell by cell.
template <class T>
struct LevelPoints {
  T* points;
  std::uint64_t* weights;  ///< by number; null: the target of a cut is a count
  std::uint32_t* numbers;  ///< of the points, ascending within a cell; null: those of their places
  bool all;                ///< all of them are to be cut: none is copied before the first move
  bool scratch;            ///< with `all`: points and numbers may be overwritten
};

/// Where points go that reached a leaf; each may be null.
template <class T>
struct LevelResults {
  T* points;
  std::uint32_t* permutation;
  std::uint32_t* labels;

  __device__ void write(std::uint64_t place, std::uint32_t id, std::uint32_t leaf, const T* __restrict__ point,
                        int dim) const {
    if (points != nullptr)
      for (int d = 0; d < dim; ++d) points[place * dim + d] = point[d];
    if (permutation != nullptr) permutation[place] = id;
    if (labels != nullptr) labels[id] = leaf;
  }
};

/// Points, weights and numbers of the cells that are to be cut, one after another; what is null in `out` is not
/// wanted.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_gather_kernel(const LevelPoints<T> a, const LevelCell<T, Dim>* cells, std::uint32_t n_cells,
                        const LevelColumns<T> out) {
  const auto [cell, offset, n, begin] = level_tile(cells[cell_of_tile(cells, n_cells, blockIdx.x)], blockIdx.x);
  for (std::uint32_t i = threadIdx.x; i < n; i += kLevelThreads) {
    const std::uint64_t from = cell.out + offset + i;
    const std::uint64_t to = begin + i;
    const std::uint32_t id = a.numbers != nullptr ? a.numbers[from] : static_cast<std::uint32_t>(from);
    if (out.points != nullptr)
      for (int d = 0; d < Dim; ++d) out.points[to * Dim + d] = a.points[from * Dim + d];
    if (out.weights != nullptr) out.weights[to] = a.weights[id];
    if (out.ids != nullptr) out.ids[to] = id;
  }
}

/// Starts the searches of n cells, and says which cell each of their tiles is of.
template <class T, int Dim>
__global__ void level_start_kernel(LevelCell<T, Dim>* cells, std::uint32_t n, std::uint32_t* cell_of,
                                   std::uint32_t tiles) {
  const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < tiles) cell_of[c] = cell_of_tile(cells, n, c);
  if (c >= n) return;
  start_search(cells[c], first_search(cells[c].goal));
  cells[c].last_left = 0;
  cells[c].first_right = ~OrderKey<T>{0};
}

/// One block a tile of the batch's cells: points and weights (null: none) of the bins of their windows.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_histogram_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ weights,
                           const LevelCell<T, Dim>* cells, const LevelTiles tiles, std::uint32_t* bin_counts,
                           std::uint64_t* bin_weights) {
  __shared__ std::uint32_t counts[kLevelBins], low[kLevelBins], high[kLevelBins];
  const auto [cell, offset, n, begin] = level_tile(cells, tiles);
  if (cell.state != SearchState::narrowing) return;
  for (unsigned b = threadIdx.x; b < kLevelBins; b += kLevelThreads) counts[b] = low[b] = high[b] = 0;
  __syncthreads();
  const KeyWindow<T, Dim> window = cell.window;  // in registers
  const int axis = cell.axis;
  const int k = window.first_key();
  const auto ranges = bins_of(cell, k);
  const std::uint64_t* const tile_weights = weights != nullptr ? weights + begin : nullptr;
  visit_points<T, Dim>(points + begin * Dim, offset, n, [&](const OrbPoint<T, Dim>& p, std::uint32_t i, bool there) {
    if (!there || !window.has(p, axis, k)) return;
    const unsigned bin = ranges.bin(OrderKeys<T, Dim>::key_of(p, axis, k));
    atomicAdd(&counts[bin], 1U);
    if (tile_weights != nullptr) add_in_two_words(&low[bin], &high[bin], tile_weights[i]);
  });
  __syncthreads();
  const std::uint64_t bins = (&cell - cells) * std::uint64_t{kLevelBins};
  for (unsigned b = threadIdx.x; b < kLevelBins; b += kLevelThreads) {
    if (counts[b] == 0) continue;
    atomicAdd(&bin_counts[bins + b], counts[b]);
    if (weights != nullptr) add_weight(&bin_weights[bins + b], (std::uint64_t{high[b]} << 32U) | low[b]);
  }
}

/// Narrows the window to these bins; called by one thread.
template <class T, int Dim>
__device__ inline void narrow(LevelCell<T, Dim>& cell, std::uint32_t first, std::uint32_t last, std::uint32_t points) {
  const int k = cell.window.first_key();
  const auto ranges = bins_of(cell, k);
  cell.window.low[k] = ranges.first(first);
  cell.window.high[k] = ranges.first(last + 1) - 1;
  if (cell.scale > 0) cell.by_value = points <= max(kLevelFew, cell.goal.count / kLevelNarrows);
  cell.scale = 0;
  cell.inside = points;
  if (points > kLevelFew) return;
  cell.state = SearchState::few;
  cell.candidates = 0;
}

/// One block a cell of the batch: finds the bin in which its search ends. Leaves the bins zero. bin_weights: null
/// without weights.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    level_find_bin_kernel(LevelCell<T, Dim>* cells, std::uint32_t* bin_counts, std::uint64_t* bin_weights) {
  __shared__ CutBins found;
  LevelCell<T, Dim>& cell = cells[blockIdx.x];
  if (cell.state != SearchState::narrowing) return;
  std::uint32_t* const bins = bin_counts + std::uint64_t{blockIdx.x} * kLevelBins;
  std::uint64_t* const bin_sums =
      bin_weights != nullptr ? bin_weights + std::uint64_t{blockIdx.x} * kLevelBins : nullptr;
  find_cut_bins({bins, bin_sums}, kLevelBins, cell.search, cell.goal.unit(), {cell.before, cell.weight_before},
                kLevelFew, &found);
  if (threadIdx.x == 0 && found.inside > 0) {
    cell.before = found.before.count;
    cell.weight_before = found.before.weight;
    narrow(cell, found.first, found.last, found.inside);
  }
  for (unsigned b = threadIdx.x; b < kLevelBins; b += kCutThreads) {
    bins[b] = 0;
    if (bin_sums != nullptr) bin_sums[b] = 0;
  }
}

/// One block a tile: positions of the points in windows of few; how narrow the other windows' ranges may be.
template <class T, int Dim>
__global__ void __launch_bounds__(kLevelThreads)
    level_collect_kernel(const T* __restrict__ points, LevelCell<T, Dim>* cells, const LevelTiles tiles,
                         std::uint32_t* __restrict__ candidates) {
  const auto [cell, offset, n, begin] = level_tile(cells, tiles);
  if (cell.state == SearchState::done) return;
  const KeyWindow<T, Dim> window = cell.window;  // in registers
  const int axis = cell.axis;
  const int k = window.first_key();
  if (cell.state == SearchState::narrowing) {
    KeyFit<T, Dim> fit;
    visit_points<T, Dim>(points + begin * Dim, offset, n, [&](const OrbPoint<T, Dim>& p, std::uint32_t, bool there) {
      if (there && window.has(p, axis, k)) fit.add(p, axis);
    });
    fit.give(cell.window);
    return;
  }
  const std::uint32_t to = cell.candidates_begin;
  const unsigned lane = threadIdx.x % 32;
  visit_points<T, Dim>(points + begin * Dim, offset, n, [&](const OrbPoint<T, Dim>& p, std::uint32_t i, bool there) {
    const bool inside = there && window.has(p, axis, k);
    const unsigned with = __ballot_sync(kFull, inside);
    if (with == 0) return;
    std::uint32_t place = lane == 0 ? atomicAdd(&cell.candidates, static_cast<unsigned>(__popc(with))) : 0;
    place = __shfl_sync(kFull, place, 0) + static_cast<unsigned>(__popc(with & ((1U << lane) - 1U)));
    if (inside && place < kLevelFew) candidates[to + place] = offset + i;
  });
}

/// The points of a cell's window.
template <class T, int Dim>
struct LevelCandidates {
  const T* points;  ///< the cell's
  const std::uint64_t* weights;
  const std::uint32_t* positions;

  __device__ OrbPoint<T, Dim> point(std::uint32_t i) const {
    return point_at<T, Dim>(points + std::uint64_t{positions[i]} * Dim, positions[i]);
  }
  __device__ std::uint64_t weight(std::uint32_t i) const { return weights != nullptr ? weights[positions[i]] : 0; }
};

/// One block a cell of the batch whose window has few points: finds the cut among them. unfinished: becomes 1 where a
/// cell is not done.
template <class T, int Dim>
__global__ void __launch_bounds__(kCutThreads)
    level_select_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ weights,
                        LevelCell<T, Dim>* cells, const std::uint32_t* __restrict__ candidates,
                        std::uint32_t* unfinished) {
  __shared__ FewCandidates<T, Dim> few;
  __shared__ FoundCut<T, Dim> cut;
  LevelCell<T, Dim>& cell = cells[blockIdx.x];
  if (cell.state == SearchState::narrowing && threadIdx.x <= Dim) cell.window.take_fit(static_cast<int>(threadIdx.x));
  if (cell.state == SearchState::few) {
    const LevelCandidates<T, Dim> all{points + std::uint64_t{cell.begin} * Dim,
                                      weights != nullptr ? weights + cell.begin : nullptr,
                                      candidates + cell.candidates_begin};
    find_parting<kCutThreads>(all, min(cell.candidates, kLevelFew), cell.axis, cell.goal, cell.search,
                              {cell.before, cell.weight_before}, few, &cut);
    if (threadIdx.x == 0 && cut.again) start_search(cell, cut.search);
    if (threadIdx.x == 0 && cut.found) {
      cell.left = cut.left.count;
      cell.weight_left = cut.left.weight;
      cell.parting = cut.parting;
      cell.state = SearchState::done;
    }
  }
  if (threadIdx.x == 0 && cell.state != SearchState::done) *unfinished = 1;
}

}  // namespace amrbench::partitioners::gpu
