#pragma once
// Kernels of gpu/first_round/first_round.cu that write the codes of all lists' entries to the points' codes.
//
// Entries lie by level, not by position. To write one code of 2 bytes alone would read and write a sector of memory,
// and most sectors need one. So a thread block takes one region at a time: it loads the region's codes into shared
// memory, lets the entries of the region's chunks put theirs in, and writes them all back. Words as in
// gpu/first_round/brackets.cuh.
#include "partitioners/orb/gpu/first_round/brackets.cuh"

namespace amrbench::partitioners::gpu {

constexpr int kSettleThreads = 512;
constexpr int kSettleBlocks = 3;
/// Turns of a region at most: its codes are 64 KB.
constexpr std::uint32_t kRegionTurns = 256;
/// A region with fewer chunks leaves its codes where they are.
constexpr std::uint32_t kSettleChunks = 8;
/// A chunk's level stands above its number.
constexpr unsigned kChunkBits = 27;

/// Brings the chunks of all lists into the order of their regions. begins: of each region, counted up here. ends: of
/// each list, what its chunks hold.
template <class T, int Dim>
__global__ void order_chunks_kernel(int levels, const BracketEntries<T, Dim> lists, std::uint32_t* begins,
                                    std::uint32_t* __restrict__ order, std::uint32_t* __restrict__ ends) {
  const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int level = 0; level < levels; ++level) {
    const std::uint32_t chunks = lists.size(level) / kListChunk;
    if (thread == 0) ends[level] = chunks * kListChunk;
    for (std::uint32_t k = thread; k < chunks; k += gridDim.x * blockDim.x) {
      const std::uint32_t region = lists.regions[level][k];
      if (region != kNoRegion)
        order[atomicAdd(&begins[region], 1U)] = static_cast<std::uint32_t>(level) << kChunkBits | k;
    }
  }
}

/// Writes the codes of the entries of chunks begin to end, two chunks a warp at a time, to codes[position - first].
template <class T, int Dim>
__device__ inline void settle_chunks(const BracketEntries<T, Dim>& lists, const std::uint32_t* order,
                                     std::uint32_t begin, std::uint32_t end, std::uint32_t first,
                                     std::uint16_t* codes) {
  constexpr int kMine = 4;
  static_assert(2 * kListChunk == 32 * kMine);
  const std::uint32_t lane = threadIdx.x & 31U;
  for (std::uint32_t k = begin + threadIdx.x / 32 * 2; k < end; k += kSettleThreads / 32 * 2) {
    std::uint32_t code[kMine];
    std::uint32_t position[kMine];
#pragma unroll
    for (int j = 0; j < kMine; ++j) {
      const bool any = k + j / 2 < end;
      const std::uint32_t chunk = order[any ? k + j / 2 : k];
      const std::uint32_t level = chunk >> kChunkBits;
      const std::uint32_t at = (chunk & ((1U << kChunkBits) - 1U)) * kListChunk + j % 2 * 32 + lane;
      code[j] = any ? std::uint32_t{__ldcs(lists.nodes[level] + at)} : 0U;
      position[j] = any ? __ldcs(&lists.points[level][at].position) : 0U;
    }
#pragma unroll
    for (int j = 0; j < kMine; ++j)
      if (code[j] != 0) codes[position[j] - first] = static_cast<std::uint16_t>(code[j]);
  }
}

/// A block a region at a time. ends: in `order`, of each region's chunks. span: points of a region, a multiple of 8;
/// shared memory for as many codes. Bytes a point: 4, and 18 for each entry.
template <class T, int Dim>
__global__ void __launch_bounds__(kSettleThreads, kSettleBlocks)
    settle_kernel(const BracketEntries<T, Dim> lists, std::uint32_t regions, std::uint32_t span,
                  const std::uint32_t* __restrict__ order, const std::uint32_t* __restrict__ ends, std::uint64_t points,
                  std::uint16_t* codes) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const mine = reinterpret_cast<std::uint16_t*>(memory);
  auto* const words = reinterpret_cast<uint4*>(memory);
  for (std::uint32_t region = blockIdx.x; region < regions; region += gridDim.x) {
    const std::uint32_t begin = region > 0 ? ends[region - 1] : 0U;
    const std::uint32_t end = ends[region];
    if (end - begin < kSettleChunks) {
      settle_chunks(lists, order, begin, end, 0, codes);
      continue;
    }
    const std::uint64_t first = std::uint64_t{region} * span;
    const auto n = static_cast<std::uint32_t>((min(std::uint64_t{span}, points - first) + 7) / 8);  // there is room
    auto* const all = reinterpret_cast<uint4*>(codes + first);
    for (std::uint32_t k = threadIdx.x; k < n; k += kSettleThreads) words[k] = all[k];
    __syncthreads();
    settle_chunks(lists, order, begin, end, static_cast<std::uint32_t>(first), mine);
    __syncthreads();
    for (std::uint32_t k = threadIdx.x; k < n; k += kSettleThreads) all[k] = words[k];
    __syncthreads();  // before the next region's codes
  }
}

/// What stands behind the chunks, listed when brackets were resolved, after settle_kernel. ends: as
/// order_chunks_kernel leaves them. Bytes an entry of 18: 18 and a sector of codes, read and written.
template <class T, int Dim>
__global__ void __launch_bounds__(kSettleThreads)
    settle_rest_kernel(int levels, const BracketEntries<T, Dim> lists, const std::uint32_t* __restrict__ ends,
                       std::uint16_t* codes) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kSettleThreads;
  for (int level = 0; level < levels; ++level) {
    const std::uint64_t size = lists.size(level);
    for (std::uint64_t i = ends[level] + std::uint64_t{blockIdx.x} * kSettleThreads + threadIdx.x; i < size;
         i += stride) {
      const std::uint32_t code = __ldcs(lists.nodes[level] + i);
      if (code != 0) codes[lists.points[level][i].position] = static_cast<std::uint16_t>(code);
    }
  }
}

}  // namespace amrbench::partitioners::gpu
