#pragma once
// Places: coordinates as numbers of 15 bits, and the tables of a walk over them, for gpu/first_round/walk.cuh.
//
// Why. Comparing places is much cheaper than comparing coordinates with brackets: the three places of a point fit into
// two words, and a comparison is an integer subtraction. Places are coarse, so what they give is a guess, but one that
// can be checked: a place never falls as its coordinate rises, so a point whose places lie between those of a leaf's
// limits lies inside these limits itself, and outside of all brackets on the way to the leaf.
//
// Words:
//   place    a coordinate's number of 15 bits between the sides of the root's box. Even over the side; or where half of
//            the points lie within an eighth of it, half of the places go to that stretch
//   middle   of a node: the last place that goes left
//   limits   of a leaf: the lowest and highest places that are outside of all brackets on the way to it
//   guard    the bit above a place. It is set before a subtraction and is still there after it if nothing was borrowed:
//            several comparisons in one instruction
//   grid     32 cells a side of the root's box; for each the deepest node that holds all of it but a sliver: where a
//            walk begins
#include "partitioners/orb/gpu/first_round/brackets.cuh"

namespace amrbench::partitioners::gpu {

constexpr std::uint32_t kPlaces = 1U << 15U;
constexpr std::uint32_t kGuards = 0x80008000U;
/// Cells of the grid that says where a walk may begin: bits an axis, and how far planes may reach into a cell.
constexpr unsigned kGridBits = 5;
constexpr std::uint32_t kGridCells = 1U << (3 * kGridBits);
constexpr std::uint32_t kGridSliver = 96;

/// How coordinates along an axis become places: all places even over the side, or a part of them over a stretch of the
/// side where points are dense.
struct PlaceAxis {
  float scale = 0, offset = 0, places = kPlaces - 1U;  ///< over the side
  float dense_scale = 0, dense_offset = 0, dense_places = 0;
};
template <int Dim>
struct PlaceScale {
  PlaceAxis axis[Dim];
};

/// The place of c, in the low 15 bits; other bits are set too. It never falls as c rises, for additions and products by
/// positive numbers round that way.
__device__ inline std::uint32_t place_bits(float c, const PlaceAxis& axis) {
  const float share = __saturatef(__fmaf_rn(c, axis.scale, axis.offset));
  const float dense = __saturatef(__fmaf_rn(c, axis.dense_scale, axis.dense_offset));
  return __float_as_uint(__fmaf_rn(dense, axis.dense_places, __fmaf_rn(share, axis.places, 8388608.0F)));
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

/// Makes the grid, one thread a cell: the deepest node that holds all of the cell but a sliver.
template <int Dim>
__global__ void place_grid_kernel(std::uint32_t first, const std::uint32_t* __restrict__ middles, std::uint16_t* grid) {
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

/// What the walk by places reads.
template <int Dim>
struct PlaceTables {
  PlaceScale<Dim> scale;
  const std::uint32_t* middles;
  const uint4* limits;
  const std::uint16_t* grid;
};

/// Bins of a side that show where points are dense, and how many points of the sample are counted in them.
constexpr std::uint32_t kDenseBins = 256;
constexpr std::uint32_t kDenseSamples = 1U << 16U;

/// Counts m points of the sample, `step` apart, by bins of each side: a sample of fractions is in the points' order,
/// which may be that of their coordinates. bins: [axis][kDenseBins], zero at first.
template <int Dim>
__global__ void density_kernel(const float* __restrict__ sample, std::uint32_t m, std::uint32_t step,
                               const PlaceScale<Dim> scale, std::uint32_t* bins) {
  __shared__ std::uint32_t mine[Dim][kDenseBins];
  for (std::uint32_t k = threadIdx.x; k < Dim * kDenseBins; k += blockDim.x) mine[k / kDenseBins][k % kDenseBins] = 0;
  __syncthreads();
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < m; i += gridDim.x * blockDim.x)
    for (int a = 0; a < Dim; ++a)
      atomicAdd(&mine[a][place_of(sample[std::uint64_t{i} * step * Dim + a], scale.axis[a]) / (kPlaces / kDenseBins)],
                1U);
  __syncthreads();
  for (std::uint32_t k = threadIdx.x; k < Dim * kDenseBins; k += blockDim.x)
    if (mine[k / kDenseBins][k % kDenseBins] > 0) atomicAdd(&bins[k], mine[k / kDenseBins][k % kDenseBins]);
}

/// On the host: finds the shortest stretch of a side with half of the points, and gives half of the axis' places to it
/// where it is short. axis: before, places even over the side.
inline void find_dense(const std::uint32_t* bins, PlaceAxis& axis) {
  std::uint64_t total = 0;
  for (std::uint32_t b = 0; b < kDenseBins; ++b) total += bins[b];
  std::uint32_t shortest = kDenseBins, from = 0;
  std::uint64_t inside = 0;
  for (std::uint32_t begin = 0, end = 0; end < kDenseBins; ++end) {
    inside += bins[end];
    for (; 2 * (inside - bins[begin]) >= total && begin < end; ++begin) inside -= bins[begin];
    if (2 * inside < total || end + 1 - begin >= shortest) continue;
    shortest = end + 1 - begin;
    from = begin;
  }
  if (shortest > kDenseBins / 8 || total == 0) return;
  const float ratio = static_cast<float>(kDenseBins) / static_cast<float>(shortest);
  axis.dense_scale = axis.scale * ratio;
  axis.dense_offset = (axis.offset - static_cast<float>(from) / static_cast<float>(kDenseBins)) * ratio;
  axis.places = kPlaces / 2U;
  axis.dense_places = kPlaces / 2U - 1U;
}

}  // namespace amrbench::partitioners::gpu
