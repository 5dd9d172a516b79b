#pragma once
// Types of the first round on a GPU (gpu/first_round/first_round.cuh), and how points in brackets are listed. Words as
// in gpu/kernels.cuh, but:
//
//   node, code  nodes are one heap with root 1; a point's code is the node at which its walk ended: one of the last
//               level, that is 2^levels or more, or one above, whose bracket it met
//   list        the entries of one level, with their coordinates, so that resolving them gathers nothing. There is a
//               histogram of each bracket too, counted as entries are listed
//   chunk       64 consecutive places of a list. A warp takes whole chunks, by one atomic each, and fills them on its
//               own
//   hole        a place of a chunk that was left empty: an entry of node 0
//   group, turn 128 consecutive points, 4 a thread of a warp; what a warp walks at a time
//
// Coordinates are compared as floats, doubles rounded to them: rounding keeps order, so what lies left of a bracket, in
// it and right of it is in order too.
#include <cfloat>

#include "partitioners/orb/gpu/kernels.cuh"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

constexpr int kFirstLevels = 12;
constexpr std::uint32_t kFirstInner = 1U << kFirstLevels;
constexpr std::uint32_t kFirstNodes = 2 * kFirstInner;
/// A node with fewer points of the sample is left to a later round.
constexpr std::uint32_t kLeastSample = 128;
/// Threads of a block that sends entries of lists on.
constexpr int kRouteThreads = 512;
/// Places in a chunk of a list. A warp may need up to 32 of them at once.
constexpr std::uint32_t kListChunk = 64;
/// Words from one list's size to the next one's: they are counted up often, so each has cache lines of its own.
constexpr std::uint32_t kSizesApart = 32;

/// How entries of a node that is being cut are told apart: left of the candidates, right of them, or candidates.
struct __align__(16) BracketCut {
  float low, scale;
  std::uint16_t first_bin, end_bin;    ///< entries in these are candidates; end_bin 0: the node is not being cut
  std::uint16_t first_core, end_core;  ///< as in CutBins
};

/// What the sample says of a node.
template <class T, int Dim>
struct CutGuess {
  OrbBox<T, Dim> box;
  OrbBox<float, Dim> range;  ///< of fractions (gpu/first_round/quantiles.cuh); else the box
  std::int32_t axis, inner;
  std::uint32_t leaves;
};

/// What the sample's points need to know of a node: on which axis and where it is cut, and the bins of its histogram.
struct __align__(16) SampleSplit {
  static constexpr std::uint32_t kAxis = 3, kCounted = 4, kCut = 8;
  float plane;       ///< what lies at it or above goes right
  float low, scale;  ///< bins along the axis
  std::uint32_t state;

  /// In which of n bins x lies, and in the fraction how far into it but for the last bin, which has what lies beyond.
  [[nodiscard]] __device__ float place(float x, std::uint32_t n) const {
    const float position = (x - low) * scale;
    const auto last = static_cast<float>(n - 1U);
    return position < last ? (position > 0.0F ? position : 0.0F) : last;
  }
};

/// A point in a bracket.
template <class T, int Dim>
struct __align__(16) ListedPoint {
  T x[Dim];
  std::uint32_t position;
};

/// Bins of a bracket at a level, and where those of the level's first node begin.
__host__ __device__ constexpr std::uint32_t bracket_bins(int level) {
  return level < 5 ? 16384U >> static_cast<unsigned>(level) : 512U;
}
__host__ __device__ constexpr std::uint32_t bracket_bins_begin(int level) {
  return level < 6 ? 16384U * static_cast<unsigned>(level)
                   : 6U * 16384U + ((1U << static_cast<unsigned>(level)) - 64U) * 512U;
}

/// A stretch of a bracket in which the sample has no points: where it begins, and its width. Bins have no room for it.
struct BracketGap {
  float begin, width;
  /// A coordinate where the stretch is closed; never falls as c rises.
  [[nodiscard]] __device__ float close(float c) const { return fmaxf(fminf(c, begin), c - width); }
};

/// The brackets, and where points in them go: a list and a histogram a level.
template <class T, int Dim>
struct BracketEntries {
  ListedPoint<T, Dim>* points[kFirstLevels];
  std::uint16_t* nodes[kFirstLevels];    ///< whose bracket each point met
  std::uint64_t* weights[kFirstLevels];  ///< of the points; null without weights
  std::uint32_t capacity[kFirstLevels];
  std::uint32_t* sizes;       ///< [level * kSizesApart]
  std::uint32_t* overflow;    ///< [level]: set when an entry had no room; none of the level's nodes can be cut then
  std::uint32_t* holes;       ///< entries of node 0, over all levels
  std::uint32_t* candidates;  ///< [level]: how many entries are candidates
  std::uint32_t* bins;
  std::uint64_t* bin_weights;  ///< null without weights
  const BracketGap* gaps;      ///< [node]: stretches of brackets without points; null: none
  const float2* table;         ///< [node]: low end, its two last bits the axis, and high end; outer nodes send all left

  [[nodiscard]] __device__ std::uint32_t size(int level) const {
    return min(sizes[static_cast<std::uint32_t>(level) * kSizesApart], capacity[level]);
  }
  [[nodiscard]] __device__ BracketGap gap(std::uint32_t v) const {
    return gaps != nullptr ? gaps[v] : BracketGap{0, 0};
  }
};

/// Bins by coordinate of a bracket at a level.
__device__ inline float bracket_scale(float2 bracket, const BracketGap& gap, int level) {
  const float width = bracket.y - bracket.x - gap.width;
  const float scale = __fdiv_rn(static_cast<float>(bracket_bins(level)), width);
  return width > 0.0F && scale < 1e30F ? scale : 0.0F;
}

/// Never falls as c rises.
__device__ inline std::uint32_t bracket_bin(float c, float low, float scale, int level) {
  const float position = (c - low) * scale;
  const auto last = static_cast<float>(bracket_bins(level) - 1U);
  return static_cast<std::uint32_t>(position < last ? (position > 0.0F ? position : 0.0F) : last);
}

__device__ inline int level_of(std::uint32_t v) {
  return 31 - __clz(static_cast<int>(v));
}

template <int Dim>
__device__ inline float on_axis(const float (&c)[Dim], std::uint32_t axis) {
  float x = c[0];
  if ((axis & 1U) != 0U) x = c[1];
  if (Dim == 3 && (axis & 2U) != 0U) x = c[Dim - 1];
  return x;
}

template <class T, int Dim>
__device__ inline void as_floats(const T (&x)[Dim], float (&c)[Dim]) {
#pragma unroll
  for (int a = 0; a < Dim; ++a) c[a] = static_cast<float>(x[a]);
}

/// One level down from v, unless the point meets its bracket.
template <int Dim>
__device__ inline void step_past(float2 bracket, const float (&c)[Dim], std::uint32_t& v) {
  const float x = on_axis<Dim>(c, __float_as_uint(bracket.x));
  const bool right = x > bracket.y;
  if (right || x < bracket.x) v = 2 * v + (right ? 1U : 0U);
}
template <int Dim>
__device__ inline void step_down(const float2* table, const float (&c)[Dim], std::uint32_t& v) {
  step_past<Dim>(table[v], c, v);
}

/// Each thread of a warp has four points, some of which are wanted: how many the lower threads have, and how many all
/// have. A prefix sum by votes over the bits of the counts. All threads of the warp call.
struct LaneRanks {
  std::uint32_t before, all;

  __device__ explicit LaneRanks(const bool (&wanted)[4]) {
    std::uint32_t mine = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) mine += wanted[j] ? 1U : 0U;
    const std::uint32_t lower = (1U << (threadIdx.x & 31U)) - 1U;
    before = 0;
    all = 0;
#pragma unroll
    for (unsigned b = 0; b < 3; ++b) {  // the count's bits
      const unsigned with = __ballot_sync(kFull, ((mine >> b) & 1U) != 0U);
      before += static_cast<std::uint32_t>(__popc(with & lower)) << b;
      all += static_cast<std::uint32_t>(__popc(with)) << b;
    }
  }
};

/// Puts a point at place `at` of its bracket's list and counts it in the bracket's histogram.
template <bool Weighted, class T, int Dim>
__device__ inline void list_point(const BracketEntries<T, Dim>& lists, const float2* table, const T (&x)[Dim],
                                  std::uint32_t position, std::uint64_t weight, std::uint32_t v, std::uint64_t at) {
  const int level = level_of(v);
  if (at >= lists.capacity[level]) {
    lists.overflow[level] = 1;
    return;
  }
  ListedPoint<T, Dim> point;
#pragma unroll
  for (int a = 0; a < Dim; ++a) point.x[a] = x[a];
  point.position = position;
  lists.points[level][at] = point;
  lists.nodes[level][at] = static_cast<std::uint16_t>(v);
  const float2 bracket = table[v];
  const BracketGap gap = lists.gap(v);
  float c[Dim];
  as_floats(x, c);
  const std::uint32_t bin = bracket_bins_begin(level) +
                            (v - (1U << static_cast<unsigned>(level))) * bracket_bins(level) +
                            bracket_bin(gap.close(on_axis<Dim>(c, __float_as_uint(bracket.x))), bracket.x,
                                        bracket_scale(bracket, gap, level), level);
  count_in_bin(lists.bins, bin);
  if constexpr (Weighted) {
    lists.weights[level][at] = weight;
    add_weight(&lists.bin_weights[bin], weight);
  }
}

/// Places in the lists for the entries of a thread block, by one atomic in memory for each level. All threads of the
/// block call in this order: take() for each entry, reserve() once, at() for each entry; then it can be used again.
struct ListPlaces {
  std::uint32_t* taken;  ///< shared, [kFirstLevels], zero at first
  std::uint32_t* base;   ///< shared, [kFirstLevels]

  __device__ std::uint32_t take(std::uint32_t v) { return atomicAdd(&taken[level_of(v)], 1U); }
  __device__ void reserve(std::uint32_t* sizes) {
    __syncthreads();
    if (threadIdx.x < kFirstLevels) {
      const std::uint32_t n = taken[threadIdx.x];
      base[threadIdx.x] = n > 0 ? atomicAdd(&sizes[threadIdx.x * kSizesApart], n) : 0;
      taken[threadIdx.x] = 0;
    }
    __syncthreads();
  }
  [[nodiscard]] __device__ std::uint64_t at(std::uint32_t v, std::uint32_t place) const {
    return std::uint64_t{base[level_of(v)]} + place;
  }
};

/// Places in the lists for the entries of one warp, which takes whole chunks, so that no barrier of the block is
/// needed. Thread l of the warp keeps the chunk of level l, and asks for the next one long before it is used, so that
/// nobody waits for the atomic. All threads of the warp call.
struct ListChunks {
  static constexpr std::uint32_t kNone = ~0U;
  std::uint32_t base = 0;
  std::uint32_t used = kListChunk;
  std::uint32_t next = kNone;

  /// The place of this thread's point, which met the bracket of v; v = 0: it has no such point.
  template <class T, int Dim>
  __device__ std::uint64_t take(const BracketEntries<T, Dim>& lists, std::uint32_t v) {
    static_assert(kFirstLevels <= 16, "levels are told apart by 4 bits");
    const unsigned lane = threadIdx.x & 31U;
    const unsigned listed = __ballot_sync(kFull, v != 0);
    const unsigned level = v != 0 ? static_cast<unsigned>(level_of(v)) : 0U;
    unsigned same = listed;                   // lanes of this lane's level
    unsigned mine = lane < 16 ? listed : 0U;  // lanes of level `lane`
#pragma unroll
    for (unsigned b = 0; b < 4; ++b) {
      const bool set = ((level >> b) & 1U) != 0U;
      const unsigned with = __ballot_sync(kFull, set);
      same &= set ? with : ~with;
      mine &= ((lane >> b) & 1U) != 0U ? with : ~with;
    }
    const auto rank = static_cast<std::uint32_t>(__popc(same & ((1U << lane) - 1U)));
    const std::uint32_t place = __shfl_sync(kFull, used, static_cast<int>(level)) + rank;
    std::uint32_t here = __shfl_sync(kFull, base, static_cast<int>(level));
    used += static_cast<std::uint32_t>(__popc(mine));
    const bool over = used > kListChunk;
    if (__any_sync(kFull, over ? 1 : 0) != 0) {
      std::uint32_t* const size = &lists.sizes[lane * kSizesApart];   // read by lanes of levels only
      if (over && next == kNone) next = atomicAdd(size, kListChunk);  // the level's first
      if (over) {
        base = next;
        used -= kListChunk;
      }
      add_where(over, size, kListChunk, next);
      const std::uint32_t after = __shfl_sync(kFull, base, static_cast<int>(level));
      if (place >= kListChunk) here = after - kListChunk;  // may wrap; place makes up for it
    }
    return static_cast<std::uint32_t>(here + place);
  }
  /// The last call: what is left of the chunks becomes holes.
  template <class T, int Dim>
  __device__ void close(const BracketEntries<T, Dim>& lists) const {
    const unsigned lane = threadIdx.x & 31U;
    if (lane >= kFirstLevels) return;
    leave(lists, lane, base, used);
    if (next != kNone) leave(lists, lane, next, 0);
  }

 private:
  /// Places of a chunk from number `from` on become holes.
  template <class T, int Dim>
  __device__ static void leave(const BracketEntries<T, Dim>& lists, unsigned level, std::uint32_t chunk,
                               std::uint32_t from) {
    for (std::uint64_t k = from; k < kListChunk; ++k)
      if (chunk + k < lists.capacity[level]) lists.nodes[level][chunk + k] = 0;
    atomicAdd(lists.holes, kListChunk - from);
  }
};

/// Which of n points stands for the i-th of m equal stretches: one at random. Fewer points are taken
/// repeatedly.
__device__ inline std::uint64_t sample_position(std::uint32_t i, std::uint64_t n, std::uint32_t m) {
  const std::uint64_t begin = i * n / m;
  const auto length = static_cast<std::uint32_t>((i + 1) * n / m - begin);
  return begin + __umulhi(static_cast<std::uint32_t>(support::splitmix64(i)), length);
}

/// Sums by code, over all points.
struct CodeSums {
  std::uint32_t* counts;
  std::uint64_t* weights;  ///< null without weights
};

/// What a walk works on.
template <class T, int Dim>
struct WalkWork {
  const T* points;
  std::uint64_t n;
  int levels;
  const std::uint64_t* weights;  ///< null: none
  std::uint16_t* codes;          ///< room for a multiple of 4
  CodeSums sums;
  BracketEntries<T, Dim> lists;
  const std::uint16_t* start;  ///< of each code the cell from which its points are walked; 0: they are not
  bool fresh;                  ///< all points have the root's code
};

/// Counts codes in shared memory, and weighs them.
template <bool Weighted>
struct SharedSums {
  std::uint32_t* counts;
  std::uint32_t* words = nullptr;  ///< of weights: the lower one of each code, then the upper ones

  __device__ void add(std::uint32_t v, std::uint64_t weight) const {
    atomicAdd(&counts[v], 1U);
    if constexpr (Weighted) add_in_two_words(&words[v], &words[kFirstNodes + v], weight);
  }
  /// Adds the sums of codes v > 0 to those of all blocks.
  __device__ void give(std::uint32_t v, const CodeSums& all) const {
    if (counts[v] == 0) return;
    atomicAdd(&all.counts[v], counts[v]);
    if constexpr (Weighted) add_weight(&all.weights[v], (std::uint64_t{words[kFirstNodes + v]} << 32U) | words[v]);
  }
};

}  // namespace amrbench::partitioners::gpu
