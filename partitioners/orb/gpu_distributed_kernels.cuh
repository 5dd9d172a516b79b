#pragma once
// Kernels of gpu_distributed_local.cu. Positions and counts of a rank's points are below 2^32; loops run in 64 bits.
#include <cstdint>
#include <cstring>
#include <limits>

#include "partitioners/orb/gpu_distributed_local.hpp"

namespace amrbench::partitioners::gpu {

constexpr unsigned kEveryLane = 0xffffffffU;
constexpr int kLocalThreads = 256;
constexpr int kLocalWarps = kLocalThreads / 32;
/// Nodes of a round that are walked through: 1 .. 63.
constexpr int kWalkNodes = kRoundNodes / 2;
/// Points of a tile of the pack, a thread's share of them, and the most slots of a cell.
template <class T>
constexpr int kPackItems = 32 / sizeof(T);
template <class T>
constexpr unsigned kPackTile = kLocalThreads* kPackItems<T>;
constexpr unsigned kPackSlots = 64;

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
  OrbPoint<T, Dim> p;
#pragma unroll
  for (int a = 0; a < Dim; ++a) p.x[a] = source.points[i * Dim + a];
  p.id = source.ids != nullptr ? source.ids[i] : source.first + static_cast<std::uint32_t>(i);
  return p;
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

/// Four points from a multiple of 4 on, 16 bytes at a time.
template <class T, int Dim>
__device__ inline void load_quad(const T* points, std::uint64_t first, T (&x)[4 * Dim]) {
  constexpr int kWords = static_cast<int>(4 * Dim * sizeof(T) / sizeof(uint4));
  const auto* const from = reinterpret_cast<const uint4*>(points + first * Dim);
  uint4 words[kWords];
#pragma unroll
  for (int k = 0; k < kWords; ++k) words[k] = __ldcs(from + k);
  memcpy(&x, &words, sizeof(words));
}

/// Box and first bad point of each block's share. bad: n where all are finite.
template <class T, int Dim>
struct BlockBox {
  T lower[Dim], upper[Dim];
  std::uint64_t bad;
};
template <class T, int Dim>
__global__ void __launch_bounds__(kLocalThreads)
    examine_kernel(const T* __restrict__ points, std::uint64_t n, BlockBox<T, Dim>* blocks) {
  constexpr T kMost = std::numeric_limits<T>::max();
  BlockBox<T, Dim> mine;
  for (int a = 0; a < Dim; ++a) {
    mine.lower[a] = kMost;
    mine.upper[a] = -kMost;
  }
  mine.bad = n;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kLocalThreads + threadIdx.x; i < n; i += stride)
#pragma unroll
    for (int a = 0; a < Dim; ++a) {
      const T x = points[i * Dim + a];
      mine.lower[a] = x < mine.lower[a] ? x : mine.lower[a];
      mine.upper[a] = x > mine.upper[a] ? x : mine.upper[a];
      if (!(x >= -kMost && x <= kMost) && i < mine.bad) mine.bad = i;
    }
  __shared__ BlockBox<T, Dim> warps[kLocalWarps];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
#pragma unroll
    for (int a = 0; a < Dim; ++a) {
      const T low = __shfl_down_sync(kEveryLane, mine.lower[a], step);
      const T high = __shfl_down_sync(kEveryLane, mine.upper[a], step);
      mine.lower[a] = low < mine.lower[a] ? low : mine.lower[a];
      mine.upper[a] = high > mine.upper[a] ? high : mine.upper[a];
    }
    const unsigned long long bad = __shfl_down_sync(kEveryLane, static_cast<unsigned long long>(mine.bad), step);
    mine.bad = bad < mine.bad ? bad : mine.bad;
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kLocalWarps; ++w) {
    for (int a = 0; a < Dim; ++a) {
      mine.lower[a] = warps[w].lower[a] < mine.lower[a] ? warps[w].lower[a] : mine.lower[a];
      mine.upper[a] = warps[w].upper[a] > mine.upper[a] ? warps[w].upper[a] : mine.upper[a];
    }
    mine.bad = warps[w].bad < mine.bad ? warps[w].bad : mine.bad;
  }
  blocks[blockIdx.x] = mine;
}

template <class T, int Dim>
__global__ void stretch_kernel(DeviceSource<T, Dim> source, detail::SampleStretch stretch, OrbPoint<T, Dim>* out) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < stretch.size) out[i] = load(source, stretch.position(i));
}

/// Counts of a block's codes. Up to 2 levels have at most 8 codes, which each thread counts in the bytes of a word;
/// more are counted a warp at a time. All threads of a block call, as often as each other.
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
    const unsigned same = __match_any_sync(kEveryLane, valid ? code : 256U);
    if (valid && (threadIdx.x & 31U) == static_cast<unsigned>(__ffs(static_cast<int>(same))) - 1U)
      atomicAdd(&shared[code], static_cast<std::uint32_t>(__popc(same)));
  }
  __device__ void flush() {
    if (!few) return;
#pragma unroll
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned sum = __reduce_add_sync(kEveryLane, static_cast<unsigned>(bytes >> (8 * k)) & 255U);
      if ((threadIdx.x & 31U) == 0 && sum > 0) atomicAdd(&shared[code_of(k)], sum);
    }
    bytes = 0;
    used = 0;
  }
};

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

/// Walks points begin .. end - 1 down from the root: a code for each, and how many have it. Aligned: `points` is a
/// multiple of 16 bytes. A thread takes points by four, from multiples of 4 on.
template <class T, int Dim, bool Aligned>
__global__ void __launch_bounds__(kLocalThreads)
    walk_kernel(const T* __restrict__ points, std::uint64_t begin, std::uint64_t end, const WalkTables<T> tables,
                std::uint8_t* __restrict__ codes, std::uint32_t* counts) {
  __shared__ T low[kWalkNodes], high[kWalkNodes];
  __shared__ std::uint8_t axis[kWalkNodes];
  __shared__ std::uint32_t shared[256];
  share_tables(tables, low, high, axis, shared);
  const int levels = tables.levels;
  CodeCounts counted{shared, levels <= 2};
  const std::uint64_t last = (end + 3) / 4;  // quads
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kLocalThreads;
  for (std::uint64_t block = begin / 4 + std::uint64_t{blockIdx.x} * kLocalThreads; block < last; block += stride) {
    const std::uint64_t first = 4 * (block + threadIdx.x);
    const bool whole = first >= begin && first + 4 <= end;
    T x[4 * Dim] = {};
    if (Aligned && whole) {
      load_quad<T, Dim>(points, first, x);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (first + j >= begin && first + j < end)
#pragma unroll
          for (int a = 0; a < Dim; ++a) x[j * Dim + a] = points[(first + j) * Dim + a];
    }
    std::uint32_t code[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      code[j] = walk_from<T, Dim>(1, x + j * Dim, low, high, axis, levels);
      counted.add(code[j], first + j >= begin && first + j < end);
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
}

}  // namespace amrbench::partitioners::gpu
