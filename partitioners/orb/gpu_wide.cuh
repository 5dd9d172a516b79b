#pragma once
// Kernels of gpu_wide.cu: guess the cuts of up to 12 levels below the root from a sample, and walk all points down.
//
// Nodes are a heap: root 1, children 2v and 2v + 1. A point's code is the node at which its walk ended: one of the last
// level, 2^levels or more, or one above, whose bracket it met. Coordinates are compared as floats, doubles rounded to
// them: rounding keeps order, so what lies left of a bracket, in it and right of it is in order too.
#include <cfloat>

#include "partitioners/orb/gpu_kernels.cuh"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

constexpr int kWideLevels = 12;
constexpr std::uint32_t kWideInner = 1U << kWideLevels;
constexpr std::uint32_t kWideNodes = 2 * kWideInner;
/// Half-width of a bracket in standard deviations of the sample's rank. Errors of the cuts above on the same axis add
/// some 7 % to that deviation: about 1 cut in 100000 is missed.
constexpr float kWideSigmas = 4.75F;
/// A node with fewer points of the sample is left to a later round.
constexpr std::uint32_t kWideSegment = 128;
/// Bits of a sample point's place between the sides of its node's box.
constexpr int kPlaceBits = 20;

/// What the sample says of a node.
template <class T, int Dim>
struct WideGuess {
  OrbBox<T, Dim> box;
  std::int32_t axis, inner;
  std::uint32_t leaves;
  std::uint32_t begin, end, cut;  ///< ranks in the sorted sample
};

/// A point in a bracket.
template <class T, int Dim>
struct WideEntry {
  T x[Dim];
  std::uint32_t position, node;
};

/// Bins of a bracket at a level, and where those of the level's first node begin.
__host__ __device__ constexpr std::uint32_t wide_bins(int level) {
  return level < 5 ? 16384U >> static_cast<unsigned>(level) : 512U;
}
__host__ __device__ constexpr std::uint32_t wide_bins_begin(int level) {
  return level < 6 ? 16384U * static_cast<unsigned>(level)
                   : 6U * 16384U + ((1U << static_cast<unsigned>(level)) - 64U) * 512U;
}

/// The brackets, and where points in them go: a list and a histogram a level.
template <class T, int Dim>
struct WideLists {
  WideEntry<T, Dim>* entries[kWideLevels];
  std::uint32_t capacity[kWideLevels];
  std::uint32_t* sizes;     ///< [level]
  std::uint32_t* overflow;  ///< set when an entry had no room
  std::uint32_t* bins;
  const float2* table;  ///< [node]: low end, its two last bits the axis, and high end; outer nodes send all left
  const float* scales;  ///< [node]: bins by coordinate
};

/// Never falls as c rises.
__device__ inline std::uint32_t wide_bin(float c, float low, float scale, int level) {
  const float position = (c - low) * scale;
  const auto last = static_cast<float>(wide_bins(level) - 1U);
  return static_cast<std::uint32_t>(position < last ? (position > 0.0F ? position : 0.0F) : last);
}

template <int Dim>
__device__ inline float on_axis(const float (&c)[Dim], std::uint32_t axis) {
  float x = c[0];
  if ((axis & 1U) != 0U) x = c[1];
  if (Dim == 3 && (axis & 2U) != 0U) x = c[Dim - 1];
  return x;
}

/// One level down, unless the point meets the bracket of v.
template <int Dim>
__device__ inline void step_down(const float2* table, const float (&c)[Dim], std::uint32_t& v) {
  const float2 bracket = table[v];
  const float x = on_axis<Dim>(c, __float_as_uint(bracket.x));
  if (x < bracket.x)
    v = 2 * v;
  else if (x > bracket.y)
    v = 2 * v + 1;
}

/// Places for entries in the lists, one global atomic a level and block. All threads of the block call in this order:
/// take() for each entry, reserve() once, put() for each entry; then it can be used again after a barrier.
template <class T, int Dim>
struct WidePlaces {
  std::uint32_t* taken;  ///< shared, [kWideLevels], zero at first
  std::uint32_t* base;   ///< shared, [kWideLevels]

  __device__ std::uint32_t take(std::uint32_t v) { return atomicAdd(&taken[31 - __clz(static_cast<int>(v))], 1U); }
  __device__ void reserve(const WideLists<T, Dim>& lists) {
    __syncthreads();
    if (threadIdx.x < kWideLevels) {
      const std::uint32_t n = taken[threadIdx.x];
      base[threadIdx.x] = n > 0 ? atomicAdd(&lists.sizes[threadIdx.x], n) : 0;
      taken[threadIdx.x] = 0;
    }
    __syncthreads();
  }
  __device__ void put(const WideLists<T, Dim>& lists, const float2* table, const WideEntry<T, Dim>& entry,
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
    for (int a = 0; a < Dim; ++a) c[a] = static_cast<float>(entry.x[a]);
    const std::uint32_t bin = wide_bin(on_axis<Dim>(c, __float_as_uint(low)), low, lists.scales[entry.node], level);
    const std::uint32_t first = 1U << static_cast<unsigned>(level);
    atomicAdd(&lists.bins[wide_bins_begin(level) + (entry.node - first) * wide_bins(level) + bin], 1U);
  }
};

// ---- The sample -----------------------------------------------------------------------------------------------------

/// The root, exact; all nodes outer.
template <class T, int Dim>
__global__ void wide_start_kernel(OrbBox<T, Dim> box, std::uint32_t n, std::uint32_t leaves, double side_tolerance,
                                  WideGuess<T, Dim>* guesses, Node<T, Dim>* nodes, float2* table, float* scales) {
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
  nodes[1].known = 1;
}

/// One position at random out of each of m equal stretches of the n points.
template <class T, int Dim>
__global__ void wide_sample_kernel(const T* __restrict__ points, std::uint64_t n, std::uint32_t m,
                                   float* __restrict__ sample, std::uint32_t* order, std::uint32_t* node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const std::uint64_t begin = i * n / m;
  const auto length = static_cast<std::uint32_t>((i + 1) * n / m - begin);  // >= 1, for m <= n
  const std::uint64_t at = begin + __umulhi(static_cast<std::uint32_t>(scatter(i)), length);
  for (int a = 0; a < Dim; ++a) sample[std::uint64_t{i} * Dim + a] = static_cast<float>(points[at * Dim + a]);
  order[i] = i;
  node[i] = 1;
}

template <class T, int Dim>
__device__ inline float place_scale(const WideGuess<T, Dim>& guess) {
  const float width = static_cast<float>(guess.box.upper[guess.axis]) - static_cast<float>(guess.box.lower[guess.axis]);
  const float scale = static_cast<float>(1U << kPlaceBits) / width;
  return width > 0.0F && scale < 1e30F ? scale : 0.0F;
}

/// Sort keys of a level: node, then place in its box; the sample's points in outer nodes come last.
template <class T, int Dim>
__global__ void wide_keys_kernel(const float* __restrict__ sample, const std::uint32_t* __restrict__ order,
                                 const std::uint32_t* __restrict__ node, const WideGuess<T, Dim>* __restrict__ guesses,
                                 std::uint32_t m, int level, std::uint32_t* __restrict__ keys) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const std::uint32_t v = node[i];
  if (v == 0) {
    keys[i] = 1U << static_cast<unsigned>(kPlaceBits + level);
    return;
  }
  const WideGuess<T, Dim>& guess = guesses[v];
  const float c = sample[std::uint64_t{order[i]} * Dim + guess.axis];
  const float position = (c - static_cast<float>(guess.box.lower[guess.axis])) * place_scale(guess);
  constexpr auto kLast = static_cast<float>((1U << kPlaceBits) - 1U);
  const float place = position < kLast ? (position > 0.0F ? position : 0.0F) : kLast;
  keys[i] = ((v - (1U << static_cast<unsigned>(level))) << kPlaceBits) | static_cast<std::uint32_t>(place);
}

/// Where each node's part of the sorted sample begins and ends.
template <class T, int Dim>
__global__ void wide_segments_kernel(const std::uint32_t* __restrict__ keys, std::uint32_t m, int level,
                                     WideGuess<T, Dim>* guesses) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const std::uint32_t k = keys[i] >> kPlaceBits;
  const std::uint32_t first = 1U << static_cast<unsigned>(level);
  if (k >= first) return;
  if (i == 0 || keys[i - 1] >> kPlaceBits != k) guesses[first + k].begin = i;
  if (i + 1 == m || keys[i + 1] >> kPlaceBits != k) guesses[first + k].end = i + 1;
}

/// A float at most 7 steps below x with the axis in its last two bits. Groups of four bit patterns are groups of four
/// neighbours for either sign.
__device__ inline float low_end(float x, int axis) {
  constexpr std::uint32_t kLowest = 0x00800000U;  // key of -FLT_MAX
  const std::uint32_t key = float_key(x);
  const float below = key_float(key < kLowest + 4U ? kLowest : key - 4U);
  return __uint_as_float((__float_as_uint(below) & ~3U) | static_cast<std::uint32_t>(axis));
}

/// Brackets of a level's nodes from ranks of the sorted sample; prepares the children. Points within one place of the
/// box stand in any order, so a bracket is wider by a place on both sides.
template <class T, int Dim>
__global__ void wide_guess_kernel(const float* __restrict__ sample, const std::uint32_t* __restrict__ order, int level,
                                  double side_tolerance, WideGuess<T, Dim>* guesses, float2* table, float* scales) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t first = 1U << static_cast<unsigned>(level);
  if (k >= first) return;
  const std::uint32_t v = first + k;
  WideGuess<T, Dim>& guess = guesses[v];
  if (guess.leaves < 2 || guess.end < guess.begin + kWideSegment) return;
  const std::uint32_t left = left_leaves(guess.leaves);
  const std::uint32_t size = guess.end - guess.begin;
  const double share = static_cast<double>(left) / guess.leaves;
  const auto reach = static_cast<std::uint32_t>(kWideSigmas * sqrt(size * share * (1 - share))) + 2;
  const auto cut = min(max(static_cast<std::uint32_t>(size * share), 1U), size - 1);
  const int axis = guess.axis;
  const auto at = [&](std::uint32_t rank) { return sample[std::uint64_t{order[guess.begin + rank]} * Dim + axis]; };
  const float scale = place_scale(guess);
  const float place = scale > 0.0F ? 1.0F / scale : 0.0F;
  const float box_low = static_cast<float>(guess.box.lower[axis]);
  const float box_high = static_cast<float>(guess.box.upper[axis]);
  // fmaxf and fminf pass over NaN.
  const float low = low_end(fminf(fmaxf(cut >= reach ? at(cut - reach) - place : box_low, -FLT_MAX), FLT_MAX), axis);
  const float high = fmaxf(fminf(cut + reach < size ? at(cut + reach) + place : box_high, FLT_MAX), -FLT_MAX);
  table[v] = make_float2(low, high);
  const float bin_scale = static_cast<float>(wide_bins(level)) / (high - low);
  scales[v] = high > low && bin_scale < 1e30F ? bin_scale : 0.0F;
  guess.cut = cut;
  guess.inner = 1;
  const T plane = min(max(static_cast<T>(at(cut)), guess.box.lower[axis]), guess.box.upper[axis]);
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

/// Sends the sorted sample down a level; 0: its node is outer.
template <class T, int Dim>
__global__ void wide_down_kernel(const std::uint32_t* __restrict__ keys, std::uint32_t m, int level,
                                 const WideGuess<T, Dim>* __restrict__ guesses, std::uint32_t* __restrict__ node) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  const std::uint32_t first = 1U << static_cast<unsigned>(level);
  const std::uint32_t k = keys[i] >> kPlaceBits;
  if (k >= first || guesses[first + k].inner == 0) {
    node[i] = 0;
    return;
  }
  const WideGuess<T, Dim>& guess = guesses[first + k];
  node[i] = 2 * (first + k) + (i - guess.begin >= guess.cut ? 1U : 0U);
}

// ---- The walk -------------------------------------------------------------------------------------------------------

constexpr std::size_t wide_shared(int levels) {
  return (std::size_t{1} << static_cast<unsigned>(levels)) * (sizeof(float2) + 2 * sizeof(std::uint32_t));
}

/// Four points from `first` on by 16-byte loads; fewer where the input ends.
template <class T, int Dim>
__device__ inline void load_four(const T* __restrict__ points, std::uint64_t first, std::uint64_t n, T (&x)[4][Dim]) {
  if (first + 4 <= n) {
    constexpr int kWords = static_cast<int>(4 * Dim * sizeof(T) / sizeof(uint4));
    union {
      uint4 words[kWords];
      T values[4][Dim];
    } loaded;
    const auto* from = reinterpret_cast<const uint4*>(points + first * Dim);
#pragma unroll
    for (int w = 0; w < kWords; ++w) loaded.words[w] = __ldcs(from + w);
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int a = 0; a < Dim; ++a) x[j][a] = loaded.values[j][a];
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int a = 0; a < Dim; ++a) x[j][a] = first + j < n ? points[(first + j) * Dim + a] : T(0);
}

/// Walks all points down: codes (room for a multiple of 4), counts by code, entries of those in brackets. Bytes a point
/// of 12: 14, besides 20 an entry. `points` and `codes` aligned to 16 bytes. Groups: of 4 points a thread at a time.
/// Blocks stay and go through the input by strides; shared memory holds all brackets and counts.
template <class T, int Dim, int Groups, int Blocks>
__global__ void __launch_bounds__(kThreads, Blocks)
    wide_classify_kernel(const T* __restrict__ points, std::uint64_t n, int levels, std::uint16_t* __restrict__ codes,
                         std::uint32_t* __restrict__ code_counts, const WideLists<T, Dim> lists) {
  extern __shared__ __align__(16) unsigned char memory[];
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  auto* const table = reinterpret_cast<float2*>(memory);
  auto* const counts = reinterpret_cast<std::uint32_t*>(table + first);
  __shared__ std::uint32_t taken[kWideLevels];
  __shared__ std::uint32_t base[kWideLevels];
  for (std::uint32_t v = threadIdx.x; v < first; v += kThreads) table[v] = lists.table[v];
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kThreads) counts[v] = 0;
  if (threadIdx.x < kWideLevels) taken[threadIdx.x] = 0;
  __syncthreads();
  WidePlaces<T, Dim> places{taken, base};
  constexpr int kPoints = 4 * Groups;
  constexpr std::uint64_t kBlock = std::uint64_t{kThreads} * kPoints;
  for (std::uint64_t begin = blockIdx.x * kBlock; begin < n; begin += gridDim.x * kBlock) {
    T x[Groups][4][Dim];
    std::uint32_t v[kPoints];
    std::uint32_t place[kPoints];
#pragma unroll
    for (int g = 0; g < Groups; ++g) {
      const std::uint64_t i = begin + (g * kThreads + threadIdx.x) * std::uint64_t{4};
      load_four<T, Dim>(points, i, n, x[g]);
    }
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
#pragma unroll
    for (int j = 0; j < kPoints; ++j) {
      const std::uint64_t i = begin + ((j / 4) * kThreads + threadIdx.x) * std::uint64_t{4} + j % 4;
      if (i >= n) v[j] = first;  // no point: not in a bracket
      if (i < n) atomicAdd(&counts[v[j]], 1U);
      place[j] = v[j] < first ? places.take(v[j]) : 0;
    }
    places.reserve(lists);
#pragma unroll
    for (int g = 0; g < Groups; ++g) {
      const std::uint64_t i = begin + (g * kThreads + threadIdx.x) * std::uint64_t{4};
      if (i < n)
        __stcs(reinterpret_cast<uint2*>(codes + i),
               make_uint2(v[4 * g] | v[4 * g + 1] << 16U, v[4 * g + 2] | v[4 * g + 3] << 16U));
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (v[4 * g + j] >= first) continue;
        WideEntry<T, Dim> entry;
#pragma unroll
        for (int a = 0; a < Dim; ++a) entry.x[a] = x[g][j][a];
        entry.position = static_cast<std::uint32_t>(i + j);
        entry.node = v[4 * g + j];
        places.put(lists, table, entry, place[4 * g + j]);
      }
    }
  }
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kThreads)
    if (counts[v] > 0) atomicAdd(&code_counts[v], counts[v]);
}

}  // namespace amrbench::partitioners::gpu
