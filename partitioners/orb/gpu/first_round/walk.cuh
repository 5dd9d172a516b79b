#pragma once
// The kernel of gpu/first_round/first_round.cuh that walks all points down the guessed tree.
//
// In:  the points; brackets and the tables of gpu/first_round/places.cuh, all in shared memory.
// Out: the code of each point outside brackets, the number of points by code, the lists of points in brackets.
// The idea. Most points meet no bracket. For them a walk over places suffices: it guesses a leaf, and the leaf's limits
// prove that the point lies outside all brackets on the way there, or fail to. No guess needs to be right. Points
// without that proof wait in a queue of their warp until there are 32; then the warp walks these by their coordinates,
// one a thread. Warps work on 128 points at a time, the next 128 are already being loaded, and no warp waits for
// another.
#include <cstring>

#include "partitioners/orb/gpu/first_round/places.cuh"

namespace amrbench::partitioners::gpu {

/// Room in a warp's queue: fewer than 32 points of earlier groups, and 4 for each of its threads.
constexpr std::uint32_t kWalkQueue = 160;

/// Four points from `first` on by 16-byte loads; fewer where the input ends.
template <class T, int Dim>
__device__ inline void load_four(const T* __restrict__ points, std::uint64_t first, std::uint64_t n, T (&x)[4][Dim]) {
  if (first + 4 <= n) {
    uint4 words[sizeof(x) / sizeof(uint4)];
    const auto* from = reinterpret_cast<const uint4*>(points + first * Dim);
#pragma unroll
    for (uint4& word : words) word = __ldg(from++);
    memcpy(&x, &words, sizeof(x));
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int a = 0; a < Dim; ++a) x[j][a] = first + j < n ? points[(first + j) * Dim + a] : T(0);
}

/// Their counterpart.
template <class T, int Dim>
__device__ inline void store_four(T* __restrict__ to, std::uint64_t first, std::uint64_t n, const T (&x)[4][Dim]) {
  if (first + 4 <= n) {
    uint4 words[sizeof(x) / sizeof(uint4)];
    auto* out = reinterpret_cast<uint4*>(to + first * Dim);
    memcpy(&words, &x, sizeof(x));
#pragma unroll
    for (const uint4& word : words) *out++ = word;
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int a = 0; a < Dim; ++a)
      if (first + j < n) to[(first + j) * Dim + a] = x[j][a];
}

/// Shared memory of classify_kernel. Where its parts begin does not depend on the number of levels, so that
/// addresses need no arithmetic.
struct WalkMemory {
  uint4 limits[kFirstInner];
  float2 table[kFirstInner];          ///< brackets
  std::uint32_t counts[kFirstNodes];  ///< by code; of 0 those that no code is known of yet
  std::uint32_t middles[kFirstInner];
  float4 queues[kWalkThreads / 32][kWalkQueue];  ///< coordinates, and the position in the last word

  template <class T, int Dim>
  __device__ void load(const WalkWork<T, Dim>& a, const PlaceTables<Dim>& places, std::uint32_t first) {
    for (std::uint32_t v = threadIdx.x; v < kFirstInner; v += kWalkThreads) table[v] = a.lists.table[v];
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads) counts[v] = 0;
    for (std::uint32_t v = threadIdx.x; v < first; v += kWalkThreads) middles[v] = places.middles[v];
    for (std::uint32_t k = threadIdx.x; k < first; k += kWalkThreads) limits[k] = places.limits[k];
    __syncthreads();
  }
};

/// Walks four points by their places. codes: the leaves they guess, or 0 where the leaf's limits do not prove it.
template <int Dim>
__device__ inline void walk_by_places(WalkMemory& s, std::uint32_t first, const std::uint32_t (&xy)[4],
                                      const std::uint32_t (&z)[4], std::uint32_t (&codes)[4]) {
  std::uint32_t v[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) v[j] = 1;
  for (std::uint32_t node = 1; node < first; node *= 2) {  // without branches: all four points are under way at a time
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::uint32_t middle = s.middles[v[j]];
      const std::uint32_t left = middle - select_bytes(xy[j], z[j], middle);  // its sign: right
      v[j] = __funnelshift_l(left, v[j], 1);
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const uint4 limits = s.limits[v[j] - first];
    const std::uint32_t both = (z[j] | kPlaces) - (z[j] << 16U);
    const std::uint32_t inside = ((xy[j] | kGuards) - limits.x) & (limits.y - xy[j]) & (limits.z + both);
    codes[j] = (inside & kGuards) == kGuards ? v[j] : 0U;
  }
}

/// Places of four points.
template <int Dim>
__device__ inline void places_of(const float (&c)[4][Dim], const PlaceScale<Dim>& scale, std::uint32_t (&xy)[4],
                                 std::uint32_t (&z)[4]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    xy[j] = select_bytes(place_bits(c[j][0], scale.axis[0]), place_bits(c[j][1], scale.axis[1]), 0x5410U);
    z[j] = 0;
    if constexpr (Dim == 3) z[j] = place_of(c[j][Dim - 1], scale.axis[Dim - 1]);
  }
}

/// Walks all points down: codes, counts by code, lists of those in brackets. Bytes a point of 12: 14, and 18 an entry.
/// `points` and `codes` aligned to 16 bytes. One thread block a multiprocessor; its warps take group after group until
/// all points are walked, with no barrier between them.
template <class T, int Dim>
__global__ void __launch_bounds__(kWalkThreads, 1)
    classify_kernel(const WalkWork<T, Dim> a, const PlaceTables<Dim> places) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr std::uint32_t kWarps = kWalkThreads / 32;
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  auto& s = *reinterpret_cast<WalkMemory*>(memory);
  s.load(a, places, first);
  const std::uint32_t lane = threadIdx.x & 31U;
  const std::uint32_t warp = __shfl_sync(kFull, threadIdx.x / 32, 0);  // so known to be the same for all lanes
  const auto groups = static_cast<std::uint32_t>((a.n + 127) / 128);
  const std::uint32_t warps = gridDim.x * kWarps;
  std::uint32_t group = blockIdx.x * kWarps + warp;
  float4* const queue = s.queues[warp];
  std::uint32_t queued = 0;
  ListChunks chunks;
  // Walks the last ones of the queue, at most 32.
  const auto walk_queued = [&] {
    const std::uint32_t count = min(queued, 32U);
    const bool here = lane < count;
    queued -= count;
    const float4 point = queue[queued + (here ? lane : 0U)];
    float c[Dim] = {point.x, point.y};
    if constexpr (Dim == 3) c[2] = point.z;
    std::uint32_t v = here ? 1U : first;
    step_to_end<Dim>(s.table, c, v, first);
    end_walk(a, s.table, SharedSums<false>{s.counts}, chunks, c, __float_as_uint(point.w), 0, v, here);
    __syncwarp();  // the places in the queue are free
  };
  T x[4][Dim];
  if (group < groups) load_four<T, Dim>(a.points, std::uint64_t{group} * 128 + 4 * lane, a.n, x);
  while (group < groups) {
    const std::uint64_t i = std::uint64_t{group} * 128 + 4 * lane;
    float c[4][Dim];
#pragma unroll
    for (int j = 0; j < 4; ++j) as_floats(x[j], c[j]);
    group += warps;  // the next turn's points are under way during this one
    if (group < groups) load_four<T, Dim>(a.points, std::uint64_t{group} * 128 + 4 * lane, a.n, x);
    std::uint32_t xy[4], z[4], code[4];
    bool wanted[4];
    places_of<Dim>(c, places.scale, xy, z);
    walk_by_places<Dim>(s, first, xy, z, code);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (i + j >= a.n) code[j] = 0;
      wanted[j] = code[j] == 0 && i + j < a.n;
      atomicAdd(&s.counts[code[j]], 1U);
    }
    if (i < a.n)
      reinterpret_cast<uint2*>(a.codes)[i / 4] = make_uint2(code[0] | code[1] << 16U, code[2] | code[3] << 16U);
    const LaneRanks ranks(wanted);
    std::uint32_t at = queued + ranks.before;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (!wanted[j]) continue;
      queue[at++] = make_float4(c[j][0], c[j][1], Dim == 3 ? c[j][Dim - 1] : 0.0F,
                                __uint_as_float(static_cast<std::uint32_t>(i) + j));
    }
    queued += ranks.all;
    __syncwarp();  // the queue, and the codes of the turn, are there
    while (queued >= 32) walk_queued();
  }
  if (queued > 0) walk_queued();
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads)
    if (v > 0) SharedSums<false>{s.counts}.give(v, a.sums);
}

}  // namespace amrbench::partitioners::gpu
