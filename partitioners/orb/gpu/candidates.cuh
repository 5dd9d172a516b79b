#pragma once
// How one thread block finds a node's cut among its candidates: the points in a few bins of its bracket, in no order,
// with weights or without (gpu/first_round/resolve.cuh); or, level by level, the points of its window
// (gpu/level_kernels.cuh).
//
// Few candidates are ordered by comparing each with all others, and the cut is read off their weights in that order
// (weight_search.hpp). Many are narrowed down first, by a bin a thread at a time of the first key that tells them
// apart: the coordinate on the axis, the other coordinates, the point's number.
#include <bit>

#include "partitioners/orb/gpu/cut.cuh"

namespace amrbench::partitioners::gpu {

/// Candidates that are ordered by comparisons.
constexpr std::uint32_t kFewCandidates = 128;

/// What rule 1 compares one after another: the coordinate on the axis, the others, the point's own number.
template <class T, int Dim>
struct alignas(4 * sizeof(OrderKey<T>)) OrderKeys {
  using Key = OrderKey<T>;
  static constexpr int kKeys = Dim + 1;
  Key key[kKeys];

  __device__ static Key key_of(const OrbPoint<T, Dim>& p, int axis, int k) {
    if (k == Dim) return static_cast<Key>(p.id);
    return ordered_bits(coordinate_on(p, axis_of_stage<T, Dim>(axis, k)));
  }
  /// As orb_before(), without a branch.
  __device__ bool before(const OrderKeys& other) const {
    bool less = false;
#pragma unroll
    for (int k = kKeys - 1; k >= 0; --k) less = key[k] < other.key[k] || (key[k] == other.key[k] && less);
    return less;
  }
};

/// They, in shared memory.
template <class T, int Dim>
struct FewCandidates {
  OrbPoint<T, Dim> points[kFewCandidates];
  OrderKeys<T, Dim> keys[kFewCandidates];
  std::uint64_t weights[kFewCandidates];
  std::uint64_t sorted_weights[kFewCandidates];
  std::uint32_t ranks[kFewCandidates];
  std::uint16_t order[kFewCandidates];
  std::uint32_t size;
};

/// f(i, point) of each candidate, by a block; a thread has several under way. To tell where they lie costs a load, too.
template <unsigned Threads, class T, int Dim, class Candidates, class F>
__device__ inline void for_candidates(const Candidates& all, std::uint32_t n, const F& f) {
  constexpr std::uint32_t kEach = 4;
  for (std::uint32_t first = threadIdx.x; first < n; first += kEach * Threads) {
    OrbPoint<T, Dim> p[kEach];
#pragma unroll
    for (std::uint32_t j = 0; j < kEach; ++j) p[j] = all.point(min(first + j * Threads, n - 1));
#pragma unroll
    for (std::uint32_t j = 0; j < kEach; ++j)
      if (first + j * Threads < n) f(first + j * Threads, p[j]);
  }
}

/// A cut, in shared memory.
template <class T, int Dim>
struct FoundCut {
  using Key = OrderKey<T>;
  bool found;
  bool again;           ///< not found: another search has to go over the whole cell
  WeightSearch search;  ///< that one
  Parting<T, Dim> parting;
  CountAndWeight left;         ///< of the cell, what goes left
  Key last_left, below_first;  ///< keys beside the plane; the second is a complement, so that both are maxima
  T plane;
};

/// A stretch of points in the order of rule 1 along an axis: the ranges of their keys. The first key that is not the
/// same for all of them says how they stand.
template <class T, int Dim>
struct KeyWindow {
  using Key = OrderKey<T>;
  static constexpr int kKeys = OrderKeys<T, Dim>::kKeys;
  Key low[kKeys], high[kKeys];            ///< both inclusive
  Key next_low[kKeys], next_high[kKeys];  ///< of the points that were told to a KeyFit

  /// k: first_key(); those behind it tell nothing more.
  __device__ bool has(const OrbPoint<T, Dim>& p, int axis, int k) const {
    bool inside = true;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      if (j > k) break;
      const Key key = OrderKeys<T, Dim>::key_of(p, axis, j);
      inside = inside && key >= low[j] && key <= high[j];
    }
    return inside;
  }
  /// The first key that differs.
  [[nodiscard]] __device__ int first_key() const {
    int k = 0;
    while (k < Dim && low[k] == high[k]) ++k;
    return k;
  }
  /// All points. Called by one thread.
  __device__ void open() {
    for (int k = 0; k < kKeys; ++k) {
      low[k] = next_high[k] = 0;
      high[k] = next_low[k] = ~Key{0};
    }
  }
  /// Makes range k as narrow as the points are.
  __device__ void take_fit(int k) {
    low[k] = next_low[k];
    high[k] = next_high[k];
    next_low[k] = ~Key{0};
    next_high[k] = 0;
  }
};

/// How narrow ranges may be for points that a thread meets, in registers.
template <class T, int Dim>
struct KeyFit {
  using Window = KeyWindow<T, Dim>;
  using Key = typename Window::Key;
  Key below_low[Window::kKeys] = {};  ///< complement, so that both are maxima
  Key most[Window::kKeys] = {};

  __device__ void add(const OrbPoint<T, Dim>& p, int axis) {
#pragma unroll
    for (int k = 0; k < Window::kKeys; ++k) {
      const Key key = OrderKeys<T, Dim>::key_of(p, axis, k);
      below_low[k] = max(below_low[k], static_cast<Key>(~key));
      most[k] = max(most[k], key);
    }
  }
  /// All threads of the warp call.
  __device__ void give(Window& window) const {
#pragma unroll
    for (int k = 0; k < Window::kKeys; ++k) {
      const Key least = ~warp_max(below_low[k]);
      const Key greatest = warp_max(most[k]);
      if (threadIdx.x % 32 != 0 || greatest < least) continue;
      atomic_min(&window.next_low[k], least);
      atomic_max(&window.next_high[k], greatest);
    }
  }
};

/// Narrows a window, at first of all n candidates, to at most kFewCandidates around the place where the search ends.
/// before: of the cell, what stands before the window. Both are shared. False: the search ends in none of them.
template <unsigned Threads, class T, int Dim, class Candidates>
__device__ inline bool narrow_candidates(const Candidates& all, std::uint32_t n, int axis, std::uint32_t unit,
                                         const WeightSearch& search, CountAndWeight* before,
                                         KeyWindow<T, Dim>& window) {
  using Key = OrderKey<T>;
  constexpr int kBits = std::bit_width(Threads) - 1;  // a thread a value of so many
  __shared__ std::uint32_t counts[Threads], lower[Threads], upper[Threads];
  __shared__ std::uint64_t weights[Threads];
  __shared__ CutBins shared_found;
  for (;;) {
    KeyFit<T, Dim> fit;
    int k = window.first_key();
    for_candidates<Threads, T, Dim>(all, n, [&](std::uint32_t, const OrbPoint<T, Dim>& p) {
      if (window.has(p, axis, k)) fit.add(p, axis);
    });
    fit.give(window);
    __syncthreads();
    if (threadIdx.x < KeyWindow<T, Dim>::kKeys) window.take_fit(static_cast<int>(threadIdx.x));
    __syncthreads();
    k = window.first_key();
    const Key low = window.low[k];
    const int bits = bit_width(static_cast<std::uint64_t>(window.high[k] - low));
    const unsigned shift = bits > kBits ? static_cast<unsigned>(bits - kBits) : 0U;
    counts[threadIdx.x] = lower[threadIdx.x] = upper[threadIdx.x] = 0;
    __syncthreads();
    for_candidates<Threads, T, Dim>(all, n, [&](std::uint32_t i, const OrbPoint<T, Dim>& p) {
      if (!window.has(p, axis, k)) return;
      const auto bin = static_cast<std::uint32_t>((OrderKeys<T, Dim>::key_of(p, axis, k) - low) >> shift);
      atomicAdd(&counts[bin], 1U);
      if (const std::uint64_t weight = all.weight(i); weight != 0) add_in_two_words(&lower[bin], &upper[bin], weight);
    });
    __syncthreads();
    weights[threadIdx.x] = (std::uint64_t{upper[threadIdx.x]} << 32U) | lower[threadIdx.x];
    __syncthreads();
    find_cut_bins<Threads>({counts, weights}, Threads, search, unit, *before, kFewCandidates, &shared_found);
    const CutBins found = shared_found;
    if (found.inside == 0) return false;
    __syncthreads();  // all have read what the next lines write
    if (threadIdx.x == 0) {
      *before = found.before;
      const Key end = (Key{found.last} << shift) + ((Key{1} << shift) - 1);  // may be beyond the window's
      window.high[k] = low + min(static_cast<Key>(window.high[k] - low), end);
      window.low[k] = low + (Key{found.first} << shift);
    }
    __syncthreads();
    if (found.inside <= kFewCandidates) return true;
  }
}

/// Finds where a cell's points part, by n of them, in no order, behind those of `before`, among which the search ends;
/// else there is no cut. Called by a block of Threads threads; valid for all of them afterwards.
template <unsigned Threads, class T, int Dim, class Candidates>
__device__ inline void find_parting(const Candidates& all, std::uint32_t n, int axis, const WeightGoal& goal,
                                    const WeightSearch& search, const CountAndWeight& before,
                                    FewCandidates<T, Dim>& few, FoundCut<T, Dim>* cut) {
  __shared__ CountAndWeight window_before;
  __shared__ KeyWindow<T, Dim> window;
  if (threadIdx.x == 0) {
    window_before = before;
    few.size = 0;
    *cut = {};
    window.open();
  }
  __syncthreads();
  const bool narrowed = n > kFewCandidates;
  if (narrowed && !narrow_candidates<Threads>(all, n, axis, goal.unit(), search, &window_before, window)) return;
  const int key = window.first_key();
  for_candidates<Threads, T, Dim>(all, n, [&](std::uint32_t i, const OrbPoint<T, Dim>& p) {
    if (narrowed && !window.has(p, axis, key)) return;
    const std::uint32_t at = atomicAdd(&few.size, 1U);
    few.points[at] = p;
#pragma unroll
    for (int k = 0; k < OrderKeys<T, Dim>::kKeys; ++k) few.keys[at].key[k] = OrderKeys<T, Dim>::key_of(p, axis, k);
    few.weights[at] = all.weight(i);
    few.ranks[at] = 0;
  });
  __syncthreads();
  const std::uint32_t size = few.size;
  const std::uint32_t mine = threadIdx.x % kFewCandidates;
  if (mine < size) {
    constexpr std::uint32_t kShares = Threads / kFewCandidates;  // threads a candidate
    const OrderKeys<T, Dim> keys = few.keys[mine];
    std::uint32_t rank = 0;
    for (std::uint32_t k = threadIdx.x / kFewCandidates; k < size; k += kShares)
      rank += few.keys[k].before(keys) ? 1U : 0U;
    atomicAdd(&few.ranks[mine], rank);
  }
  __syncthreads();
  if (threadIdx.x < size) {
    const std::uint32_t rank = few.ranks[threadIdx.x];
    few.sorted_weights[rank] = few.weights[threadIdx.x];
    few.order[rank] = static_cast<std::uint16_t>(threadIdx.x);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const CutVerdict verdict =
        decide_cut(goal, search, window_before.count, window_before.weight, size, few.sorted_weights);
    cut->found = verdict.kind == CutVerdict::Kind::cut;
    cut->again = verdict.kind == CutVerdict::Kind::again;
    cut->search = verdict.search;
    if (cut->found) {
      const bool pivot_left = verdict.left == size;
      cut->parting = {few.points[few.order[pivot_left ? size - 1 : verdict.left]], pivot_left};
      cut->left = {window_before.count + verdict.left, verdict.weight_left};
    }
  }
  __syncthreads();
}

/// The plane of a cut that was found, between the candidates beside it; where one side has none there is no cut. As
/// find_parting().
template <unsigned Threads, class T, int Dim, class Candidates>
__device__ inline void find_plane(const Candidates& all, std::uint32_t n, int axis, FoundCut<T, Dim>* cut) {
  using Key = OrderKey<T>;
  if (!cut->found) return;
  Key last_left = 0, below_first = 0;
  for_candidates<Threads, T, Dim>(all, n, [&](std::uint32_t, const OrbPoint<T, Dim>& p) {
    const Key key = ordered_bits(p.x[axis]);
    if (cut->parting.left(p, axis))
      last_left = max(last_left, key);
    else
      below_first = max(below_first, static_cast<Key>(~key));
  });
  last_left = warp_max(last_left);
  below_first = warp_max(below_first);
  if (threadIdx.x % 32 == 0) {
    atomic_max(&cut->last_left, last_left);
    atomic_max(&cut->below_first, below_first);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    cut->found = cut->last_left != 0 && cut->below_first != 0;  // no coordinate has such a key
    cut->plane = cut_between(from_ordered_bits(cut->last_left), from_ordered_bits(static_cast<Key>(~cut->below_first)));
  }
  __syncthreads();
}

}  // namespace amrbench::partitioners::gpu
