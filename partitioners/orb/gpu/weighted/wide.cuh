#pragma once
// Kernels of gpu/weighted/wide.cu: sample and walk of the wide round with weights. The sample has points by their
// weights, the walk weighs what it counts, and entries of points in brackets carry their weights. Words as in
// gpu/wide/wide.cuh.
#include "partitioners/orb/gpu/levels.cuh"
#include "partitioners/orb/gpu/wide/walk.cuh"

namespace amrbench::partitioners::gpu {

/// A point in a bracket.
template <class T, int Dim>
struct WeightedEntry {
  T x[Dim];
  std::uint32_t position, node;
  std::uint64_t weight;
};

/// What is known exactly of a node.
template <class T, int Dim>
struct WeightedNode {
  OrbBox<T, Dim> box;
  std::uint64_t weight;
  std::uint32_t count, leaves;
  std::int32_t known;     ///< box, weight and count are
  std::int32_t active;    ///< being cut at its level's turn
  std::int32_t resolved;  ///< cut
  std::int32_t axis;
  T cut;
  std::uint64_t weight_before;  ///< of the node's points before its candidates
  std::uint32_t before;
  std::uint32_t candidates;
};

/// The brackets, and where points in them go: a list and two histograms a level.
template <class T, int Dim>
struct WeightedLists {
  WeightedEntry<T, Dim>* entries[kWideLevels];
  std::uint32_t capacity[kWideLevels];
  std::uint32_t* sizes;     ///< [level]
  std::uint32_t* overflow;  ///< set when an entry had no room
  std::uint32_t* bins;      ///< as wide_bins_begin() has them
  std::uint64_t* bin_weights;
  const float2* table;  ///< [node]: as in WideLists
};

/// Counts and weights by code.
struct CodeSums {
  std::uint32_t* counts;
  std::uint64_t* weights;
};

/// Puts an entry at place `at` of its bracket's list and counts it in the bracket's histograms.
template <class T, int Dim>
__device__ inline void list_entry(const WeightedLists<T, Dim>& lists, const float2* table,
                                  const WeightedEntry<T, Dim>& entry, std::uint64_t at) {
  const int level = level_of(entry.node);
  if (at >= lists.capacity[level]) {
    *lists.overflow = 1;
    return;
  }
  lists.entries[level][at] = entry;
  const std::uint32_t bin = bin_in_lists(table, entry.x, entry.node, level);
  atomicAdd(&lists.bins[bin], 1U);
  add_weight(&lists.bin_weights[bin], entry.weight);
}

// ---- The sample -----------------------------------------------------------------------------------------------------

/// Points whose weights are summed for the sample.
constexpr std::uint32_t kWeightGroup = 128;

/// Weights as integers; and their sums up to the end of each group of kWeightGroup points.
struct UnitWeights {
  const std::uint64_t* units;  ///< room for a multiple of 4
  const std::uint64_t* ends;
};

/// Divides the total weight into m equal parts and takes one point at random out of each, a point with a probability in
/// proportion to its weight; a heavy point may be taken more than once. So all points of the sample stand for the same
/// weight, and a cut by weight of the input is a cut by number of the sample. The sum of the weights must not be 0.
/// Otherwise as wide_sample_kernel.
template <class T, int Dim>
__global__ void weighted_sample_kernel(const T* __restrict__ points, const UnitWeights weights, std::uint64_t n,
                                       std::uint32_t m, float* __restrict__ sample, std::uint16_t* __restrict__ node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const auto groups = static_cast<std::uint32_t>((n + kWeightGroup - 1) / kWeightGroup);
  const std::uint64_t total = weights.ends[groups - 1];
  const double share = (i + static_cast<double>(support::splitmix64(i) >> 40U) * 0x1p-24) / m;
  std::uint64_t rest = min(static_cast<std::uint64_t>(share * static_cast<double>(total)), total - 1);
  std::uint32_t low = 0;  // the first group that ends behind it
  std::uint32_t high = groups - 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (weights.ends[middle] <= rest)
      low = middle + 1;
    else
      high = middle;
  }
  if (low > 0) rest -= weights.ends[low - 1];
  std::uint64_t at = std::uint64_t{low} * kWeightGroup;
  for (const std::uint64_t last = min(at + kWeightGroup, n) - 1; at < last && weights.units[at] <= rest; ++at)
    rest -= weights.units[at];
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = static_cast<float>(points[at * Dim + a]);
  node[i] = 1;
}

// ---- The walk -------------------------------------------------------------------------------------------------------

constexpr std::size_t weighted_shared(int levels) {
  return (std::size_t{1} << static_cast<unsigned>(levels)) * (sizeof(float2) + 6 * sizeof(std::uint32_t));
}

/// Threads of a block that walks points.
template <class T>
constexpr int kWeightedThreads = sizeof(T) == sizeof(float) ? 1024 : 512;

/// Counts and weighs codes in shared memory.
struct SharedSums {
  std::uint32_t* counts;
  std::uint32_t* words;  ///< of weights: the lower one of each code, then the upper ones
  std::uint32_t codes;

  __device__ void add(std::uint32_t v, std::uint64_t weight) const {
    atomicAdd(&counts[v], 1U);
    add_in_two_words(&words[v], &words[codes + v], weight);
  }
  [[nodiscard]] __device__ std::uint64_t weight(std::uint32_t v) const {
    return (std::uint64_t{words[codes + v]} << 32U) | words[v];
  }
};

/// Walks all points down, as wide_classify_kernel: codes, counts and weights by code, entries of those in brackets.
/// Bytes a point of 12: 22, besides 32 an entry. `weights` has room for a multiple of 4. Blocks stay; one a
/// multiprocessor, for shared memory holds all brackets, counts and weights: 128 KB at 12 levels.
template <class T, int Dim>
__global__ void __launch_bounds__(kWeightedThreads<T>, 1)
    weighted_classify_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ weights, std::uint64_t n,
                             int levels, std::uint16_t* __restrict__ codes, CodeSums sums,
                             const WeightedLists<T, Dim> lists) {
  constexpr int kBlockThreads = kWeightedThreads<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  auto* const table = reinterpret_cast<float2*>(memory);
  auto* const words = reinterpret_cast<std::uint32_t*>(table + first);
  const SharedSums mine{words + 4 * first, words, 2 * first};
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  for (std::uint32_t v = threadIdx.x; v < first; v += kBlockThreads) table[v] = lists.table[v];
  for (std::uint32_t k = threadIdx.x; k < 6 * first; k += kBlockThreads) words[k] = 0;
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  WidePlaces places{taken, base};
  constexpr std::uint64_t kBlock = std::uint64_t{kBlockThreads} * 4;
  for (std::uint64_t begin = blockIdx.x * kBlock; begin < n; begin += gridDim.x * kBlock) {
    const std::uint64_t i = begin + threadIdx.x * std::uint64_t{4};
    T x[4][Dim];
    load_four<T, Dim>(points, i, n, x);
    std::uint32_t v[4] = {1, 1, 1, 1};
    for (int level = 0; level < levels; ++level)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float c[Dim];
        as_floats(x[j], c);
        step_down<Dim>(table, c, v[j]);
      }
    std::uint64_t weight[4];
    std::uint32_t place[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      weight[j] = 0;
      if (i + j < n) {
        weight[j] = __ldg(reinterpret_cast<const unsigned long long*>(weights) + i + j);
        mine.add(v[j], weight[j]);
      } else {
        v[j] = first;  // no point: not in a bracket
      }
      place[j] = v[j] < first ? places.take(v[j]) : 0;
    }
    places.reserve(lists.sizes, 1);
    if (i < n) __stcs(reinterpret_cast<uint2*>(codes + i), make_uint2(v[0] | v[1] << 16U, v[2] | v[3] << 16U));
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (v[j] >= first) continue;
      WeightedEntry<T, Dim> entry;
#pragma unroll
      for (int a = 0; a < Dim; ++a) entry.x[a] = x[j][a];
      entry.position = static_cast<std::uint32_t>(i + j);
      entry.node = v[j];
      entry.weight = weight[j];
      list_entry(lists, table, entry, places.at(v[j], place[j]));
    }
  }
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kBlockThreads) {
    if (mine.counts[v] == 0) continue;
    atomicAdd(&sums.counts[v], mine.counts[v]);
    add_weight(&sums.weights[v], mine.weight(v));
  }
}

}  // namespace amrbench::partitioners::gpu
