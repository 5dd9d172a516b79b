#pragma once
// The kernel of gpu/wide/wide.cu that walks the points of some cells once more, by their coordinates, after new guesses
// for these cells. It reads all codes to find those points, and only their coordinates.
#include "partitioners/orb/gpu/wide/wide.cuh"

namespace amrbench::partitioners::gpu {

/// One block a multiprocessor, whose points under way need what shared memory leaves of the first-level cache.
constexpr int kAgainThreads = 1024;
/// Room in a warp's queue: fewer than 32 points of earlier groups, and 4 for each of its threads.
constexpr std::uint32_t kAgainQueue = 160;

/// Points being loaded, one for each thread: a warp starts loading them before it walks those that it loaded earlier.
template <class T, int Dim>
struct WidePending {
  T x[Dim];
  std::uint32_t position = 0;
  std::uint32_t start = 0;  ///< the cell it is in; 0: no point
  bool any = false;         ///< of the warp

  /// entry: as queues have them. region_first: the first point of their region.
  __device__ void ask(const WideWalk<T, Dim>& a, std::uint32_t entry, std::uint32_t region_first, bool wanted) {
    any = true;
    position = region_first + (entry & 0xffffU);
    start = wanted ? entry >> 16U : 0U;
#pragma unroll
    for (int d = 0; d < Dim; ++d) x[d] = __ldg(a.points + std::uint64_t{position} * Dim + d);
  }
};

/// Shared memory of wide_walk_again_kernel. Where its parts begin does not depend on the number of levels.
struct WideAgainMemory {
  static constexpr std::size_t kCounts = kWideInner * sizeof(float2);
  static constexpr std::size_t kQueues = kCounts + kWideNodes * sizeof(std::uint32_t);
  static constexpr std::size_t kStart = kQueues + kAgainThreads / 32 * kAgainQueue * sizeof(std::uint32_t);
  static constexpr std::size_t kBytes = kStart + kWideNodes * sizeof(std::uint16_t);
  float2* table;          ///< brackets
  std::uint32_t* counts;  ///< by code
  std::uint32_t* queues;  ///< entries: the point's number in its region, and above 16 bits the cell
  std::uint16_t* start;   ///< of each code the cell that is cut once more; else 0

  __device__ explicit WideAgainMemory(unsigned char* memory)
      : table(reinterpret_cast<float2*>(memory)),
        counts(reinterpret_cast<std::uint32_t*>(memory + kCounts)),
        queues(reinterpret_cast<std::uint32_t*>(memory + kQueues)),
        start(reinterpret_cast<std::uint16_t*>(memory + kStart)) {}
  template <class T, int Dim>
  __device__ void load(const WideWalk<T, Dim>& a, const std::uint16_t* cells, std::uint32_t first) const {
    for (std::uint32_t v = threadIdx.x; v < first; v += kAgainThreads) table[v] = a.lists.table[v];
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads) counts[v] = 0;
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads) start[v] = cells[v];
    __syncthreads();
  }
};

/// Walks the points that were loaded down from their cells. All threads of the warp call.
template <class T, int Dim>
__device__ inline void walk_pending(const WideWalk<T, Dim>& a, const WideAgainMemory& s, WideChunks& chunks,
                                    std::uint32_t region, WidePending<T, Dim>& pending) {
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  float c[Dim];
  as_floats(pending.x, c);
  const bool here = pending.start != 0;
  std::uint32_t v = here ? pending.start : first;
  step_to_end<Dim>(s.table, c, v, first);
  end_walk<T, Dim>(a, s.table, s.counts, chunks, region, c, pending.position, v, here);
  pending.any = false;
  __syncwarp();
}

/// The codes of a thread's four points of a group; 0 past the end of the points.
template <class T, int Dim>
__device__ inline uint2 load_codes(const WideWalk<T, Dim>& a, std::uint32_t group) {
  const std::uint64_t i = std::uint64_t{group} * 128 + 4 * (threadIdx.x & 31U);
  return i < a.n ? reinterpret_cast<const uint2*>(a.codes)[i / 4] : make_uint2(0, 0);
}

/// As wide_classify_kernel, but only for points whose code lies in a cell that is cut once more (`cells` names it), and
/// from that cell on. Bytes a point: 2, and 14 and 18 for those of the cells in question.
template <class T, int Dim>
__global__ void __launch_bounds__(kAgainThreads, 1)
    wide_walk_again_kernel(const WideWalk<T, Dim> a, const std::uint16_t* __restrict__ cells) {
  extern __shared__ __align__(16) unsigned char memory[];
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  const WideAgainMemory s(memory);
  s.load(a, cells, first);
  const std::uint32_t lane = threadIdx.x & 31U;
  const std::uint32_t warp = __shfl_sync(kFull, threadIdx.x / 32, 0);  // so known to be the same for all lanes
  auto* const queue = s.queues + warp * kAgainQueue;
  const auto groups = static_cast<std::uint32_t>((a.n + 127) / 128);
  WideRegions regions(a.turns, blockIdx.x * (kAgainThreads / 32) + warp, gridDim.x * (kAgainThreads / 32));
  WideChunks chunks;
  WidePending<T, Dim> pending;
  std::uint32_t queued = 0;
  uint2 codes = load_codes(a, regions.group);
  while (regions.group < groups) {
    const std::uint32_t region = regions.region;
    const std::uint32_t region_first = region * a.turns * 128;
    const std::uint32_t i = regions.group * 128 + 4 * lane - region_first;
    const std::uint32_t code[4] = {codes.x & 0xffffU, codes.x >> 16U, codes.y & 0xffffU, codes.y >> 16U};
    const bool last = regions.advance() || regions.group >= groups;
    codes = load_codes(a, regions.group);  // no other warp's walk changes them
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
      if (pending.any) walk_pending(a, s, chunks, region, pending);
      const std::uint32_t count = min(queued, 32U);
      queued -= count;
      pending.ask(a, queue[queued + (lane < count ? lane : 0U)], region_first, lane < count);
      __syncwarp();
    }
    if (!last) continue;  // all of a region goes into chunks of its own
    if (pending.any) walk_pending(a, s, chunks, region, pending);
    chunks.leave(a.lists);
  }
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kAgainThreads)
    if (s.counts[v] > 0) atomicAdd(&a.code_counts[v], s.counts[v]);
}

}  // namespace amrbench::partitioners::gpu
