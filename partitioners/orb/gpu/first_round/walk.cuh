#pragma once
// The kernel of gpu/first_round/first_round.cuh that walks all points down the guessed tree.
//
// In:  the points; brackets and the tables of gpu/first_round/places.cuh, all in shared memory.
// Out: the code of each point outside brackets, the number of points by code, the lists of points in brackets.
// The idea. Most points meet no bracket. For them a walk over places suffices: it guesses a leaf, and the leaf's limits
// prove that the point lies outside all brackets on the way there, or fail to. No guess needs to be right. Points
// without that proof wait in a small queue of their warp until there are 32; then the warp walks these by their
// coordinates, one a thread, looking at the brackets of all levels on the way to the guessed leaf at once. Warps work
// on 128 points at a time, the next 128 are already being loaded, and no warp waits for another.
#include <cstring>

#include "partitioners/orb/gpu/first_round/places.cuh"

namespace amrbench::partitioners::gpu {

/// Room for points in a warp's queue: as many as shared memory leaves room for, at least 32; and their bytes.
constexpr std::uint32_t kQueueRoom = 44;
constexpr std::size_t kQueueBytes = kQueueRoom * (sizeof(float4) + sizeof(std::uint16_t));

/// A warp's queue of points whose guessed leaves are not proven, until there are 32 of them for a walk by coordinates.
template <int Dim>
struct WalkQueue {
  static constexpr std::uint32_t kRoom = kQueueRoom;
  float4* points;  ///< coordinates, and the position in the last word
  std::uint16_t* guesses;
  std::uint32_t size = 0;

  /// The points of all `warps` come first, so that they are aligned.
  __device__ WalkQueue(unsigned char* memory, std::uint32_t warp, std::uint32_t warps)
      : points(reinterpret_cast<float4*>(memory) + warp * kRoom),
        guesses(reinterpret_cast<std::uint16_t*>(reinterpret_cast<float4*>(memory) + warps * kRoom) + warp * kRoom) {}
  __device__ void put(std::uint32_t at, const float (&c)[Dim], std::uint32_t position, std::uint32_t guess) const {
    points[at] = make_float4(c[0], c[1], Dim == 3 ? c[Dim - 1] : 0.0F, __uint_as_float(position));
    guesses[at] = static_cast<std::uint16_t>(guess);
  }
  __device__ std::uint32_t get(std::uint32_t at, float (&c)[Dim], std::uint32_t& guess) const {
    const float4 point = points[at];
    c[0] = point.x;
    c[1] = point.y;
    if constexpr (Dim == 3) c[2] = point.z;
    guess = guesses[at];
    return __float_as_uint(point.w);
  }
};

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
  std::uint16_t grid[kGridCells];
  unsigned char queues[kWalkThreads / 32 * kQueueBytes];

  template <class T, int Dim>
  __device__ void load(const WalkWork<T, Dim>& a, const PlaceTables<Dim>& places, std::uint32_t first) {
    for (std::uint32_t v = threadIdx.x; v < kFirstInner; v += kWalkThreads) table[v] = a.lists.table[v];
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads) counts[v] = 0;
    for (std::uint32_t v = threadIdx.x; v < first; v += kWalkThreads) middles[v] = places.middles[v];
    for (std::uint32_t k = threadIdx.x; k < first; k += kWalkThreads) limits[k] = places.limits[k];
    for (std::uint32_t k = threadIdx.x; k < kGridCells; k += kWalkThreads) grid[k] = places.grid[k];
    __syncthreads();
  }
};

/// Walks four points by their places. v: the leaves they guess; codes: the same, but 0 where the leaf's limits do not
/// prove it.
template <int Dim>
__device__ inline void walk_by_places(WalkMemory& s, std::uint32_t first, const std::uint32_t (&xy)[4],
                                      const std::uint32_t (&z)[4], std::uint32_t (&v)[4], std::uint32_t (&codes)[4]) {
  constexpr unsigned kShift = 15 - kGridBits;
  constexpr std::uint32_t kMask = (1U << kGridBits) - 1U;
  bool more = false;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::uint32_t cell =
        ((xy[j] >> kShift) & kMask) | ((xy[j] >> (16U + kShift)) << kGridBits) | ((z[j] >> kShift) << (2 * kGridBits));
    v[j] = s.grid[cell];
    more = more || v[j] < first;
  }
  while (__any_sync(kFull, more ? 1 : 0) != 0) {
    // Two levels, without branches: all four points are under way at a time. Leaves read one word together.
#pragma unroll
    for (int turn = 0; turn < 2; ++turn)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const bool inner = v[j] < first;
        const std::uint32_t middle = s.middles[inner ? v[j] : 0U];
        const std::uint32_t left = middle - select_bytes(xy[j], z[j], middle);  // its sign: right
        if (inner) v[j] = __funnelshift_l(left, v[j], 1);
      }
    more = false;
#pragma unroll
    for (int j = 0; j < 4; ++j) more = more || v[j] < first;
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

/// Walks a point down from the root by its coordinates. The brackets on the way to leaf `guess` are compared at all
/// levels at once, so that their loads do not wait for each other; from the level where the point leaves that way it
/// goes on step by step. table: of kFirstInner nodes, whatever the levels. All threads of the warp call.
template <int Dim>
__device__ inline std::uint32_t walk_along(const float2* table, const float (&c)[Dim], std::uint32_t guess,
                                           int levels) {
  const std::uint32_t first = 1U << static_cast<unsigned>(levels);
  const std::uint32_t way = guess << static_cast<unsigned>(kFirstLevels - levels);
  std::uint32_t leaves_it = 0;  // a bit a level
#pragma unroll
  for (int level = 0; level < kFirstLevels; ++level) {
    const float2 bracket = table[way >> static_cast<unsigned>(kFirstLevels - level)];
    const float x = on_axis<Dim>(c, __float_as_uint(bracket.x));
    const bool right = ((way >> static_cast<unsigned>(kFirstLevels - 1 - level)) & 1U) != 0U;
    const bool stays = right ? x > bracket.y : x < bracket.x;
    if (!stays) leaves_it |= 1U << static_cast<unsigned>(level);
  }
  leaves_it &= first - 1U;
  std::uint32_t v = guess;
  if (leaves_it != 0U) v = way >> static_cast<unsigned>(kFirstLevels + 1 - __ffs(static_cast<int>(leaves_it)));
  step_to_end<Dim>(table, c, v, first);
  return v;
}

/// Walks the last `count` points of the queue, at most 32.
template <class T, int Dim>
__device__ inline void walk_queued(const WalkWork<T, Dim>& a, WalkMemory& s, ListChunks& chunks, WalkQueue<Dim>& queue,
                                   std::uint32_t count) {
  const std::uint32_t lane = threadIdx.x & 31U;
  const bool here = lane < count;
  queue.size -= count;
  const std::uint32_t at = queue.size + (here ? lane : 0U);
  float c[Dim];
  std::uint32_t guess = 0;
  const std::uint32_t position = queue.get(at, c, guess);
  const std::uint32_t v = walk_along<Dim>(s.table, c, guess, a.levels);
  end_walk(a, s.table, SharedSums<false>{s.counts}, chunks, c, position, 0, v, here);
  __syncwarp();  // the places in the queue are free
}

/// Queues points whose codes are 0. Each thread has four; those of number `from` of all threads come first, then those
/// of the next number, as long as all of a number fit. Returns the first number that did not fit.
template <int Dim>
__device__ inline int put_by_turns(WalkQueue<Dim>& queue, int from, const float (&c)[4][Dim], std::uint32_t position,
                                   const std::uint32_t (&guess)[4], const std::uint32_t (&codes)[4]) {
  const std::uint32_t lower = (1U << (threadIdx.x & 31U)) - 1U;
  int next = from;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const unsigned all = __ballot_sync(kFull, codes[j] == 0);
    const auto count = static_cast<std::uint32_t>(__popc(all));
    if (next != j || queue.size + count > WalkQueue<Dim>::kRoom) continue;
    if (codes[j] == 0)
      queue.put(queue.size + static_cast<std::uint32_t>(__popc(all & lower)), c[j], position + j, guess[j]);
    queue.size += count;
    next = j + 1;
  }
  __syncwarp();  // the queue, and the codes of the turn, are there
  return next;
}

/// Queues all points whose codes are 0 at once where they fit, a thread's together, threads one after another; else by
/// put_by_turns().
template <int Dim>
__device__ inline int put_into_queue(WalkQueue<Dim>& queue, const float (&c)[4][Dim], std::uint32_t position,
                                     const std::uint32_t (&guess)[4], const std::uint32_t (&codes)[4]) {
  const bool wanted[4] = {codes[0] == 0, codes[1] == 0, codes[2] == 0, codes[3] == 0};
  const LaneRanks ranks(wanted);
  if (queue.size + ranks.all > WalkQueue<Dim>::kRoom) return put_by_turns(queue, 0, c, position, guess, codes);
  std::uint32_t at = queue.size + ranks.before;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (wanted[j]) queue.put(at, c[j], position + j, guess[j]);
    at += wanted[j] ? 1U : 0U;
  }
  queue.size += ranks.all;
  __syncwarp();  // the queue, and the codes of the turn, are there
  return 4;
}

/// Walks the points after the last whole group, at most 127, by coordinates. Called by one warp.
template <class T, int Dim>
__device__ inline void walk_rest(const WalkWork<T, Dim>& a, WalkMemory& s, ListChunks& chunks) {
  const std::uint64_t lane = threadIdx.x & 31U;
  for (std::uint64_t begin = a.n / 128 * 128; begin < a.n; begin += 32) {
    const bool here = begin + lane < a.n;
    const std::uint64_t i = here ? begin + lane : begin;
    float c[Dim];
#pragma unroll
    for (int d = 0; d < Dim; ++d) c[d] = static_cast<float>(a.points[i * Dim + d]);
    const std::uint32_t v = walk_along<Dim>(s.table, c, 1U << static_cast<unsigned>(a.levels), a.levels);
    end_walk(a, s.table, SharedSums<false>{s.counts}, chunks, c, static_cast<std::uint32_t>(i), 0, v, here);
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
  const auto groups = static_cast<std::uint32_t>(a.n / 128);
  const std::uint32_t warps = gridDim.x * kWarps;
  std::uint32_t group = blockIdx.x * kWarps + warp;
  WalkQueue<Dim> queue(s.queues, warp, kWarps);
  ListChunks chunks;
  T x[4][Dim];
  if (group < groups) load_four<T, Dim>(a.points, std::uint64_t{group} * 128 + 4 * lane, a.n, x);
  while (group < groups) {
    const std::uint32_t i = group * 128 + 4 * lane;
    float c[4][Dim];
#pragma unroll
    for (int j = 0; j < 4; ++j) as_floats(x[j], c[j]);
    group += warps;  // the next turn's points are under way during this one
    if (group < groups) load_four<T, Dim>(a.points, std::uint64_t{group} * 128 + 4 * lane, a.n, x);
    std::uint32_t xy[4], z[4], guess[4], code[4];
    places_of<Dim>(c, places.scale, xy, z);
    walk_by_places<Dim>(s, first, xy, z, guess, code);
#pragma unroll
    for (int j = 0; j < 4; ++j) atomicAdd(&s.counts[code[j]], 1U);
    reinterpret_cast<uint2*>(a.codes)[i / 4] = make_uint2(code[0] | code[1] << 16U, code[2] | code[3] << 16U);
    for (int next = put_into_queue<Dim>(queue, c, i, guess, code); next < 4;) {
      walk_queued<T, Dim>(a, s, chunks, queue, min(queue.size, 32U));
      next = put_by_turns<Dim>(queue, next, c, i, guess, code);
    }
    if (queue.size >= 32) walk_queued<T, Dim>(a, s, chunks, queue, 32);
  }
  if (queue.size > 0) walk_queued<T, Dim>(a, s, chunks, queue, queue.size);
  if (blockIdx.x == 0 && warp == 0) walk_rest<T, Dim>(a, s, chunks);
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads)
    if (v > 0) SharedSums<false>{s.counts}.give(v, a.sums);
}

}  // namespace amrbench::partitioners::gpu
