#pragma once
// The kernel of gpu/first_round/first_round.cuh that walks points by their coordinates: with weights all of them at
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

  /// entry: of the warp's queue.
  template <bool Weighted>
  __device__ void ask(const WalkWork<T, Dim>& a, uint2 entry, bool wanted) {
    any = true;
    position = entry.x;
    start = wanted ? entry.y : 0U;
#pragma unroll
    for (int d = 0; d < Dim; ++d) x[d] = __ldg(a.points + std::uint64_t{position} * Dim + d);
    if constexpr (Weighted) weight = __ldg(reinterpret_cast<const unsigned long long*>(a.weights) + position);
  }
};

/// Shared memory of walk_again_kernel. Where its parts begin does not depend on the number of levels.
template <bool Weighted>
struct AgainMemory {
  float2 table[kFirstInner];                            ///< brackets
  std::uint32_t counts[kFirstNodes];                    ///< by code
  uint2 queues[kAgainThreads / 32][kAgainQueue];        ///< position and cell
  std::uint16_t start[kFirstNodes];                     ///< of each code the cell that is cut once more; else 0
  std::uint32_t words[Weighted ? 2 * kFirstNodes : 1];  ///< of weights by code

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
                                    PendingPoints<T, Dim>& pending) {
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  float c[Dim];
  as_floats(pending.x, c);
  const bool here = pending.start != 0;
  std::uint32_t v = here ? pending.start : first;
  step_to_end<Dim>(s.table, c, v, first);
  end_walk(a, s.table, SharedSums<Weighted>{s.counts, s.words}, chunks, c, pending.position, pending.weight, v, here);
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
  const std::uint32_t warps = gridDim.x * (kAgainThreads / 32);
  std::uint32_t group = blockIdx.x * (kAgainThreads / 32) + warp;
  ListChunks chunks;
  PendingPoints<T, Dim> pending;
  std::uint32_t queued = 0;
  // Walks the points under way, and loads the last ones of the queue, at most 32.
  const auto walk_on = [&] {
    if (pending.any) walk_pending<Weighted>(a, s, chunks, pending);
    const std::uint32_t count = min(queued, 32U);
    queued -= count;
    pending.template ask<Weighted>(a, queue[queued + (lane < count ? lane : 0U)], lane < count);
    __syncwarp();
  };
  uint2 codes = load_codes(a, group, fresh);
  while (group < groups) {
    const std::uint32_t i = group * 128 + 4 * lane;
    const std::uint32_t code[4] = {codes.x & 0xffffU, codes.x >> 16U, codes.y & 0xffffU, codes.y >> 16U};
    group += warps;
    codes = load_codes(a, group, fresh);  // no other warp's walk changes them
    std::uint32_t start[4];
    bool wanted[4];
    bool any = false;
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
      if (wanted[j]) queue[at] = make_uint2(i + j, start[j]);
      at += wanted[j] ? 1U : 0U;
    }
    queued += ranks.all;
    __syncwarp();
    while (queued >= 32) walk_on();
  }
  if (queued > 0) walk_on();
  if (pending.any) walk_pending<Weighted>(a, s, chunks, pending);
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads)
    SharedSums<Weighted>{s.counts, s.words}.give(v, a.sums);
}

}  // namespace amrbench::partitioners::gpu
