#pragma once
// Kernels of gpu_weighted_wide.cu: the wide round of gpu_wide.cuh with weights. The sample's weights place the
// brackets, the walk weighs what it counts, and entries of points in brackets carry their weights.
#include "partitioners/orb/gpu_weighted_levels.cuh"
#include "partitioners/orb/gpu_wide.cuh"

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
  const float* scales;
};

/// Counts and weights by code.
struct CodeSums {
  std::uint32_t* counts;
  std::uint64_t* weights;
};

/// Gives out places in the lists as WidePlaces does.
template <class T, int Dim>
struct WeightedPlaces {
  std::uint32_t* taken;  ///< shared, [kWideLevels], zero at first
  std::uint32_t* base;   ///< shared, [kWideLevels]

  __device__ std::uint32_t take(std::uint32_t v) { return atomicAdd(&taken[31 - __clz(static_cast<int>(v))], 1U); }
  __device__ void reserve(const WeightedLists<T, Dim>& lists) {
    __syncthreads();
    if (threadIdx.x < kWideLevels) {
      const std::uint32_t n = taken[threadIdx.x];
      base[threadIdx.x] = n > 0 ? atomicAdd(&lists.sizes[threadIdx.x], n) : 0;
      taken[threadIdx.x] = 0;
    }
    __syncthreads();
  }
  __device__ void put(const WeightedLists<T, Dim>& lists, const float2* table, const WeightedEntry<T, Dim>& entry,
                      std::uint32_t place) const {
    const int level = 31 - __clz(static_cast<int>(entry.node));
    const std::uint64_t at = std::uint64_t{base[level]} + place;
    if (at >= lists.capacity[level]) {
      *lists.overflow = 1;
      return;
    }
    lists.entries[level][at] = entry;
    const float low = table[entry.node].x;
    float c[Dim];
#pragma unroll
    for (int a = 0; a < Dim; ++a) c[a] = static_cast<float>(entry.x[a]);
    const std::uint32_t bin = wide_bin(on_axis<Dim>(c, __float_as_uint(low)), low, lists.scales[entry.node], level);
    const std::uint32_t first = 1U << static_cast<unsigned>(level);
    const std::uint32_t of_all = wide_bins_begin(level) + (entry.node - first) * wide_bins(level) + bin;
    atomicAdd(&lists.bins[of_all], 1U);
    add_weight(&lists.bin_weights[of_all], entry.weight);
  }
};

// ---- The sample -----------------------------------------------------------------------------------------------------

/// The root, exact; all nodes outer.
template <class T, int Dim>
__global__ void weighted_start_kernel(OrbBox<T, Dim> box, std::uint32_t n, std::uint64_t weight, std::uint32_t leaves,
                                      double side_tolerance, WideGuess<T, Dim>* guesses, WeightedNode<T, Dim>* nodes,
                                      float2* table, float* scales) {
  const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < kWideInner) {
    table[v] = make_float2(INFINITY, INFINITY);
    scales[v] = 0;
  }
  if (v != 1) return;
  guesses[1].box = nodes[1].box = box;
  guesses[1].leaves = nodes[1].leaves = leaves;
  guesses[1].axis = cut_axis(box, side_tolerance);
  nodes[1].count = n;
  nodes[1].weight = weight;
  nodes[1].known = 1;
}

/// One position at random out of each of m equal stretches of the n points, m <= n.
template <class T, int Dim>
__global__ void weighted_sample_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ weights,
                                       std::uint64_t n, std::uint32_t m, float* __restrict__ sample,
                                       float* __restrict__ sample_weights, std::uint32_t* order, std::uint32_t* node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const std::uint64_t begin = i * n / m;
  const auto length = static_cast<std::uint32_t>((i + 1) * n / m - begin);
  const std::uint64_t at = begin + __umulhi(static_cast<std::uint32_t>(scatter(i)), length);
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = static_cast<float>(points[at * Dim + a]);
  sample_weights[i] = static_cast<float>(weights[at]);
  order[i] = i;
  node[i] = 1;
}

/// Weights and their squares in the order of the sorted sample.
__global__ inline void weighted_squares_kernel(const float* __restrict__ sample_weights,
                                               const std::uint32_t* __restrict__ order, std::uint32_t m,
                                               double2* __restrict__ sums) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const double w = sample_weights[order[i]];
  sums[i] = make_double2(w, w * w);
}

struct AddPairs {
  __host__ __device__ double2 operator()(const double2& a, const double2& b) const {
    return double2{a.x + b.x, a.y + b.y};
  }
};

/// Ranks of the sample between which the cut very likely lies, and the one it likely has.
struct SampleRanks {
  std::int64_t low, high;
  std::uint32_t cut;
};

/// sums: running sums of weights and squares in the sorted sample. Where the sample's weights are all zero, points
/// count.
__device__ inline SampleRanks bracket_ranks(const double2* __restrict__ sums, std::uint32_t begin, std::uint32_t size,
                                            double share) {
  const double2 before = begin > 0 ? sums[begin - 1] : make_double2(0, 0);
  const double2 end = sums[begin + size - 1];
  const double sum = end.x - before.x;
  const double spread = share * (1 - share);
  if (!(sum > 0)) {
    const double reach = kWideSigmas * sqrt(size * spread) + 2;
    return {static_cast<std::int64_t>(size * share - reach), static_cast<std::int64_t>(size * share + reach),
            min(max(static_cast<std::uint32_t>(size * share), 1U), size - 1)};
  }
  const double reach = kWideSigmas * sqrt(max(end.y - before.y, 0.0) * spread);
  // How many points of the sample it takes to reach a weight.
  const auto rank_of = [&](double weight) {
    std::uint32_t low = 0;
    std::uint32_t high = size;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (sums[begin + middle].x - before.x < weight)
        low = middle + 1;
      else
        high = middle;
    }
    return low;  // size: not reached
  };
  return {std::int64_t{rank_of(sum * share - reach)} - 2, std::int64_t{rank_of(sum * share + reach)} + 2,
          min(max(rank_of(sum * share), 1U), size - 1)};
}

/// Brackets of a level's nodes; prepares the children. As wide_guess_kernel.
template <class T, int Dim>
__global__ void weighted_guess_kernel(const float* __restrict__ sample, const std::uint32_t* __restrict__ order,
                                      const double2* __restrict__ sums, int level, double side_tolerance,
                                      WideGuess<T, Dim>* guesses, float2* table, float* scales) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t first = 1U << static_cast<unsigned>(level);
  if (k >= first) return;
  const std::uint32_t v = first + k;
  WideGuess<T, Dim>& guess = guesses[v];
  if (guess.leaves < 2 || guess.end < guess.begin + kWideSegment) return;
  const std::uint32_t left = left_leaves(guess.leaves);
  const std::uint32_t size = guess.end - guess.begin;
  const SampleRanks ranks = bracket_ranks(sums, guess.begin, size, static_cast<double>(left) / guess.leaves);
  const int axis = guess.axis;
  const auto at = [&](std::int64_t rank) {
    return sample[std::uint64_t{order[guess.begin + static_cast<std::uint32_t>(rank)]} * Dim + axis];
  };
  const float scale = place_scale(guess);
  const float place = scale > 0.0F ? 1.0F / scale : 0.0F;
  const float box_low = static_cast<float>(guess.box.lower[axis]);
  const float box_high = static_cast<float>(guess.box.upper[axis]);
  const float low = low_end(fminf(fmaxf(ranks.low >= 0 ? at(ranks.low) - place : box_low, -FLT_MAX), FLT_MAX), axis);
  const float high = fmaxf(fminf(ranks.high < size ? at(ranks.high) + place : box_high, FLT_MAX), -FLT_MAX);
  table[v] = make_float2(low, high);
  const float bin_scale = static_cast<float>(wide_bins(level)) / (high - low);
  scales[v] = high > low && bin_scale < 1e30F ? bin_scale : 0.0F;
  guess.cut = ranks.cut;
  guess.inner = 1;
  const T plane = min(max(static_cast<T>(at(ranks.cut)), guess.box.lower[axis]), guess.box.upper[axis]);
  for (std::uint32_t side = 0; side < 2; ++side) {
    WideGuess<T, Dim>& child = guesses[2 * v + side];
    child.leaves = side == 0 ? left : guess.leaves - left;
    child.box = guess.box;
    if (side == 0)
      child.box.upper[axis] = plane;
    else
      child.box.lower[axis] = plane;
    child.axis = cut_axis(child.box, side_tolerance);
  }
}

// ---- The walk -------------------------------------------------------------------------------------------------------

constexpr std::size_t weighted_shared(int levels) {
  return (std::size_t{1} << static_cast<unsigned>(levels)) * (sizeof(float2) + 6 * sizeof(std::uint32_t));
}

/// Counts and weighs codes in shared memory. Words: two words a weight (add_in_two_words), else one addition of 64
/// bits.
template <bool Words>
struct SharedSums {
  std::uint32_t* counts;
  std::uint32_t* words;  ///< 2 a code
  std::uint32_t codes;

  __device__ void add(std::uint32_t v, std::uint64_t weight) const {
    atomicAdd(&counts[v], 1U);
    if constexpr (Words)
      add_in_two_words(&words[v], &words[codes + v], weight);
    else
      add_weight(reinterpret_cast<std::uint64_t*>(words) + v, weight);
  }
  __device__ std::uint64_t weight(std::uint32_t v) const {
    if constexpr (Words)
      return (std::uint64_t{words[codes + v]} << 32U) | words[v];
    else
      return reinterpret_cast<const std::uint64_t*>(words)[v];
  }
};

/// Walks all points down, as wide_classify_kernel: codes, counts and weights by code, entries of those in brackets.
/// Bytes a point of 12: 22, besides 32 an entry. `weights` has room for a multiple of 4. Blocks stay; one a
/// multiprocessor, for shared memory holds all brackets, counts and weights: 128 KB at 12 levels.
template <class T, int Dim, int Threads, int Groups, bool Words>
__global__ void __launch_bounds__(Threads, 1)
    weighted_classify_kernel(const T* __restrict__ points, const std::uint64_t* __restrict__ weights, std::uint64_t n,
                             int levels, std::uint16_t* __restrict__ codes, CodeSums sums,
                             const WeightedLists<T, Dim> lists) {
  extern __shared__ __align__(16) unsigned char memory[];
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  auto* const table = reinterpret_cast<float2*>(memory);
  auto* const words = reinterpret_cast<std::uint32_t*>(table + first);
  const SharedSums<Words> mine{words + 4 * first, words, 2 * first};
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  for (std::uint32_t v = threadIdx.x; v < first; v += Threads) table[v] = lists.table[v];
  for (std::uint32_t k = threadIdx.x; k < 6 * first; k += Threads) words[k] = 0;
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  WeightedPlaces<T, Dim> places{taken, base};
  constexpr int kPoints = 4 * Groups;
  constexpr std::uint64_t kBlock = std::uint64_t{Threads} * kPoints;
  for (std::uint64_t begin = blockIdx.x * kBlock; begin < n; begin += gridDim.x * kBlock) {
    T x[Groups][4][Dim];
    std::uint32_t v[kPoints];
    std::uint32_t place[kPoints];
#pragma unroll
    for (int g = 0; g < Groups; ++g)
      load_four<T, Dim>(points, begin + (g * Threads + threadIdx.x) * std::uint64_t{4}, n, x[g]);
#pragma unroll
    for (int j = 0; j < kPoints; ++j) v[j] = 1;
    for (int level = 0; level < levels; ++level)
#pragma unroll
      for (int j = 0; j < kPoints; ++j) {
        float c[Dim];
#pragma unroll
        for (int a = 0; a < Dim; ++a) c[a] = static_cast<float>(x[j / 4][j % 4][a]);
        step_down<Dim>(table, c, v[j]);
      }
    std::uint64_t weight[kPoints];
#pragma unroll
    for (int j = 0; j < kPoints; ++j) {
      const std::uint64_t i = begin + ((j / 4) * Threads + threadIdx.x) * std::uint64_t{4} + j % 4;
      weight[j] = 0;
      if (i < n) {
        weight[j] = __ldg(reinterpret_cast<const unsigned long long*>(weights) + i);
        mine.add(v[j], weight[j]);
      } else {
        v[j] = first;  // no point: not in a bracket
      }
      place[j] = v[j] < first ? places.take(v[j]) : 0;
    }
    places.reserve(lists);
#pragma unroll
    for (int g = 0; g < Groups; ++g) {
      const std::uint64_t i = begin + (g * Threads + threadIdx.x) * std::uint64_t{4};
      if (i < n)
        __stcs(reinterpret_cast<uint2*>(codes + i),
               make_uint2(v[4 * g] | v[4 * g + 1] << 16U, v[4 * g + 2] | v[4 * g + 3] << 16U));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (v[4 * g + j] >= first) continue;
        WeightedEntry<T, Dim> entry;
#pragma unroll
        for (int a = 0; a < Dim; ++a) entry.x[a] = x[g][j][a];
        entry.position = static_cast<std::uint32_t>(i + j);
        entry.node = v[4 * g + j];
        entry.weight = weight[4 * g + j];
        places.put(lists, table, entry, place[4 * g + j]);
      }
    }
  }
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += Threads) {
    if (mine.counts[v] == 0) continue;
    atomicAdd(&sums.counts[v], mine.counts[v]);
    add_weight(&sums.weights[v], mine.weight(v));
  }
}

}  // namespace amrbench::partitioners::gpu
