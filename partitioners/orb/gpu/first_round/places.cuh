#pragma once
// Places: coordinates as numbers of 15 bits, and the tables of a walk over them, for gpu/first_round/walk.cuh.
//
// Why. Comparing places is much cheaper than comparing coordinates with brackets: the three places of a point fit into
// two words, and a comparison is an integer subtraction. Places are coarse, so what they give is a guess, but one that
// can be checked: a place never falls as its coordinate rises, so a point whose places lie between those of a leaf's
// limits lies inside these limits itself, and outside of all brackets on the way to the leaf.
//
// Words:
//   place    a coordinate's number of 15 bits between the sides of the root's box
//   middle   of a node: the last place that goes left
//   limits   of a leaf: the lowest and highest places that are outside of all brackets on the way to it
//   guard    the bit above a place. It is set before a subtraction and is still there after it if nothing was borrowed:
//            several comparisons in one instruction
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

}  // namespace amrbench::partitioners::gpu
