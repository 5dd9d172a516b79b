#pragma once
// The kernel of gpu/first_round/first_round.cu that walks points by their coordinates: with weights all of them at
// first; and those of some cells once more, after new guesses for these cells. It reads all codes to find those points,
// and only their coordinates and weights.
#include "partitioners/orb/gpu/first_round/brackets.cuh"

namespace amrbench::partitioners::gpu {

/// One block a multiprocessor, whose points under way need what shared memory leaves of the first-level cache.
constexpr int kAgainThreads = 1024;
/// Room in a warp's queue: fewer than 32 points of earlier groups, and 4 for each of its threads.
constexpr std::uint32_t kAgainQueue = 160;

/// Points being loaded, one for each thread: a warp starts loading them before it walks those that it loaded earlier.
template <class T, int Dim>
struct PendingPoints {
  T x[Dim];
  std::uint64_t weight = 0;
  std::uint32_t position = 0;
  std::uint32_t start = 0;  ///< the cell it is in; 0: no point
  bool any = false;         ///< of the warp

  /// entry: as queues have them. region_first: the first point of their region.
  template <bool Weighted>
  __device__ void ask(const WalkWork<T, Dim>& a, std::uint32_t entry, std::uint32_t region_first, bool wanted) {
    any = true;
    position = region_first + (entry & 0xffffU);
    start = wanted ? entry >> 16U : 0U;
#pragma unroll
    for (int d = 0; d < Dim; ++d) x[d] = __ldg(a.points + std::uint64_t{position} * Dim + d);
    if constexpr (Weighted) weight = __ldg(reinterpret_cast<const unsigned long long*>(a.weights) + position);
  }
};

/// Shared memory of walk_again_kernel. Where its parts begin does not depend on the number of levels.
template <bool Weighted>
struct AgainMemory {
  float2 table[kFirstInner];                              ///< brackets
  std::uint32_t counts[kFirstNodes];                      ///< by code
  std::uint32_t queues[kAgainThreads / 32][kAgainQueue];  ///< the point's number in its region, above 16 bits the cell
  std::uint16_t start[kFirstNodes];                       ///< of each code the cell that is cut once more; else 0
  std::uint32_t words[Weighted ? 2 * kFirstNodes : 1];    ///< of weights by code

  template <class T, int Dim>
  __device__ void load(const WalkWork<T, Dim>& a, const std::uint16_t* cells, std::uint32_t first) {
    for (std::uint32_t v = threadIdx.x; v < first; v += kAgainThreads) table[v] = a.lists.table[v];
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads) counts[v] = 0;
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads) start[v] = cells[v];
    for (std::uint32_t k = threadIdx.x; Weighted && k < 2 * kFirstNodes; k += kAgainThreads) words[k] = 0;
    __syncthreads();
  }
};

/// Walks the points that were loaded down from their cells. All threads of the warp call.
template <bool Weighted, class T, int Dim>
__device__ inline void walk_pending(const WalkWork<T, Dim>& a, AgainMemory<Weighted>& s, ListChunks& chunks,
                                    std::uint32_t region, PendingPoints<T, Dim>& pending) {
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  float c[Dim];
  as_floats(pending.x, c);
  const bool here = pending.start != 0;
  std::uint32_t v = here ? pending.start : first;
  step_to_end<Dim>(s.table, c, v, first);
  end_walk(a, s.table, SharedSums<Weighted>{s.counts, s.words}, chunks, region, c, pending.position, pending.weight, v,
           here);
  pending.any = false;
  __syncwarp();
}

/// The codes of a thread's four points of a group; 0 past the end of the points. fresh: all others have code 1.
template <class T, int Dim>
__device__ inline uint2 load_codes(const WalkWork<T, Dim>& a, std::uint32_t group, bool fresh) {
  const std::uint64_t i = std::uint64_t{group} * 128 + 4 * (threadIdx.x & 31U);
  if (i >= a.n) return make_uint2(0, 0);
  if (!fresh) return reinterpret_cast<const uint2*>(a.codes)[i / 4];
  const auto left = static_cast<std::uint32_t>(min(a.n - i, std::uint64_t{4}));
  return make_uint2(left > 1 ? 0x10001U : 1U, left > 3 ? 0x10001U : left > 2 ? 1U : 0U);
}

/// As classify_kernel, but only for points whose code lies in a cell that is cut once more (`cells` names it), and
/// from that cell on. fresh: all points have the root's code. Bytes a point: 2, and 14 and 18 for those of the cells in
/// question; with weights 8 more of each.
template <class T, int Dim, bool Weighted>
__global__ void __launch_bounds__(kAgainThreads, 1)
    walk_again_kernel(const WalkWork<T, Dim> a, const std::uint16_t* __restrict__ cells, bool fresh) {
  extern __shared__ __align__(16) unsigned char memory[];
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  auto& s = *reinterpret_cast<AgainMemory<Weighted>*>(memory);
  s.load(a, cells, first);
  const std::uint32_t lane = threadIdx.x & 31U;
  const std::uint32_t warp = __shfl_sync(kFull, threadIdx.x / 32, 0);  // so known to be the same for all lanes
  auto* const queue = s.queues[warp];
  const auto groups = static_cast<std::uint32_t>((a.n + 127) / 128);
  WalkRegions regions(a.turns, blockIdx.x * (kAgainThreads / 32) + warp, gridDim.x * (kAgainThreads / 32));
  ListChunks chunks;
  PendingPoints<T, Dim> pending;
  std::uint32_t queued = 0;
  uint2 codes = load_codes(a, regions.group, fresh);
  while (regions.group < groups) {
    const std::uint32_t region = regions.region;
    const std::uint32_t region_first = region * a.turns * 128;
    const std::uint32_t i = regions.group * 128 + 4 * lane - region_first;
    const std::uint32_t code[4] = {codes.x & 0xffffU, codes.x >> 16U, codes.y & 0xffffU, codes.y >> 16U};
    const bool last = regions.advance() || regions.group >= groups;
    codes = load_codes(a, regions.group, fresh);  // no other warp's walk changes them
    std::uint32_t start[4];
    bool wanted[4];
    bool any = last;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      start[j] = s.start[code[j]];
      wanted[j] = start[j] != 0;
      any = any || wanted[j];
    }
    if (__any_sync(kFull, any ? 1 : 0) == 0) continue;
    const LaneRanks ranks(wanted);
    std::uint32_t at = queued + ranks.before;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (wanted[j]) queue[at] = (i + j) | start[j] << 16U;
      at += wanted[j] ? 1U : 0U;
    }
    queued += ranks.all;
    __syncwarp();
    while (queued >= 32 || (last && queued > 0)) {
      if (pending.any) walk_pending<Weighted>(a, s, chunks, region, pending);
      const std::uint32_t count = min(queued, 32U);
      queued -= count;
      pending.template ask<Weighted>(a, queue[queued + (lane < count ? lane : 0U)], region_first, lane < count);
      __syncwarp();
    }
    if (!last) continue;  // all of a region goes into chunks of its own
    if (pending.any) walk_pending<Weighted>(a, s, chunks, region, pending);
    chunks.leave(a.lists);
  }
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads)
    SharedSums<Weighted>{s.counts, s.words}.give(v, a.sums);
}

}  // namespace amrbench::partitioners::gpu
