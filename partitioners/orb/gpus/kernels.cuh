#pragma once
// Kernels of gpus/local.cu that go over all of a rank's points: boxes and bad values, sums of weights,
// samples, and the walk, which gives each point a code of a byte and counts (and weighs) the points of each code.
// Positions and counts of a rank's points are below 2^32; loops run in 64 bits.
#include <cstdint>
#include <cstring>
#include <cub/block/block_reduce.cuh>
#include <limits>

#include "partitioners/orb/gpu/level_kernels.cuh"
#include "partitioners/orb/gpus/local.hpp"

namespace amrbench::partitioners::gpu {

constexpr int kLocalThreads = 256;
constexpr int kLocalWarps = kLocalThreads / 32;
/// Nodes of a round that are walked through: 1 .. 63.
constexpr int kWalkNodes = kRoundNodes / 2;
/// Points of a tile of the pack, and a thread's share of them.
template <class T>
constexpr int kPackItems = 32 / sizeof(T);
template <class T>
constexpr unsigned kPackTile = kLocalThreads* kPackItems<T>;

/// A guess as the kernels read it. Nodes that nobody waits for have low = infinity: all points pass to the left.
template <class T>
struct WalkTables {
  T low[kWalkNodes];
  T high[kWalkNodes];
  std::uint8_t axis[kWalkNodes];
  int levels;
};

template <class T, int Dim>
__device__ inline OrbPoint<T, Dim> load(const DeviceSource<T, Dim>& source, std::uint64_t i) {
  return point_at<T, Dim>(source.points + i * Dim,
                          source.ids != nullptr ? source.ids[i] : source.first + static_cast<std::uint32_t>(i));
}

/// As to_fixed_point() has it.
__device__ inline std::uint64_t weight_unit(double weight, int exponent) {
  return __double2ull_rn(ldexp(weight, exponent));
}
template <class T, int Dim>
__device__ inline std::uint64_t load_weight(const DeviceSource<T, Dim>& source, std::uint64_t i) {
  return weight_unit(source.weights[i], source.exponent);
}

template <class T, int Dim>
__device__ inline T coordinate(const T* x, int axis) {
  if constexpr (Dim == 2) return axis == 0 ? x[0] : x[1];
  return axis == 0 ? x[0] : axis == 1 ? x[1] : x[Dim - 1];
}

/// The code of a point from node v on, as RoundTree gives it.
template <class T, int Dim>
__device__ inline std::uint32_t walk_from(std::uint32_t v, const T* x, const T* low, const T* high,
                                          const std::uint8_t* axis, int levels) {
  const std::uint32_t bottom = 1U << levels;
  while (v < bottom) {
    const T c = coordinate<T, Dim>(x, axis[v]);
    const bool right = c >= low[v];
    if (right && c <= high[v]) return kStopped + v;
    v = 2 * v + (right ? 1U : 0U);
  }
  return v - bottom;
}

/// Four points from `first` on, a multiple of 4, as far as they are among begin .. end - 1; others stay as they are in
/// x. together: all are, and at a multiple of 16 bytes.
template <class T, int Dim>
__device__ inline void load_quad(const T* points, std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                 bool together, T (&x)[4 * Dim]) {
  if (together) {
    constexpr int kWords = static_cast<int>(4 * Dim * sizeof(T) / sizeof(uint4));
    const auto* const from = reinterpret_cast<const uint4*>(points + first * Dim);
    uint4 words[kWords];
#pragma unroll
    for (int k = 0; k < kWords; ++k) words[k] = __ldcs(from + k);
    memcpy(&x, &words, sizeof(words));
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (first + j >= begin && first + j < end)
#pragma unroll
      for (int a = 0; a < Dim; ++a) x[j * Dim + a] = points[(first + j) * Dim + a];
}

template <class T, int Dim>
__host__ __device__ inline Findings<T, Dim> no_findings(std::uint64_t n) {
  Findings<T, Dim> none;
  for (int a = 0; a < Dim; ++a) {
    none.lower[a] = std::numeric_limits<T>::max();
    none.upper[a] = -std::numeric_limits<T>::max();
  }
  none.bad = none.bad_weight = n;
  none.largest = 0;
  return none;
}

/// Findings of two shares of the points as one.
struct JoinFindings {
  template <class T, int Dim>
  __host__ __device__ Findings<T, Dim> operator()(Findings<T, Dim> a, const Findings<T, Dim>& b) const {
    for (int k = 0; k < Dim; ++k) {
      a.lower[k] = b.lower[k] < a.lower[k] ? b.lower[k] : a.lower[k];
      a.upper[k] = b.upper[k] > a.upper[k] ? b.upper[k] : a.upper[k];
    }
    a.bad = b.bad < a.bad ? b.bad : a.bad;
    a.bad_weight = b.bad_weight < a.bad_weight ? b.bad_weight : a.bad_weight;
    a.largest = b.largest > a.largest ? b.largest : a.largest;
    return a;
  }
};

/// weights: null where there are none.
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    examine_kernel(const T* __restrict__ points, const double* __restrict__ weights, std::uint64_t n,
                   Findings<T, Dim>* blocks) {
  constexpr T kMost = std::numeric_limits<T>::max();
  Findings<T, Dim> mine = no_findings<T, Dim>(n);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; i < n; i += stride) {
    if (weights != nullptr) {
      const double w = weights[i];
      const bool good = w >= 0 && w <= std::numeric_limits<double>::max();
      if (!good && i < mine.bad_weight) mine.bad_weight = i;
      if (good && w > mine.largest) mine.largest = w;
    }
#pragma unroll
    for (int a = 0; a < Dim; ++a) {
      const T x = points[i * Dim + a];
      mine.lower[a] = x < mine.lower[a] ? x : mine.lower[a];
      mine.upper[a] = x > mine.upper[a] ? x : mine.upper[a];
      if (!(x >= -kMost && x <= kMost) && i < mine.bad) mine.bad = i;
    }
  }
  using Reduce = cub::BlockReduce<Findings<T, Dim>, kLocalThreads>;
  __shared__ typename Reduce::TempStorage memory;
  const Findings<T, Dim> all = Reduce(memory).Reduce(mine, JoinFindings{});
  if (threadIdx.x == 0) blocks[blockIdx.x] = all;
}

/// Adds all weights, as integers, to total.
__global__ void __launch_bounds__(kLocalThreads)
    add_weights_kernel(const double* __restrict__ weights, std::uint64_t n, int exponent, std::uint64_t* total) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  std::uint64_t sum = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; i < n; i += stride)
    sum += weight_unit(weights[i], exponent);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0 && sum > 0) add_weight(total, sum);
}

/// weights: null where none are wanted.
template <class T, int Dim>
__global__ void stretch_kernel(DeviceSource<T, Dim> source, detail::SampleStretch stretch, OrbPoint<T, Dim>* out,
                               std::uint64_t* weights) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= stretch.size) return;
  out[i] = load(source, stretch.position(i));
  if (weights != nullptr) weights[i] = load_weight(source, stretch.position(i));
}

/// Counts the codes that a block writes. With up to 2 levels there are at most 8 codes, and each thread counts them in
/// the 8 bytes of a word of its own; with more levels a warp counts its codes together. All threads of a block must
/// call equally often.
struct CodeCounts {
  std::uint32_t* shared;  ///< [256], 0 before
  bool few;
  std::uint64_t bytes = 0;
  unsigned used = 0;

  /// A few codes as 0 .. 7: reached 0 .. 3, stopped at node v 4 + v.
  [[nodiscard]] __device__ static std::uint32_t code_of(unsigned byte) { return byte < 4 ? byte : kStopped + byte - 4; }
  __device__ void add(std::uint32_t code, bool valid) {
    if (few) {
      const std::uint32_t byte = code < kStopped ? code : code - kStopped + 4;
      if (valid) bytes += std::uint64_t{1} << (8 * byte);
      if (++used == 255) flush();
      return;
    }
    const unsigned same = __match_any_sync(kFull, valid ? code : 256U);
    if (valid && (threadIdx.x & 31U) == static_cast<unsigned>(__ffs(static_cast<int>(same))) - 1U)
      atomicAdd(&shared[code], static_cast<std::uint32_t>(__popc(same)));
  }
  __device__ void flush() {
    if (!few) return;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned sum = __reduce_add_sync(kFull, static_cast<unsigned>(bytes >> (8 * k)) & 255U);
      if ((threadIdx.x & 31U) == 0 && sum > 0) atomicAdd(&shared[code_of(k)], sum);
    }
    bytes = 0;
    used = 0;
  }
};

/// Sums of the weights of a block's codes, beside CodeCounts: few codes in a thread's registers, more in two words of
/// shared memory each.
struct CodeWeights {
  std::uint32_t* low;   ///< [256], shared, 0 before
  std::uint32_t* high;  ///< the same
  bool few;
  unsigned long long sums[8] = {};

  __device__ void add(std::uint32_t code, std::uint64_t weight) {
    if (!few) return add_in_two_words(&low[code], &high[code], weight);
    const std::uint32_t slot = code < kStopped ? code : code - kStopped + 4;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) sums[k] += slot == k ? weight : 0;
  }
  /// All threads of a warp call.
  __device__ void flush() const {
    if (!few) return;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const std::uint64_t sum = warp_sum(sums[k]);
      const std::uint32_t code = CodeCounts::code_of(k);
      if ((threadIdx.x & 31U) == 0 && sum > 0) add_in_two_words(&low[code], &high[code], sum);
    }
  }
};

/// All threads of a block call.
__device__ inline void clear_weights(std::uint32_t* low, std::uint32_t* high) {
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) low[k] = high[k] = 0;
  __syncthreads();
}
__device__ inline void give_weights(const std::uint32_t* low, const std::uint32_t* high, std::uint64_t* weights) {
  __syncthreads();
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x)
    if ((low[k] | high[k]) != 0U) add_weight(&weights[k], (std::uint64_t{high[k]} << 32U) | low[k]);
}

template <class T>
__device__ inline void share_tables(const WalkTables<T>& tables, T* low, T* high, std::uint8_t* axis,
                                    std::uint32_t* counts) {
  if (threadIdx.x < kWalkNodes) {
    low[threadIdx.x] = tables.low[threadIdx.x];
    high[threadIdx.x] = tables.high[threadIdx.x];
    axis[threadIdx.x] = tables.axis[threadIdx.x];
  }
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x) counts[k] = 0;
  __syncthreads();
}
__device__ inline void give_counts(const std::uint32_t* shared, std::uint32_t* counts) {
  __syncthreads();
  for (unsigned k = threadIdx.x; k < 256; k += blockDim.x)
    if (shared[k] > 0) atomicAdd(&counts[k], shared[k]);
}

/// Weights of points, and where sums by code go.
struct WalkWeights {
  const double* weights;
  int exponent;
  std::uint64_t* sums;
};

/// Walks points begin .. end - 1 down from the root: a code for each, how many have it, and where Weighted what they
/// weigh. Aligned: points and weights are at multiples of 16 bytes. A thread takes points by four, from multiples of 4
/// on.
template <class T, int Dim, bool Aligned, bool Weighted>
__global__ void __launch_bounds__(kLocalThreads)
    walk_kernel(const T* __restrict__ points, std::uint64_t begin, std::uint64_t end, const WalkTables<T> tables,
                std::uint8_t* __restrict__ codes, std::uint32_t* counts, const WalkWeights weights) {
  __shared__ T low[kWalkNodes], high[kWalkNodes];
  __shared__ std::uint8_t axis[kWalkNodes];
  __shared__ std::uint32_t shared[256];
  __shared__ std::uint32_t weight_words[Weighted ? 512 : 1];
  share_tables(tables, low, high, axis, shared);
  if constexpr (Weighted) clear_weights(weight_words, weight_words + 256);
  const int levels = tables.levels;
  CodeCounts counted{shared, levels <= 2};
  CodeWeights weighed{weight_words, weight_words + (Weighted ? 256 : 0), levels <= 2};
  const std::uint64_t last = (end + 3) / 4;  // quads
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = begin / 4 + std::uint64_t{blockIdx.x} * kLocalThreads; block < last; block += stride) {
    const std::uint64_t first = 4 * (block + threadIdx.x);
    const bool whole = first >= begin && first + 4 <= end;
    T x[4 * Dim] = {};
    load_quad<T, Dim>(points, first, begin, end, Aligned && whole, x);
    double w[4] = {};
    if constexpr (Weighted) load_quad<double, 1>(weights.weights, first, begin, end, Aligned && whole, w);
    std::uint32_t code[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      code[j] = walk_from<T, Dim>(1, x + j * Dim, low, high, axis, levels);
      counted.add(code[j], first + j >= begin && first + j < end);
      if constexpr (Weighted) weighed.add(code[j], weight_unit(w[j], weights.exponent));  // 0 of what is no point
    }
    if (whole) {
      *reinterpret_cast<std::uint32_t*>(codes + first) = code[0] | code[1] << 8U | code[2] << 16U | code[3] << 24U;
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (first + j >= begin && first + j < end) codes[first + j] = static_cast<std::uint8_t>(code[j]);
    }
  }
  counted.flush();
  give_counts(shared, counts);
  if constexpr (Weighted) {
    weighed.flush();
    give_weights(weight_words, weight_words + 256, weights.sums);
  }
}

}  // namespace amrbench::partitioners::gpu
