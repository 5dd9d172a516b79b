#pragma once
// Kernels of gpu/seed.cu, after listings 9, 10 and 11 of document 000 and its section 6.7.
#include <cstdint>

#include "partitioners/orb/rules.hpp"

namespace amrbench::partitioners::gpu {

constexpr unsigned kSeedThreads = 256;
constexpr unsigned kSeedItems = 16;
constexpr unsigned kBlockPoints = kSeedThreads * kSeedItems;
constexpr std::uint32_t kFew = 1024;
constexpr unsigned kAll = 0xffffffffU;

/// Sum over the block, in thread 0: halves in shared memory down to a warp.
__device__ inline std::uint32_t shared_sum(std::uint32_t value) {
  __shared__ std::uint32_t sums[kSeedThreads];
  sums[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kSeedThreads / 2; half >= 32; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  std::uint32_t sum = 0;
  if (threadIdx.x < 32) {
    sum = sums[threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(kAll, sum, offset);
  }
  return sum;
}

/// The same: each warp by itself, then the warps' sums.
__device__ inline std::uint32_t warp_sum(std::uint32_t value) {
  __shared__ std::uint32_t sums[kSeedThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(kAll, value, offset);
  if ((threadIdx.x & 31U) == 0) sums[threadIdx.x >> 5U] = value;
  __syncthreads();
  std::uint32_t sum = 0;
  if (threadIdx.x < 32) {
    sum = threadIdx.x < kSeedThreads / 32 ? sums[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(kAll, sum, offset);
  }
  return sum;
}

/// Listing 9: all blocks work on one cell's values, grid-wide strides; sums go to one counter.
template <class T>
__global__ void __launch_bounds__(kSeedThreads)
    count_cell_kernel(const T* __restrict__ values, std::uint32_t n, T guess, std::uint32_t* count) {
  std::uint32_t mine = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kSeedThreads + threadIdx.x; i < n;
       i += std::uint64_t{gridDim.x} * kSeedThreads)
    mine += values[i] <= guess ? 1U : 0U;
  const std::uint32_t sum = shared_sum(mine);
  if (threadIdx.x == 0) atomicAdd(count, sum);
}

/// Listings 10 and 11: a block counts one stretch of one cell.
template <class T, bool Warp>
__global__ void __launch_bounds__(kSeedThreads)
    count_level_kernel(const T* __restrict__ values, const std::uint32_t* begins, const std::uint32_t* ends,
                       const std::uint32_t* cells, const T* guesses, std::uint32_t* counts) {
  const std::uint32_t end = ends[blockIdx.x];
  const std::uint32_t cell = cells[blockIdx.x];
  const T guess = guesses[cell];
  std::uint32_t mine = 0;
  for (std::uint64_t i = std::uint64_t{begins[blockIdx.x]} + threadIdx.x; i < end; i += kSeedThreads)
    mine += values[i] <= guess ? 1U : 0U;
  const std::uint32_t sum = Warp ? warp_sum(mine) : shared_sum(mine);
  if (threadIdx.x == 0) atomicAdd(&counts[cell], sum);
}

/// The document's "make axis": the cut coordinate of every point as a column.
template <class T, int Dim>
__global__ void make_axis_kernel(const T* __restrict__ points, const std::uint32_t* begins, const std::uint32_t* ends,
                                 const std::uint32_t* cells, const std::uint32_t* axes, T* __restrict__ column) {
  const std::uint32_t end = ends[blockIdx.x];
  const std::uint32_t axis = axes[cells[blockIdx.x]];
  for (std::uint64_t i = std::uint64_t{begins[blockIdx.x]} + threadIdx.x; i < end; i += blockDim.x)
    column[i] = points[i * Dim + axis];
}

/// Places of the points between two guesses, at most kFew a cell.
template <class T>
__global__ void between_kernel(const T* __restrict__ column, const std::uint32_t* begins, const std::uint32_t* ends,
                               const std::uint32_t* cells, const T* limits, std::uint32_t* counts,
                               std::uint32_t* places, std::uint32_t room) {
  const std::uint32_t end = ends[blockIdx.x];
  const std::uint32_t cell = cells[blockIdx.x];
  const T low = limits[2 * cell];
  const T high = limits[2 * cell + 1];
  for (std::uint64_t i = std::uint64_t{begins[blockIdx.x]} + threadIdx.x; i < end; i += blockDim.x) {
    if (!(column[i] > low && column[i] <= high)) continue;
    const std::uint32_t place = atomicAdd(&counts[cell], 1U);
    if (place < room) places[std::uint64_t{cell} * room + place] = static_cast<std::uint32_t>(i);
  }
}

template <class T, int Dim>
__global__ void gather_kernel(const T* __restrict__ points, const std::uint32_t* ids, const std::uint32_t* counts,
                              const std::uint32_t* places, std::uint32_t room, OrbPoint<T, Dim>* found) {
  for (std::uint32_t k = threadIdx.x; k < min(counts[blockIdx.x], room); k += blockDim.x) {
    const std::uint64_t slot = std::uint64_t{blockIdx.x} * room + k;
    const std::uint64_t i = places[slot];
    for (int a = 0; a < Dim; ++a) found[slot].x[a] = points[i * Dim + a];
    found[slot].id = ids[i];
  }
}

template <class T, int Dim>
struct DeviceCut {
  OrbPoint<T, Dim> pivot;
  std::int32_t axis;
  std::uint32_t begin, right;  ///< where the left and the right part begin
};

/// Section 6.7: a block counts its points left and right, takes its places of both parts by an atomic, and writes.
template <class T, int Dim>
__global__ void __launch_bounds__(kSeedThreads)
    partition_kernel(const T* __restrict__ points, const std::uint32_t* __restrict__ ids, T* __restrict__ moved,
                     std::uint32_t* __restrict__ moved_ids, const std::uint32_t* begins, const std::uint32_t* ends,
                     const std::uint32_t* cells, const DeviceCut<T, Dim>* cuts, std::uint32_t* taken) {
  __shared__ std::uint32_t lefts[kSeedThreads / 32];
  __shared__ std::uint32_t base[2];
  const std::uint32_t end = ends[blockIdx.x];
  const std::uint32_t cell = cells[blockIdx.x];
  const DeviceCut<T, Dim> cut = cuts[cell];
  const unsigned lane = threadIdx.x & 31U;
  const unsigned warp = threadIdx.x >> 5U;
  for (std::uint64_t start = begins[blockIdx.x]; start < end; start += kSeedThreads) {
    const std::uint64_t i = start + threadIdx.x;
    const bool here = i < end;
    OrbPoint<T, Dim> p{};
    if (here) {
      for (int a = 0; a < Dim; ++a) p.x[a] = points[i * Dim + a];
      p.id = ids[i];
    }
    const bool left = here && (cut.axis < 0 || orb_before(p, cut.pivot, cut.axis));
    const unsigned votes = __ballot_sync(kAll, left);
    if (lane == 0) lefts[warp] = static_cast<unsigned>(__popc(votes));
    __syncthreads();
    std::uint32_t before = 0;
    std::uint32_t all = 0;
    for (unsigned w = 0; w < kSeedThreads / 32; ++w) {
      if (w == warp) before = all;
      all += lefts[w];
    }
    const auto n = static_cast<std::uint32_t>(min(std::uint64_t{kSeedThreads}, end - start));
    if (threadIdx.x == 0) base[0] = cut.begin + atomicAdd(&taken[2 * cell], all);
    if (threadIdx.x == 32) base[1] = cut.right + atomicAdd(&taken[2 * cell + 1], n - all);
    __syncthreads();
    if (here) {
      const std::uint32_t mine = before + static_cast<unsigned>(__popc(votes & ((1U << lane) - 1U)));
      const std::uint64_t to = left ? base[0] + mine : base[1] + (threadIdx.x - mine);
      for (int a = 0; a < Dim; ++a) moved[to * Dim + a] = p.x[a];
      moved_ids[to] = p.id;
    }
    __syncthreads();
  }
}

static __global__ void number_kernel(std::uint32_t* ids, std::uint64_t n) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) ids[i] = static_cast<std::uint32_t>(i);
}

static __global__ void scatter_labels_kernel(const std::uint32_t* __restrict__ ids, const std::uint32_t* leaf_begins,
                                             std::uint32_t* __restrict__ labels) {
  for (std::uint64_t i = std::uint64_t{leaf_begins[blockIdx.x]} + threadIdx.x; i < leaf_begins[blockIdx.x + 1];
       i += blockDim.x)
    labels[ids[i]] = blockIdx.x;
}

}  // namespace amrbench::partitioners::gpu
