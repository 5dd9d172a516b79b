#pragma once
// Kernels of gpus/local.cu that look at input: boxes and bad values, sums of weights; and how kernels load points.
// Positions and counts of a rank's points are below 2^32; loops run in 64 bits.
#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <limits>

#include "partitioners/orb/gpu/level_kernels.cuh"
#include "partitioners/orb/gpus/local.hpp"

namespace amrbench::partitioners::gpu {

constexpr int kLocalThreads = 256;
constexpr int kLocalWarps = kLocalThreads / 32;
/// Points of a tile of the pack, and a thread's share of them.
template <class T>
constexpr int kPackItems = 32 / sizeof(T);
template <class T>
constexpr unsigned kPackTile = kLocalThreads* kPackItems<T>;

template <class T, int Dim>
__device__ inline OrbPoint<T, Dim> load(const DeviceSource<T, Dim>& source, std::uint64_t i) {
  return point_at<T, Dim>(source.points + i * Dim, source.first + static_cast<std::uint32_t>(i));
}

template <class T, int Dim>
__device__ inline std::uint64_t load_weight(const DeviceSource<T, Dim>& source, std::uint64_t i) {
  return weight_unit(source.weights[i], source.exponent);
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

}  // namespace amrbench::partitioners::gpu
