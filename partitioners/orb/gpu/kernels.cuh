#pragma once
// Words and types of the multiway method on a GPU, and what its kernels share.
// How it goes is told in gpu/first_round/first_round.cuh. A bracket that misses its cut costs its cell further work
// (gpu/levels.cuh), never the result.
//
// Words:
//   node       a cell of the guessed tree. Nodes are a heap: children of v are 2v and 2v + 1. An outer node has no cut
//              and passes its points on to the left
//   bracket    the interval of coordinates around a guessed cut, on the node's axis. A point inside it stops there
//   entry      a point that stopped at a bracket, in the list of the node's level
//   code       of a point: the node of the last level that it reached, or the one at whose bracket it stopped
//   rank       how many of the points at hand stand before a point in the order of rule 1 (rules.hpp)
//   candidates the entries in the bins of a bracket's histogram in which the cut lies. They are ordered
//   pivot      a point beside a cut
//   resolve    to find a node's exact cut from its bracket's entries and send these on
//   tile       a stretch of one cell's points that one thread block works on
//   slot       a cell at the end of a round. Thread blocks, tiles and slots are in the order of the points, so the move
//              to slots is stable
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "partitioners/orb/rules.hpp"
#include "partitioners/orb/weight_search.hpp"
#include "partitioners/ordered_bits.hpp"
#include "support/async_copy.cuh"
#include "support/hash.hpp"

namespace amrbench::partitioners::gpu {

constexpr int kLevels = 6;
constexpr int kSlots = 64;
constexpr int kThreads = 512;
constexpr unsigned kFull = 0xffffffffU;

template <class T, int Dim>
constexpr int kItems = sizeof(T) * Dim <= 12 ? 8 : 5;
template <class T, int Dim>
constexpr unsigned kTile = kThreads* kItems<T, Dim>;

/// Points whose weights are summed for the sample.
constexpr std::uint32_t kWeightGroup = 128;

/// Weights as integers; and their sums up to the end of each group of kWeightGroup points. Null: every point weighs 1.
struct UnitWeights {
  const std::uint64_t* units = nullptr;
  const std::uint64_t* ends = nullptr;
  std::uint64_t heaviest = 0;               ///< of units
  std::uint64_t heavy = ~std::uint64_t{0};  ///< points of that weight and more are in none of the sums

  /// What a point adds to the sums.
  [[nodiscard]] __device__ std::uint64_t summed(std::uint64_t i) const { return units[i] < heavy ? units[i] : 0; }
};

/// A weight as an integer: round(weight * 2^exponent), ties to even, as to_fixed_point() has it.
__device__ inline std::uint64_t weight_unit(double weight, int exponent) {
  return __double2ull_rn(ldexp(weight, exponent));
}

/// A stretch of points that a move works on, and its tiles.
struct Cell {
  std::uint32_t begin, count;
  std::uint32_t first_tile, tiles;
};

/// What is known exactly of a node.
template <class T, int Dim>
struct Node {
  OrbBox<T, Dim> box;
  std::uint32_t count, leaves;
  std::int32_t known;     ///< box, count and weight are
  std::int32_t active;    ///< being cut at its level's turn
  std::int32_t resolved;  ///< cut
  std::int32_t axis;
  SearchPhase phase;  ///< reach: by the first search of its goal, else by number among points of the same sum
  T cut;
  std::uint64_t weight;                             ///< 0 without weights: a cut's target then is a count
  std::uint64_t weight_before, weight_before_core;  ///< of the node's points before its candidates, before core ones
  std::uint64_t same_sum;                           ///< that one
  std::uint32_t before, before_core;                ///< and how many these are
  std::uint32_t candidates_begin, candidates_end;   ///< the node's places among all candidates of its level
  std::uint32_t core_next, others_next;  ///< core ones come from the begin on, the others from the end backwards
};

/// result = atomicAdd(at, amount) where `wanted`, without a branch. Behind a branch the compiler would copy the result
/// at once, and so wait for the atomic.
__device__ inline void add_where(bool wanted, std::uint32_t* at, std::uint32_t amount, std::uint32_t& result) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p atom.global.add.u32 %0, [%2], %3; }"
               : "+r"(result)
               : "r"(wanted ? 1U : 0U), "l"(__cvta_generic_to_global(at)), "r"(amount)
               : "memory");
}
/// Adds to a sum of 64 bits kept in two words of shared memory, because an atomic addition of 32 bits is one
/// instruction there and one of 64 bits a loop. The sum is right once all carries are in.
__device__ inline void add_in_two_words(std::uint32_t* low, std::uint32_t* high, std::uint64_t weight) {
  const auto lower = static_cast<std::uint32_t>(weight);
  const std::uint32_t sum = atomicAdd(low, lower) + lower;
  const std::uint32_t upper = static_cast<std::uint32_t>(weight >> 32U) + (sum < lower ? 1U : 0U);
  if (upper != 0U) atomicAdd(high, upper);
}

/// Adds 1 to a bin. Where many lanes have their neighbour's bin, as in places with many points, those of a warp are
/// added up first.
__device__ inline void count_in_bin(std::uint32_t* bins, std::uint32_t bin) {
  constexpr int kMany = 4;
  const unsigned active = __activemask();
  const unsigned lane = threadIdx.x & 31U;
  const bool as_below = __shfl_up_sync(active, bin, 1) == bin && lane > 0;
  if (__popc(__ballot_sync(active, as_below)) < kMany) {
    atomicAdd(&bins[bin], 1U);
    return;
  }
  const unsigned same = __match_any_sync(active, bin);
  if ((same & ((1U << lane) - 1U)) == 0U) atomicAdd(&bins[bin], static_cast<unsigned>(__popc(same)));
}

/// Points without weight are often many in one bin.
__device__ inline void add_weight(std::uint64_t* sum, std::uint64_t weight) {
  if (weight != 0) atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(weight));
}

/// What CUDA's atomics take for an integer.
template <class Key>
using AtomicWord = std::conditional_t<sizeof(Key) == 8, unsigned long long, unsigned>;
/// The least and the greatest of several threads' keys.
template <class Key>
__device__ inline void atomic_max(Key* to, Key key) {
  atomicMax(reinterpret_cast<AtomicWord<Key>*>(to), AtomicWord<Key>{key});
}
template <class Key>
__device__ inline void atomic_min(Key* to, Key key) {
  atomicMin(reinterpret_cast<AtomicWord<Key>*>(to), AtomicWord<Key>{key});
}

/// Integers in the order of coordinates.
template <class T>
using OrderKey = decltype(ordered_bits(T{}));

/// The value of the lane `step` below.
template <class Value>
__device__ inline Value of_lane_below(Value value, unsigned step) {
  return __shfl_up_sync(kFull, value, step);
}
/// Inclusive prefix sum over the lanes of a warp.
template <class Value>
__device__ inline Value warp_sum_up_to(Value value) {
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const Value other = of_lane_below(value, step);
    if ((threadIdx.x & 31U) >= step) value += other;
  }
  return value;
}
/// Sum over the lanes of a warp, for all of them.
__device__ inline std::uint64_t warp_sum(unsigned long long sum) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(kFull, sum, lanes);
  return sum;
}

/// The axis whose coordinate decides at a stage of rule 1's order along `axis`.
template <class T, int Dim>
__host__ __device__ inline int axis_of_stage(int axis, int stage) {
  if (stage == 0) return axis;
  return stage - 1 < axis ? stage - 1 : stage;
}

/// Which of n cells a tile belongs to: the last one whose first tile is not after it. A binary search.
template <class AnyCell>
__device__ inline std::uint32_t cell_of_tile(const AnyCell* cells, std::uint32_t n, std::uint32_t tile) {
  std::uint32_t low = 0;
  std::uint32_t high = n;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (cells[middle].first_tile <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// The same for a whole block. Where there are no more cells than threads, each thread looks at one cell: one read
/// instead of several that depend on each other. All threads call; a barrier must follow before the result is read.
__device__ inline void find_cell_of_tile(const Cell* cells, std::uint32_t n, std::uint32_t tile, std::uint32_t* found) {
  if (n > blockDim.x) {
    if (threadIdx.x == 0) *found = cell_of_tile(cells, n, tile);
    return;
  }
  const std::uint32_t c = threadIdx.x;
  if (c < n && tile - cells[c].first_tile < cells[c].tiles) *found = c;  // wraps where the tile is before the cell's
}

/// A point's coordinate on an axis: an index that is unknown at compile time would put the point into local memory.
template <class T, int Dim>
__device__ inline T coordinate_on(const OrbPoint<T, Dim>& p, int axis) {
  T x = p.x[0];
#pragma unroll
  for (int a = 1; a < Dim; ++a) x = axis == a ? p.x[a] : x;
  return x;
}

/// A barrier that is told when values have come; all threads call.
__device__ inline void start_arrivals([[maybe_unused]] std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if (threadIdx.x != 0) return;
  support::barrier_init(barrier, 1);
  support::barrier_init_fence();
#endif
}
/// Values that the memory of ask_for_values() must have room for besides those asked for.
template <class T>
constexpr std::uint32_t kRawRoom = 16 / sizeof(T);

/// Starts copying `count` values to shared memory and returns where the first one will lie. `raw`: aligned to 16 bytes.
/// Copies are whole pieces of 16 bytes, so up to 12 bytes before `from` are read, but none behind the last value. All
/// threads call, and pass a barrier of the block before wait_for_values().
template <class T>
__device__ inline T* ask_for_values(T* raw, const T* from, std::uint32_t count,
                                    [[maybe_unused]] std::uint64_t* barrier) {
  const auto skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16 / sizeof(T));
  T* const values = raw + skip;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr std::uint32_t kWord = kRawRoom<T>;
  const std::uint32_t whole = (skip + count) / kWord * kWord;  // the last few values may end where the memory does
  if (threadIdx.x == 0) {
    support::barrier_arrive_expect(barrier, whole * sizeof(T));
    if (whole > 0) support::copy_bulk(raw, from - skip, whole * sizeof(T), barrier);
  }
  const std::uint32_t rest = whole > skip ? whole - skip : 0;
  if (threadIdx.x < kWord && rest + threadIdx.x < count) values[rest + threadIdx.x] = from[rest + threadIdx.x];
#else
  for (std::uint32_t k = threadIdx.x; k < count; k += blockDim.x) values[k] = from[k];
#endif
  return values;
}
/// Waits for the values of ask_for_values(); parity: of how often the barrier was asked before. All threads call.
__device__ inline void wait_for_values([[maybe_unused]] std::uint64_t* barrier, [[maybe_unused]] std::uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  support::barrier_wait(barrier, parity);
#endif
}
/// To be called by all threads between reading values and the block's barrier, where others are asked for in their
/// place.
__device__ inline void release_values() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  support::reads_before_bulk_copies();
#endif
}

/// Four points from `first` on by 16-byte loads; fewer where the input ends.
template <class T, int Dim>
__device__ inline void load_four(const T* __restrict__ points, std::uint64_t first, std::uint64_t n, T (&x)[4][Dim]) {
  if (first + 4 <= n) {
    uint4 words[sizeof(x) / sizeof(uint4)];
    const auto* from = reinterpret_cast<const uint4*>(points + first * Dim);
#pragma unroll
    for (uint4& word : words) word = __ldg(from++);
    memcpy(&x, &words, sizeof(x));
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int a = 0; a < Dim; ++a) x[j][a] = first + j < n ? points[(first + j) * Dim + a] : T(0);
}

/// Ranks a tile's items by slot, stably. In: codes of 16 bits; an item's slot is code >> shift, its number in the tile
/// (warp * items + j) * 32 + lane. Out: the upper 16 bits of each item hold its place in the tile sorted by slot;
/// first[s] is where slot s begins there. Items past the tile's end must have the last slot, so that they come last.
/// bits: of slots, at most 6. All threads of the block call; barriers inside.
template <unsigned Threads, int Items>
__device__ inline void rank_tile(std::uint32_t (&item)[Items], unsigned shift, unsigned bits,
                                 std::uint32_t (*per_warp)[kSlots], std::uint32_t* first) {
  const unsigned lane = threadIdx.x & 31U;
  const unsigned warp = threadIdx.x >> 5U;
  std::uint32_t* const mine = per_warp[warp];
  mine[lane] = 0;
  mine[lane + 32] = 0;
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const std::uint32_t slot = item[j] >> shift;
    unsigned same = kFull;  // lanes of the same slot
    for (unsigned b = 0; b < bits; ++b) {
      const bool set = ((slot >> b) & 1U) != 0U;
      const unsigned with = __ballot_sync(kFull, set);
      same &= set ? with : ~with;
    }
    const unsigned before = same & ((1U << lane) - 1U);
    const std::uint32_t sum = mine[slot];
    item[j] |= (sum + static_cast<unsigned>(__popc(before))) << 16U;
    __syncwarp();
    if (before == 0U) mine[slot] = sum + static_cast<unsigned>(__popc(same));  // the first of its kind
    __syncwarp();
  }
  __syncthreads();
  if (threadIdx.x < kSlots) {
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned w = 0; w < Threads / 32; ++w) {
      const std::uint32_t count = per_warp[w][threadIdx.x];
      per_warp[w][threadIdx.x] = sum;
      sum += count;
    }
    first[threadIdx.x] = sum;
  }
  __syncthreads();
  if (warp == 0) {  // two slots a lane
    const std::uint32_t left = first[2 * lane];
    const std::uint32_t both = left + first[2 * lane + 1];
    const std::uint32_t sum = warp_sum_up_to(both);
    first[2 * lane] = sum - both;
    first[2 * lane + 1] = sum - both + left;
  }
  __syncthreads();
  mine[lane] += first[lane];
  mine[lane + 32] += first[lane + 32];
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Items; ++j) item[j] += mine[(item[j] & 0xffffU) >> shift] << 16U;
}

}  // namespace amrbench::partitioners::gpu
