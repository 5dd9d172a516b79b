#pragma once
// Kernels of gpu_wide.cu that walk all points down.
//
// Most points meet no bracket. For them a walk over whole numbers suffices: a place is a coordinate's number, of 15
// bits, between the sides of the root's box, made by operations that never fall as the coordinate rises. The walk by
// places guesses a node of the last level; places between its limits prove that the point lies outside all brackets on
// the way there. So no guess needs to be right. Points without that proof are walked by their coordinates.
#include "partitioners/orb/gpu_wide.cuh"

namespace amrbench::partitioners::gpu {

constexpr std::uint32_t kPlaces = 1U << 15U;
constexpr std::uint32_t kGuards = 0x80008000U;
/// Cells of the grid that says where a walk may begin: bits an axis, and how far planes may reach into a cell.
constexpr unsigned kGridBits = 5;
constexpr std::uint32_t kGridCells = 1U << (3 * kGridBits);
constexpr std::uint32_t kGridSliver = 96;
/// Points that a warp keeps for the walk by coordinates: fewer than 32 of earlier ones, and 4 a lane.
constexpr std::uint32_t kWideQueue = 160;

/// How a launch walks: all points from where the grid says; points of some cells once more.
enum class WideStart { grid, again };

template <int Dim>
struct WideScale {
  float scale[Dim], offset[Dim];
};

/// Never falls as c rises: additions and products round so. In the low 15 bits; others are set too.
__device__ inline std::uint32_t place_bits(float c, float scale, float offset) {
  const float share = __saturatef(__fmaf_rn(c, scale, offset));
  return __float_as_uint(__fmaf_rn(share, static_cast<float>(kPlaces - 1U), 8388608.0F));
}
template <int Dim>
__device__ inline std::uint32_t place_of(float c, const WideScale<Dim>& scale, int axis) {
  return place_bits(c, scale.scale[axis], scale.offset[axis]) & (kPlaces - 1U);
}

/// What to take from places {x, y} and {z, 0} so that the place on an axis stands above 16 bits of zero.
__device__ inline std::uint32_t place_selector(std::uint32_t axis) {
  return axis == 0 ? 0x1066U : axis == 1 ? 0x3266U : 0x5466U;
}
__device__ inline std::uint32_t select_bytes(std::uint32_t low, std::uint32_t high, std::uint32_t selector) {
  std::uint32_t result = 0;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
  return result;
}

/// One thread a node: middles[node], the last place that goes left above the selector of its axis; limits, by three
/// arrays over the nodes of the last level: lowest places on x and y; highest with guards; highest on z, guarded, less
/// the lowest.
template <int Dim>
__global__ void wide_tables_kernel(std::uint32_t first, const WideSplit* __restrict__ splits,
                                   const float2* __restrict__ table, const WideScale<Dim> scale, std::uint32_t* middles,
                                   std::uint32_t* limits) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= first) return;
  const WideSplit split = splits[k];
  const bool inner = k > 0 && (split.state & WideSplit::kCut) != 0U;
  const std::uint32_t axis = split.state & WideSplit::kAxis;
  middles[k] = inner ? place_of<Dim>(split.plane, scale, static_cast<int>(axis)) << 16U | place_selector(axis)
                     : 0xffff0000U | place_selector(0);  // all go left
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
        high[d] = min(high[d], static_cast<std::int32_t>(place_of<Dim>(bracket.x, scale, d)) - 1);
      else
        low[d] = max(low[d], static_cast<std::int32_t>(place_of<Dim>(bracket.y, scale, d)) + 1);
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
  limits[k] = static_cast<std::uint32_t>(low[0]) | static_cast<std::uint32_t>(low[1]) << 16U;
  limits[first + k] = (static_cast<std::uint32_t>(high[0]) | static_cast<std::uint32_t>(high[1]) << 16U) | kGuards;
  limits[2 * first + k] = ((static_cast<std::uint32_t>(high[2]) | kPlaces) << 16U) - static_cast<std::uint32_t>(low[2]);
}

/// One thread a cell of the grid: the deepest node that holds it but for a sliver.
template <int Dim>
__global__ void wide_grid_kernel(std::uint32_t first, const std::uint32_t* __restrict__ middles, std::uint16_t* grid) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= kGridCells) return;
  constexpr unsigned kInCell = 15 - kGridBits;
  constexpr std::uint32_t kMask = (1U << kGridBits) - 1U;
  const std::uint32_t begin[3] = {(k & kMask) << kInCell, ((k >> kGridBits) & kMask) << kInCell,
                                  (k >> (2 * kGridBits)) << kInCell};
  std::uint32_t v = 1;
  while (v < first) {
    const std::uint32_t middle = middles[v] >> 16U;
    const std::uint32_t selector = middles[v] & 0xffffU;
    const std::uint32_t from = selector == place_selector(0)   ? begin[0]
                               : selector == place_selector(1) ? begin[1]
                                                               : begin[2];
    const std::uint32_t last = from + (1U << kInCell) - 1U;
    if (last <= middle + kGridSliver)
      v = 2 * v;
    else if (from + kGridSliver > middle)
      v = 2 * v + 1;
    else
      break;
  }
  grid[k] = static_cast<std::uint16_t>(v);
}

/// What wide_classify_kernel works on.
template <class T, int Dim>
struct WideWalk {
  const T* points;
  std::uint64_t n;
  int levels;
  WideScale<Dim> scale;
  const std::uint32_t* middles;
  const std::uint32_t* limits;
  const std::uint16_t* grid;
  const std::uint16_t* start;  ///< of each code the cell that is cut once more; else 0
  std::uint16_t* codes;        ///< room for a multiple of 4
  std::uint32_t* code_counts;
  std::uint32_t turns;  ///< in a stretch
  WideLists<T, Dim> lists;
};

constexpr std::size_t wide_shared(WideStart how, int levels) {
  const std::size_t first = std::size_t{1} << static_cast<unsigned>(levels);
  const std::size_t both =
      first * (sizeof(float2) + 2 * sizeof(std::uint32_t)) + kWalkThreads / 32 * kWideQueue * sizeof(std::uint32_t);
  if (how == WideStart::again) return both + 2 * first * sizeof(std::uint16_t);
  return both + 4 * first * sizeof(std::uint32_t) + kGridCells * sizeof(std::uint16_t);
}

/// Four points from `first` on by 16-byte loads; fewer where the input ends.
template <class T, int Dim>
__device__ inline void load_four(const T* __restrict__ points, std::uint64_t first, std::uint64_t n, T (&x)[4][Dim]) {
  if (first + 4 <= n) {
    constexpr int kWords = static_cast<int>(4 * Dim * sizeof(T) / sizeof(uint4));
    union {
      uint4 words[kWords];
      T values[4][Dim];
    } loaded;
    const auto* from = reinterpret_cast<const uint4*>(points + first * Dim);
#pragma unroll
    for (int w = 0; w < kWords; ++w) loaded.words[w] = __ldg(from + w);
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int a = 0; a < Dim; ++a) x[j][a] = loaded.values[j][a];
    return;
  }
#pragma unroll
  for (int j = 0; j < 4; ++j)
#pragma unroll
    for (int a = 0; a < Dim; ++a) x[j][a] = first + j < n ? points[(first + j) * Dim + a] : T(0);
}

/// Shared memory of wide_classify_kernel.
struct WideMemory {
  float2* table;          ///< brackets
  std::uint32_t* counts;  ///< by code
  std::uint32_t* queue;   ///< of the warp
  std::uint32_t *middles, *limits;
  std::uint16_t *grid, *start;

  __device__ WideMemory(unsigned char* memory, std::uint32_t first) {
    table = reinterpret_cast<float2*>(memory);
    counts = reinterpret_cast<std::uint32_t*>(table + first);
    auto* const queues = counts + 2 * first;
    queue = queues + threadIdx.x / 32 * kWideQueue;
    middles = queues + kWalkThreads / 32 * kWideQueue;
    limits = middles + first;
    grid = reinterpret_cast<std::uint16_t*>(limits + 3 * first);
    start = reinterpret_cast<std::uint16_t*>(middles);
  }
};

/// Walks four points by places; codes of those that meet no bracket, 0 for others.
template <int Dim>
__device__ inline void walk_by_places(const WideMemory& s, std::uint32_t first, const std::uint32_t (&xy)[4],
                                      const std::uint32_t (&z)[4], std::uint32_t (&v)[4]) {
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
    more = false;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (v[j] >= first) continue;
      const std::uint32_t middle = s.middles[v[j]];
      v[j] = 2 * v[j] + (select_bytes(xy[j], z[j], middle) > middle ? 1U : 0U);
      more = more || v[j] < first;
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::uint32_t k = v[j] - first;
    const std::uint32_t both = (z[j] | kPlaces) - (z[j] << 16U);
    const std::uint32_t inside =
        ((xy[j] | kGuards) - s.limits[k]) & (s.limits[first + k] - xy[j]) & (s.limits[2 * first + k] + both);
    if ((inside & kGuards) != kGuards) v[j] = 0;
  }
}

/// Points, one a lane, on their way from memory: a warp asks for them a turn before it walks them by coordinates.
template <class T, int Dim>
struct WidePending {
  T x[Dim];
  std::uint32_t position = 0;
  std::uint32_t code = 0;  ///< where a walk is once more
  bool any = false;        ///< of the warp

  template <WideStart How>
  __device__ void ask(const WideWalk<T, Dim>& a, std::uint32_t at) {
    any = true;
    position = at;
#pragma unroll
    for (int d = 0; d < Dim; ++d) x[d] = __ldg(a.points + std::uint64_t{at} * Dim + d);
    if constexpr (How == WideStart::again) code = a.codes[at];
  }
};

/// Walks one point a lane by coordinates from the root, or from its cell; lists those in brackets. All lanes call.
template <class T, int Dim, WideStart How>
__device__ inline void walk_by_coordinates(const WideWalk<T, Dim>& a, const WideMemory& s, WideChunks& chunks,
                                           WidePending<T, Dim>& pending, bool here) {
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  float c[Dim];
  as_floats(pending.x, c);
  std::uint32_t v = first;
  if (here) v = How == WideStart::again ? s.start[pending.code] : 1U;
  for (int level = 0; level < a.levels; ++level)
    if (v < first) step_down<Dim>(s.table, c, v);
  if (here) {
    a.codes[pending.position] = static_cast<std::uint16_t>(v);
    atomicAdd(&s.counts[v], 1U);
  }
  const bool listed = here && v < first;
  const std::uint64_t at = chunks.take(a.lists.sizes, listed ? v : 0U, a.levels);
  if (listed) list_point(a.lists, s.table, pending.x, pending.position, v, at);
  pending.any = false;
}

/// Places of four points.
template <class T, int Dim>
__device__ inline void places_of(const T (&x)[4][Dim], const WideScale<Dim>& scale, std::uint32_t (&xy)[4],
                                 std::uint32_t (&z)[4]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float c[Dim];
    as_floats(x[j], c);
    xy[j] = select_bytes(place_bits(c[0], scale.scale[0], scale.offset[0]),
                         place_bits(c[1], scale.scale[1], scale.offset[1]), 0x5410U);
    z[j] = 0;
    if constexpr (Dim == 3) z[j] = place_of<Dim>(c[2], scale, 2);
  }
}

template <class T, int Dim, WideStart How>
__device__ inline void load_memory(const WideWalk<T, Dim>& a, const WideMemory& s, std::uint32_t first) {
  for (std::uint32_t v = threadIdx.x; v < first; v += kWalkThreads) s.table[v] = a.lists.table[v];
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads) s.counts[v] = 0;
  if constexpr (How == WideStart::again) {
    for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads) s.start[v] = a.start[v];
  } else {
    for (std::uint32_t v = threadIdx.x; v < first; v += kWalkThreads) s.middles[v] = a.middles[v];
    for (std::uint32_t v = threadIdx.x; v < 3 * first; v += kWalkThreads) s.limits[v] = a.limits[v];
  }
  if constexpr (How != WideStart::again)
    for (std::uint32_t k = threadIdx.x; k < kGridCells; k += kWalkThreads) s.grid[k] = a.grid[k];
  __syncthreads();
}

/// Codes of a lane's four points from `i` on; 0 past the end.
template <class T, int Dim>
__device__ inline uint2 load_codes(const WideWalk<T, Dim>& a, std::uint64_t i) {
  return i < a.n ? reinterpret_cast<const uint2*>(a.codes)[i / 4] : make_uint2(0, 0);
}

/// Puts those of a warp's points that are to be walked by coordinates (v = 0) into its queue, and walks full ones.
template <class T, int Dim, WideStart How>
__device__ inline void queue_points(const WideWalk<T, Dim>& a, const WideMemory& s, WideChunks& chunks,
                                    WidePending<T, Dim>& pending, std::uint64_t i, const std::uint32_t (&v)[4],
                                    std::uint32_t& queued) {
  const unsigned lane = threadIdx.x & 31U;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const bool wanted = i + j < a.n && v[j] == 0;
    const unsigned all = __ballot_sync(kFull, wanted);
    if (wanted)
      s.queue[queued + static_cast<unsigned>(__popc(all & ((1U << lane) - 1U)))] = static_cast<std::uint32_t>(i + j);
    queued += static_cast<unsigned>(__popc(all));
  }
  __syncwarp();  // the queue and the codes of the turn are there
  while (queued >= 32) {
    if (pending.any) walk_by_coordinates<T, Dim, How>(a, s, chunks, pending, true);
    queued -= 32;
    pending.template ask<How>(a, s.queue[queued + lane]);
    __syncwarp();
  }
}

/// Walks points down: codes, counts by code, lists of those in brackets. Bytes a point of 12: 14, and 18 an entry;
/// once more: 2, and 14 and 18 for those of the cells in question. `points` and `codes` aligned to 16 bytes. Warps stay
/// and take 128 points at a time, 4 a lane; no barrier between them.
template <class T, int Dim, WideStart How>
__global__ void __launch_bounds__(kWalkThreads, 1) wide_classify_kernel(const WideWalk<T, Dim> a) {
  extern __shared__ __align__(16) unsigned char memory[];
  const std::uint32_t first = 1U << static_cast<unsigned>(a.levels);
  const WideMemory s(memory, first);
  load_memory<T, Dim, How>(a, s, first);
  const unsigned lane = threadIdx.x & 31U;
  WideStretches stretches(a.turns, blockIdx.x * (kWalkThreads / 32) + threadIdx.x / 32);
  WideChunks chunks;
  WidePending<T, Dim> pending;
  std::uint32_t queued = 0;
  T x[4][Dim];
  uint2 codes;
  if constexpr (How == WideStart::again)
    codes = load_codes(a, stretches.begin + 4 * lane);
  else
    load_four<T, Dim>(a.points, stretches.begin + 4 * lane, a.n, x);
  while (stretches.begin < a.n) {
    const std::uint64_t i = stretches.begin + 4 * lane;
    stretches.advance();  // the next turn's points and codes are asked for below
    std::uint32_t v[4];
    if constexpr (How == WideStart::again) {
      const std::uint32_t code[4] = {codes.x & 0xffffU, codes.x >> 16U, codes.y & 0xffffU, codes.y >> 16U};
      codes = load_codes(a, stretches.begin + 4 * lane);
#pragma unroll
      for (int j = 0; j < 4; ++j) v[j] = i + j < a.n && s.start[code[j]] != 0 ? 0U : 1U;
    } else {
      std::uint32_t xy[4];
      std::uint32_t z[4];
      places_of<T, Dim>(x, a.scale, xy, z);
      load_four<T, Dim>(a.points, stretches.begin + 4 * lane, a.n, x);
      walk_by_places<Dim>(s, first, xy, z, v);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (i + j < a.n && v[j] != 0) atomicAdd(&s.counts[v[j]], 1U);
      if (i < a.n) reinterpret_cast<uint2*>(a.codes)[i / 4] = make_uint2(v[0] | v[1] << 16U, v[2] | v[3] << 16U);
    }
    queue_points<T, Dim, How>(a, s, chunks, pending, i, v, queued);
  }
  __syncwarp();
  if (pending.any) walk_by_coordinates<T, Dim, How>(a, s, chunks, pending, true);
  if (queued > 0) {
    pending.template ask<How>(a, s.queue[lane < queued ? lane : 0]);
    walk_by_coordinates<T, Dim, How>(a, s, chunks, pending, lane < queued);
  }
  chunks.close(a.lists);
  __syncthreads();
  for (std::uint32_t v = threadIdx.x; v < 2 * first; v += kWalkThreads)
    if (s.counts[v] > 0) atomicAdd(&a.code_counts[v], s.counts[v]);
}

}  // namespace amrbench::partitioners::gpu
