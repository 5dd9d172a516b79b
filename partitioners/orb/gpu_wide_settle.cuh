#pragma once
// Kernels of gpu_wide.cu that write the codes of all lists' entries. A code alone in its part of memory costs a read
// and a write of 64 bytes, so chunks are taken region by region: then codes of neighbours meet in the cache, whatever
// their levels.
#include "partitioners/orb/gpu_wide.cuh"

namespace amrbench::partitioners::gpu {

constexpr int kSettleThreads = 256;
constexpr int kSettleBlocks = 6;
/// A chunk's level stands above its number.
constexpr unsigned kChunkBits = 27;

/// Brings the chunks of all lists into the order of their regions. begins: of each region, counted up here. ends: of
/// each list, what its chunks hold.
template <class T, int Dim>
__global__ void wide_order_chunks_kernel(int levels, const WideLists<T, Dim> lists, std::uint32_t* begins,
                                         std::uint32_t* __restrict__ order, std::uint32_t* __restrict__ ends) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int level = 0; level < levels; ++level) {
    const std::uint32_t chunks = lists.size(level) / kWideChunk;
    if (thread == 0) ends[level] = chunks * kWideChunk;
    for (std::uint32_t k = thread; k < chunks; k += gridDim.x * blockDim.x) {
      const std::uint16_t region = lists.regions[level][k];
      if (region != kNoRegion)
        order[atomicAdd(&begins[region], 1U)] = static_cast<std::uint32_t>(level) << kChunkBits | k;
    }
  }
}

/// Writes the codes of entries `at` of list `level`, where there are any.
template <class T, int Dim, int Mine>
__device__ inline void settle(const WideLists<T, Dim>& lists, const int (&level)[Mine], const std::uint32_t (&at)[Mine],
                              const bool (&any)[Mine], std::uint16_t* codes) {
  std::uint32_t code[Mine];
  std::uint32_t position[Mine];
#pragma unroll
  for (int j = 0; j < Mine; ++j) {
    code[j] = any[j] ? std::uint32_t{__ldcs(lists.nodes[level[j]] + at[j])} : 0U;
    position[j] = any[j] ? __ldcs(&lists.points[level[j]][at[j]].position) : 0U;
  }
#pragma unroll
  for (int j = 0; j < Mine; ++j)
    if (code[j] != 0) codes[position[j]] = static_cast<std::uint16_t>(code[j]);
}

/// Two chunks a warp at a time; then what stands behind the chunks, listed when brackets were resolved. chunks: of all
/// regions. Bytes an entry of 18: 18, and its share of a sector of codes.
template <class T, int Dim>
__global__ void __launch_bounds__(kSettleThreads, kSettleBlocks)
    wide_settle_kernel(int levels, const WideLists<T, Dim> lists, const std::uint32_t* __restrict__ chunks,
                       const std::uint32_t* __restrict__ order, const std::uint32_t* __restrict__ ends,
                       std::uint16_t* codes) {
  constexpr int kMine = 4;
  static_assert(2 * kWideChunk == 32 * kMine);
  const std::uint32_t lane = threadIdx.x & 31U;
  const std::uint32_t n = *chunks;
  const std::uint32_t warps = gridDim.x * (kSettleThreads / 32);
  for (std::uint32_t k = 2 * (blockIdx.x * (kSettleThreads / 32) + threadIdx.x / 32); k < n; k += 2 * warps) {
    int level[kMine];
    std::uint32_t at[kMine];
    bool any[kMine];
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      any[j] = k + j / 2 < n;
      const std::uint32_t chunk = order[any[j] ? k + j / 2 : k];
      level[j] = static_cast<int>(chunk >> kChunkBits);
      at[j] = (chunk & ((1U << kChunkBits) - 1U)) * kWideChunk + j % 2 * 32 + lane;
    }
    settle(lists, level, at, any, codes);
  }
  for (int l = 0; l < levels; ++l) {
    const std::uint64_t size = lists.size(l);
    const std::uint64_t stride = std::uint64_t{gridDim.x} * kSettleThreads;
    for (std::uint64_t i = ends[l] + std::uint64_t{blockIdx.x} * kSettleThreads + threadIdx.x; i < size; i += stride)
      settle<T, Dim, 1>(lists, {l}, {static_cast<std::uint32_t>(i)}, {true}, codes);
  }
}

}  // namespace amrbench::partitioners::gpu
