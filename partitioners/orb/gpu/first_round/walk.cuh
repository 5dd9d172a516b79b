#pragma once
// The kernel of gpu/first_round/first_round.cuh that walks points down the guessed tree.
//
// In:  the points; brackets. Out: the code of each point that is outside brackets, the number of points by code, and
// their weight; the lists of points in brackets.
// All points are walked by their places, coordinates as numbers of 15 bits, unless they have weights, whose sums take
// the room of places' tables. Most points meet no bracket; a walk over places guesses a leaf, and the leaf's limits
// prove that the point lies outside all brackets on the way there, or fail to. No guess needs to be right. Points
// without that proof, all points with weights, and those of cells that are guessed once more go down by their
// coordinates: they wait in a queue of their warp until there are one or two for each thread, whose coordinates are
// loaded while others are walked. Those that meet brackets wait in another queue, until 32 can be listed together, but
// by places, where they are most of those that wait at all. Warps look at 128 points at a time, the next 128 are
// already being loaded, and no warp waits for another.
//
// Why places. Comparing places is much cheaper than comparing coordinates with brackets: the three places of a point
// fit into two words, and a comparison is an integer subtraction. Places are coarse, so what they give is a guess, but
// one that can be checked: a place never falls as its coordinate rises, so a point whose places lie between those of a
// leaf's limits lies inside these limits itself, and outside of all brackets on the way to the leaf.
//
// Words:
//   place    a coordinate's number of 15 bits between the sides of the root's box
//   middle   of a node: the last place that goes left
//   limits   of a leaf: the lowest and highest places that are outside of all brackets on the way to it
//   guard    the bit above a place. It is set before a subtraction and is still there after it if nothing was borrowed:
//            several comparisons in one instruction
#include <type_traits>

#include "partitioners/orb/gpu/first_round/brackets.cuh"

namespace amrbench::partitioners::gpu {

constexpr std::uint32_t kPlaces = 1U << 15U;
constexpr std::uint32_t kGuards = 0x80008000U;

/// How coordinates along an axis become places.
struct PlaceAxis {
  float scale = 0, offset = 0;
};
template <int Dim>
struct PlaceScale {
  PlaceAxis axis[Dim];
};

/// The place of c, in the low 15 bits; other bits are set too. It never falls as c rises, for additions and products by
/// positive numbers round that way.
__device__ inline std::uint32_t place_bits(float c, const PlaceAxis& axis) {
  return __float_as_uint(__fmaf_rn(__saturatef(__fmaf_rn(c, axis.scale, axis.offset)), kPlaces - 1U, 8388608.0F));
}
__device__ inline std::uint32_t place_of(float c, const PlaceAxis& axis) {
  return place_bits(c, axis) & (kPlaces - 1U);
}

/// The byte selector that takes the place on an axis out of the words {x, y} and {z, 0} and puts it above 16 bits of
/// zero.
__device__ inline std::uint32_t place_selector(std::uint32_t axis) {
  return axis == 0 ? 0x1066U : axis == 1 ? 0x3266U : 0x5466U;
}
__device__ inline std::uint32_t select_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  std::uint32_t result = 0;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
  return result;
}

/// Makes the tables, one thread a node. middles[node]: in the upper half the last place that goes left, in the lower
/// half the byte selector of its axis. limits[k], of the k-th node of the last level: in x the lowest places on x and
/// y; in y the highest ones, with guards; in z the highest on z, with a guard, minus the lowest.
template <int Dim>
__global__ void place_tables_kernel(std::uint32_t first, const SampleSplit* __restrict__ splits,
                                    const float2* __restrict__ table, const PlaceScale<Dim> scale,
                                    std::uint32_t* middles, uint4* limits) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= first) return;
  const SampleSplit split = splits[k];
  const bool inner = k > 0 && (split.state & SampleSplit::kCut) != 0U;
  const std::uint32_t axis = split.state & SampleSplit::kAxis;
  middles[k] = inner ? place_of(split.plane, scale.axis[axis]) << 16U | place_selector(axis)
                     : (kPlaces - 1U) << 16U | place_selector(0);  // all go left
  std::int32_t low[3] = {0, 0, 0};
  std::int32_t high[3] = {kPlaces - 1, kPlaces - 1, kPlaces - 1};
  bool reachable = true;
  for (std::uint32_t v = first + k; v > 1; v /= 2) {
    const float2 bracket = table[v / 2];
    if (isinf(bracket.x)) {
      reachable = reachable && v % 2 == 0;
      continue;
    }
    const auto a = static_cast<int>(__float_as_uint(bracket.x) & 3U);
    for (int d = 0; d < Dim; ++d) {
      if (d != a) continue;
      if (v % 2 == 0)
        high[d] = min(high[d], static_cast<std::int32_t>(place_of(bracket.x, scale.axis[d])) - 1);
      else
        low[d] = max(low[d], static_cast<std::int32_t>(place_of(bracket.y, scale.axis[d])) + 1);
    }
  }
  for (int d = 0; d < 3; ++d) reachable = reachable && low[d] <= high[d];
  if (!reachable) {  // no place passes
    low[0] = kPlaces - 1;
    high[0] = 0;
    for (int d = 1; d < 3; ++d) {
      low[d] = 0;
      high[d] = kPlaces - 1;
    }
  }
  limits[k] = {static_cast<std::uint32_t>(low[0]) | static_cast<std::uint32_t>(low[1]) << 16U,
               (static_cast<std::uint32_t>(high[0]) | static_cast<std::uint32_t>(high[1]) << 16U) | kGuards,
               ((static_cast<std::uint32_t>(high[2]) | kPlaces) << 16U) - static_cast<std::uint32_t>(low[2]), 0};
}

/// What the walk by places reads.
template <int Dim>
struct PlaceTables {
  PlaceScale<Dim> scale;
  const std::uint32_t* middles;
  const uint4* limits;
};

/// Of a block, one a multiprocessor. Points under way need what shared memory leaves of the first-level cache.
template <bool ByPlaces>
constexpr int kWalkThreads = ByPlaces ? 768 : 1024;
/// Points that a thread walks at a time by their coordinates.
template <bool ByPlaces>
constexpr int kWalkEach = ByPlaces ? 1 : 2;
/// Room for those of a warp that wait to be listed.
template <bool ByPlaces>
constexpr int kWaiting = 32 * (kWalkEach<ByPlaces> + 1);

/// Shared memory of walk_kernel. Where its parts begin does not depend on the number of levels, so that addresses need
/// no arithmetic.
template <bool Weighted, bool ByPlaces>
struct WalkMemory {
  static constexpr std::uint32_t kThreads = kWalkThreads<ByPlaces>;
  float2 table[kFirstInner + 2];      ///< brackets; that of node `first` is of all
  std::uint32_t counts[kFirstNodes];  ///< by code; of 0 those not yet known
  /// A warp's: fewer points of earlier groups than it walks at a time, and 4 for each of its threads.
  static constexpr std::uint32_t kQueue = 32 * (kWalkEach<ByPlaces> + 4);
  uint2 queues[kThreads / 32][kQueue];  ///< position and cell
  uint2 waiting[ByPlaces ? 1 : kThreads / 32][kWaiting<ByPlaces>];
  std::uint32_t words[Weighted ? 2 * kFirstNodes : 1];  ///< of weights by code
  std::uint16_t start[ByPlaces ? 1 : kFirstNodes];      ///< as WalkWork::start
  std::uint32_t middles[ByPlaces ? kFirstInner : 1];
  uint4 limits[ByPlaces ? kFirstInner : 1];

  template <class T, int Dim>
  __device__ void load(const WalkWork<T, Dim>& a, const PlaceTables<Dim>& places, std::uint32_t first) {
    for (std::uint32_t v = threadIdx.x; v < first; v += kThreads) table[v] = a.lists.table[v];
    if (threadIdx.x == 0) table[first] = make_float2(-INFINITY, INFINITY);
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kThreads) counts[v] = 0;
    for (std::uint32_t v = threadIdx.x; !ByPlaces && v < 2 * first; v += kThreads) start[v] = a.start[v];
    for (std::uint32_t v = threadIdx.x; ByPlaces && v < first; v += kThreads) middles[v] = places.middles[v];
    for (std::uint32_t k = threadIdx.x; ByPlaces && k < first; k += kThreads) limits[k] = places.limits[k];
    for (std::uint32_t k = threadIdx.x; Weighted && k < 2 * kFirstNodes; k += kThreads) words[k] = 0;
    __syncthreads();
  }
};

/// Walks four points by their places. codes: the leaves they guess, or 0 where the leaf's limits do not prove it.
template <class Memory>
__device__ inline void walk_by_places(const Memory& s, std::uint32_t first, const std::uint32_t (&xy)[4],
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

/// Four points for each thread of a warp, from point i on, walked by places: those without a proof start at the root.
template <class T, int Dim>
struct FourByPlaces {
  T x[4][Dim];

  __device__ void load(const WalkWork<T, Dim>& a, std::uint64_t i) { load_four<T, Dim>(a.points, i, a.n, x); }
  /// start: the cell that a point is walked down from; 0: it is not. next: the points that are loaded meanwhile.
  template <class Memory>
  __device__ void begin(const WalkWork<T, Dim>& a, Memory& s, const PlaceTables<Dim>& places, std::uint64_t i,
                        std::uint64_t next, std::uint32_t (&start)[4]) {
    float c[4][Dim];
#pragma unroll
    for (int j = 0; j < 4; ++j) as_floats(x[j], c[j]);
    load(a, next);
    std::uint32_t xy[4], z[4], code[4];
    places_of<Dim>(c, places.scale, xy, z);
    walk_by_places(s, 1U << static_cast<unsigned>(a.levels), xy, z, code);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (i + j >= a.n) code[j] = 0;
      start[j] = code[j] == 0 && i + j < a.n ? 1U : 0U;
      atomicAdd(&s.counts[code[j]], 1U);
    }
    if (i < a.n)
      reinterpret_cast<uint2*>(a.codes)[i / 4] = make_uint2(code[0] | code[1] << 16U, code[2] | code[3] << 16U);
  }
};

/// The same of points that start at cells, by their codes.
template <class T, int Dim>
struct FourByCodes {
  uint2 codes;  ///< 0 past the end of the points

  __device__ void load(const WalkWork<T, Dim>& a, std::uint64_t i) {
    codes = make_uint2(0, 0);
    if (i >= a.n) return;
    if (!a.fresh) {
      codes = reinterpret_cast<const uint2*>(a.codes)[i / 4];
      return;
    }
    const auto left = static_cast<std::uint32_t>(min(a.n - i, std::uint64_t{4}));
    codes.x = left > 1 ? 0x10001U : 1U;
    codes.y = left > 3 ? 0x10001U : (left > 2 ? 1U : 0U);
  }
  template <class Memory>
  __device__ void begin(const WalkWork<T, Dim>& a, Memory& s, const PlaceTables<Dim>&, std::uint64_t,
                        std::uint64_t next, std::uint32_t (&start)[4]) {
    const std::uint32_t code[4] = {codes.x & 0xffffU, codes.x >> 16U, codes.y & 0xffffU, codes.y >> 16U};
    load(a, next);  // no other warp's walk changes them
#pragma unroll
    for (int j = 0; j < 4; ++j) start[j] = s.start[code[j]];
  }
};

/// Goes on down until each of a thread's points meets a bracket or is at a leaf (`first` or a later node): table[first]
/// is a bracket of all. Two levels a turn, so that the warp votes half as often. All threads of the warp call.
template <int Dim, int Each>
__device__ inline void step_to_end(const float2* table, const float (&c)[Each][Dim], std::uint32_t (&v)[Each],
                                   std::uint32_t first) {
  bool moves = true;
  while (__any_sync(kFull, moves ? 1 : 0) != 0) {
    moves = false;
#pragma unroll
    for (int turn = 0; turn < 2; ++turn)
#pragma unroll
      for (int e = 0; e < Each; ++e) {
        const std::uint32_t from = v[e];
        step_past<Dim>(table[min(from, first)], c[e], v[e]);
        moves = moves || (turn == 1 && v[e] != from && v[e] < first);
      }
  }
}

/// Points being loaded, so many for each thread: a warp starts loading them before it walks those that it loaded
/// earlier.
template <class T, int Dim, int Each>
struct PendingPoints {
  T x[Each][Dim];
  std::uint64_t weight[Each] = {};
  std::uint32_t position[Each];
  std::uint32_t start[Each];  ///< the cell a point is in; 0: no point
  bool any = false;           ///< of the warp

  /// `count` entries of a queue of the warp's: position and cell.
  template <bool Weighted>
  __device__ void ask(const WalkWork<T, Dim>& a, const uint2* queue, std::uint32_t count) {
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      const std::uint32_t k = (threadIdx.x & 31U) + 32U * static_cast<unsigned>(e);
      const uint2 entry = queue[k < count ? k : 0U];
      position[e] = entry.x;
      start[e] = k < count ? entry.y : 0U;
#pragma unroll
      for (int d = 0; d < Dim; ++d) x[e][d] = __ldg(a.points + std::uint64_t{entry.x} * Dim + d);
      if constexpr (Weighted) weight[e] = __ldg(reinterpret_cast<const unsigned long long*>(a.weights) + entry.x);
    }
  }
};

/// Lists a point that met the bracket of v; v = 0: the thread has none. All threads of the warp call.
template <bool Weighted, class T, int Dim>
__device__ inline void list_met(const WalkWork<T, Dim>& a, const float2* table, ListChunks& chunks, const T (&x)[Dim],
                                std::uint32_t position, std::uint64_t weight, std::uint32_t v) {
  const std::uint64_t at = chunks.take(a.lists, v);
  if (v != 0) list_point<Weighted>(a.lists, table, x, position, weight, v, at);
  __syncwarp();
}

/// A warp's points that met brackets and wait to be listed, 32 at a time.
struct WaitingPoints {
  uint2* points;  ///< shared: position and node
  std::uint32_t count = 0;

  /// v: the bracket's node; others that the point met none. All threads of the warp call.
  __device__ void add(std::uint32_t position, std::uint32_t v, bool met) {
    const unsigned which = __ballot_sync(kFull, met);
    const unsigned lower = which & ((1U << (threadIdx.x & 31U)) - 1U);
    if (met) points[count + static_cast<unsigned>(__popc(lower))] = make_uint2(position, v);
    count += static_cast<unsigned>(__popc(which));
  }
  /// Lists the last 32 of them, or all. All threads of the warp call, which has seen what was added.
  template <bool Weighted, class T, int Dim>
  __device__ void list(const WalkWork<T, Dim>& a, const float2* table, ListChunks& chunks) {
    const std::uint32_t n = min(count, 32U);
    count -= n;
    PendingPoints<T, Dim, 1> last;
    last.template ask<Weighted>(a, points + count, n);
    list_met<Weighted>(a, table, chunks, last.x[0], last.position[0], last.weight[0], last.start[0]);
  }
};

/// Walks the points that were loaded down from their cells; codes are counted and written. Those that meet brackets are
/// listed at once by places, where they are most, else they wait. All threads of the warp call.
template <bool Weighted, bool ByPlaces, class T, int Dim, int Each>
__device__ inline void walk_pending(const WalkWork<T, Dim>& a, WalkMemory<Weighted, ByPlaces>& s, ListChunks& chunks,
                                    const PendingPoints<T, Dim, Each>& pending, WaitingPoints& waiting) {
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  float c[Each][Dim];
  std::uint32_t v[Each];
#pragma unroll
  for (int e = 0; e < Each; ++e) {
    as_floats(pending.x[e], c[e]);
    v[e] = pending.start[e] != 0 ? pending.start[e] : first;
  }
  step_to_end<Dim>(s.table, c, v, first);
#pragma unroll
  for (int e = 0; e < Each; ++e) {
    if (pending.start[e] != 0) {
      SharedSums<Weighted>{s.counts, s.words}.add(v[e], pending.weight[e]);
      a.codes[pending.position[e]] = static_cast<std::uint16_t>(v[e]);
    }
    if constexpr (ByPlaces)
      list_met<Weighted>(a, s.table, chunks, pending.x[e], pending.position[e], pending.weight[e],
                         v[e] < first ? v[e] : 0U);
    else
      waiting.add(pending.position[e], v[e], v[e] < first);
  }
  __syncwarp();
  while (waiting.count >= 32) waiting.template list<Weighted>(a, s.table, chunks);
}

/// Walks points down: all of them by places; else those of the cells that a.start names. `points` and `codes` aligned
/// to 16 bytes. Warps take group after group until all points are walked, with no barrier between them. Bytes a point
/// of 12: 14 by places, and 30 an entry; else 2, and 14 and 18 for those of the cells in question, with weights 8 more
/// of each.
template <class T, int Dim, bool Weighted, bool ByPlaces>
__global__ void __launch_bounds__(kWalkThreads<ByPlaces>, 1)
    walk_kernel(const WalkWork<T, Dim> a, const PlaceTables<Dim> places) {
  extern __shared__ __align__(16) unsigned char memory[];
  constexpr std::uint32_t kWarps = kWalkThreads<ByPlaces> / 32;
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  auto& s = *reinterpret_cast<WalkMemory<Weighted, ByPlaces>*>(memory);
  s.load(a, places, first);
  const std::uint32_t lane = threadIdx.x & 31U;
  const std::uint32_t warp = __shfl_sync(kFull, threadIdx.x / 32, 0);  // so known to be the same for all lanes
  auto* const queue = s.queues[warp];
  constexpr std::uint32_t kTogether = 32 * kWalkEach<ByPlaces>;
  ListChunks chunks;
  WaitingPoints waiting{s.waiting[ByPlaces ? 0 : warp]};
  PendingPoints<T, Dim, kWalkEach<ByPlaces>> pending;
  std::uint32_t queued = 0;
  // Walks the points under way, and loads the last ones of the queue.
  const auto walk_on = [&] {
    if (pending.any) walk_pending(a, s, chunks, pending, waiting);
    const std::uint32_t count = min(queued, kTogether);
    queued -= count;
    pending.any = count > 0;
    if (count > 0) pending.template ask<Weighted>(a, queue + queued, count);
    __syncwarp();
  };
  const std::uint64_t step = std::uint64_t{gridDim.x} * kWarps * 128;
  std::conditional_t<ByPlaces, FourByPlaces<T, Dim>, FourByCodes<T, Dim>> four;
  std::uint64_t group = (std::uint64_t{blockIdx.x} * kWarps + warp) * 128;
  four.load(a, group + 4 * lane);
  for (; group < a.n; group += step) {
    const std::uint64_t i = group + 4 * lane;
    std::uint32_t start[4];
    four.begin(a, s, places, i, i + step, start);
    const bool wanted[4] = {start[0] != 0, start[1] != 0, start[2] != 0, start[3] != 0};
    if (__any_sync(kFull, start[0] | start[1] | start[2] | start[3]) == 0) continue;
    const LaneRanks ranks(wanted);
    std::uint32_t at = queued + ranks.before;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (wanted[j]) queue[at] = make_uint2(static_cast<std::uint32_t>(i) + j, start[j]);
      at += wanted[j] ? 1U : 0U;
    }
    queued += ranks.all;
    __syncwarp();  // the queue, and the codes of the turn, are there
    while (queued >= kTogether) walk_on();
  }
  while (queued > 0 || pending.any) walk_on();
  while (waiting.count > 0) waiting.template list<Weighted>(a, s.table, chunks);
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += 32 * kWarps)
    if (v > 0) SharedSums<Weighted>{s.counts, s.words}.give(v, a.sums);
}

}  // namespace amrbench::partitioners::gpu
