#pragma once
// Fractions by quantiles: coordinates that the first round takes instead of the points' own where too many points would
// meet its brackets. Internal to OrbGpu.
//
// In:  points, however they lie. Out: for each point and axis a fraction in [0, 1].
// The idea. A fraction says about what part of all points stands before the point in rule 1's order along the axis,
// which is that of its coordinate, then of the others, then of its number. A sample of points is sorted so along each
// axis; coordinates of some of them, the quantiles, lie in shared memory, where the last one at or before a point's is
// found (spread.cuh). Between two quantiles the share rises in proportion to the coordinate. A coordinate that several
// quantiles have, as many points have it, has the stretch from the sample's first to its last point there. Where a
// point stands in there follows from its rest: the share on the next axis and so on, and at last its number. The
// quantiles of the stretch have such a rest, too. Where these are far from even, as with few places, whose rests are
// all alike, the share rises between two of them in proportion to it. Fractions never fall along rule 1's order, which
// is all that exact cuts need.
#include <algorithm>
#include <cub/block/block_merge_sort.cuh>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/rules.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points of the sample, and how many of them are quantiles along an axis.
constexpr std::uint32_t kQuantileSample = 1U << 15U;
template <class T>
constexpr std::uint32_t kQuantiles = sizeof(T) == sizeof(float) ? 4096 : 2048;

/// The points of the sample, sorted along an axis, that have a quantile's coordinate.
struct QuantileStretch {
  std::uint32_t first : 15, last : 15;  ///< both inclusive
  std::uint32_t one_place : 1;          ///< kFewPlaces of the sample's points behind the quantile are in its place
};

/// What tells fractions from points, and coordinates from fractions. sorted null: fractions are the coordinates
/// themselves.
template <class T, int Dim>
struct QuantileTable {
  static constexpr std::uint32_t kCount = kQuantiles<T>;
  static constexpr std::uint32_t kEach = kQuantileSample / kCount;
  const OrbPoint<T, Dim>* sorted = nullptr;    ///< [axis][kQuantileSample]
  const QuantileStretch* stretches = nullptr;  ///< [axis][kCount + 1]; the last one is that of the sample's last point

  /// The sample's point that is quantile k.
  __host__ __device__ static constexpr std::uint32_t point_of(std::uint32_t k) {
    return k < kCount ? k * kEach : kQuantileSample - 1U;
  }
  /// The coordinate at a fraction.
  [[nodiscard]] __device__ T coordinate(float fraction, int axis) const {
    if (sorted == nullptr) return static_cast<T>(fraction);
    const auto along = sorted + std::uint64_t(axis) * kQuantileSample;
    const float at = fraction * static_cast<float>(kQuantileSample);
    const auto k = min(static_cast<std::uint32_t>(at) / kEach, kCount - 1U);
    const QuantileStretch* const stretch = stretches + std::uint64_t(axis) * (kCount + 1) + k;
    const auto last = static_cast<float>(stretch[0].last), next = static_cast<float>(stretch[1].first);
    const auto from = ordered_bits(along[point_of(k)].x[axis]);
    const auto to = ordered_bits(along[point_of(k + 1)].x[axis]);
    const double share = next > last ? fminf(fmaxf((at - last) / (next - last), 0.0F), 1.0F) : 0.0F;
    return from_ordered_bits(static_cast<decltype(from)>(from + share * static_cast<double>(to - from)));
  }
};

/// Points of the sample that a block sorts, a few a thread; they fit into static shared memory.
template <class T>
constexpr std::uint32_t kSortedTogether = sizeof(T) == sizeof(float) ? 2048 : 1024;
constexpr int kSortThreads = 512;

/// A point's coordinates in the order in which rule 1 compares them along an axis.
template <class T, int Dim>
__device__ inline OrbPoint<T, Dim> by_stage(const T* __restrict__ x, int axis, std::uint32_t id) {
  OrbPoint<T, Dim> p;
#pragma unroll
  for (int stage = 0; stage < Dim; ++stage) p.x[stage] = x[axis_of_stage<T, Dim>(axis, stage)];
  p.id = id;
  return p;
}

/// The sample, a point at random out of each of equal stretches, and along each axis kSortedTogether of them at a time
/// sorted. Points by stage.
template <class T, int Dim>
__global__ void __launch_bounds__(kSortThreads)
    quantile_sample_kernel(const T* __restrict__ points, std::uint64_t n, OrbPoint<T, Dim>* sample) {
  constexpr std::uint32_t kMine = kSortedTogether<T> / kSortThreads;
  using Sort = cub::BlockMergeSort<OrbPoint<T, Dim>, kSortThreads, static_cast<int>(kMine)>;
  __shared__ typename Sort::TempStorage room;
  const std::uint32_t first = blockIdx.x * kSortedTogether<T>;
  const auto position = [&](std::uint32_t k) { return sample_position(first + k, n, kQuantileSample); };
  OrbPoint<T, Dim> mine[kMine];
#pragma unroll
  for (std::uint32_t j = 0; j < kMine; ++j) {
    // The sample's own numbers rise with those of its points, and differ where it has a point twice.
    const std::uint32_t k = j * kSortThreads + threadIdx.x;
    mine[j] = by_stage<T, Dim>(points + position(k) * Dim, static_cast<int>(blockIdx.y), k);
  }
  Sort(room).Sort(mine, [](const auto& a, const auto& b) { return orb_before(a, b, 0); });
#pragma unroll
  for (std::uint32_t j = 0; j < kMine; ++j) {
    mine[j].id = static_cast<std::uint32_t>(position(mine[j].id));
    sample[blockIdx.y * kQuantileSample + first + threadIdx.x * kMine + j] = mine[j];
  }
}

/// Merges the sorted parts: a point's place follows from its place in each of them.
template <class T, int Dim>
__global__ void quantile_merge_kernel(const OrbPoint<T, Dim>* __restrict__ sample, OrbPoint<T, Dim>* sorted) {
  constexpr std::uint32_t kPart = kSortedTogether<T>;
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x, own = k / kPart;
  const OrbPoint<T, Dim> mine = sample[k];
  const std::uint32_t axis = k / kQuantileSample, first = axis * (kQuantileSample / kPart);
  std::uint32_t place = k % kPart;
#pragma unroll 4
  for (std::uint32_t part = first; part < first + kQuantileSample / kPart; ++part) {
    const OrbPoint<T, Dim>* const along = sample + part * kPart;
    // Of a point that the sample has twice, the one in the lower part comes first.
    const auto before = [&](const OrbPoint<T, Dim>& p) {
      return part < own ? !orb_before(mine, p, 0) : orb_before(p, mine, 0);
    };
    std::uint32_t low = 0;
    for (std::uint32_t step = kPart / 2; step > 0; step /= 2)
      if (before(along[low + step - 1])) low += step;
    if (before(along[low])) ++low;
    place += part == own ? 0U : low;
  }
  OrbPoint<T, Dim>& to = sorted[axis * kQuantileSample + place];
#pragma unroll
  for (int stage = 0; stage < Dim; ++stage) to.x[axis_of_stage<T, Dim>(static_cast<int>(axis), stage)] = mine.x[stage];
  to.id = mine.id;
}

/// So many points of the sample in the place of the one before them may make it one of few places.
constexpr std::uint32_t kFewPlaces = 3;

/// A thread a quantile.
template <class T, int Dim>
__global__ void quantile_stretch_kernel(const OrbPoint<T, Dim>* __restrict__ sorted, QuantileStretch* stretches) {
  using Table = QuantileTable<T, Dim>;
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t axis = i / (Table::kCount + 1), at = Table::point_of(i % (Table::kCount + 1));
  if (axis >= Dim) return;
  const OrbPoint<T, Dim>* const along = sorted + axis * kQuantileSample;
  const T x = along[at].x[axis];
  std::uint32_t below = 0, up_to = 0;  // points below, and at or below
  for (std::uint32_t step = kQuantileSample / 2; step > 0; step /= 2) {
    if (along[below + step - 1].x[axis] < x) below += step;
    if (along[up_to + step - 1].x[axis] <= x) up_to += step;
  }
  if (along[up_to].x[axis] <= x) ++up_to;
  const std::uint32_t begin = min(at, kQuantileSample - 1U - kFewPlaces);
  bool same = true;
  for (std::uint32_t k = 1; k <= kFewPlaces; ++k)
    for (int a = 0; a < Dim; ++a) same = same && along[begin + k].x[a] == along[begin].x[a];
  stretches[i] = {below, up_to - 1U, same ? 1U : 0U};
}

/// Where a sample of the fractions goes that has of each of kStrata stretches along an axis as large a share as of the
/// others, but for a point a thread block. Where axes go together, errors of all cuts above a cell are errors of its
/// own cut, and those of such a sample are small at all levels.
struct StratifiedSample {
  static constexpr std::uint32_t kStrata = 512;
  static constexpr std::uint32_t kOne = 1U << 12U;  ///< shares of points of the sample are multiples of its inverse
  float* points = nullptr;                          ///< Dim values each
  std::uint16_t* nodes = nullptr;                   ///< 0; 1 where there is a point afterwards
  std::uint32_t size = 0;
  int axis = 0;
  UnitWeights weights;       ///< of the points; null: each stands for as many as the others
  std::uint64_t weight = 0;  ///< of all that are not heavy
  double taken = 0;          ///< about so many points are taken
  float share = 0;           ///< of a point, or of a weight of 1, in parts of kOne; set by Quantiles

  /// Where points from number i on have their room, of n; i: a multiple of kWeightGroup, or n.
  [[nodiscard]] __device__ std::uint32_t room_of(std::uint64_t i, std::uint64_t n) const {
    if (i == 0 || i == n) return i == 0 ? 0 : size;
    const double part = weights.units == nullptr
                            ? static_cast<double>(i) / static_cast<double>(n)
                            : static_cast<double>(weights.ends[i / kWeightGroup - 1]) / static_cast<double>(weight);
    return static_cast<std::uint32_t>(size * part);
  }
  /// Copies of a point of these fractions.
  template <int Dim>
  __device__ void put(const float (&c)[Dim], std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t to = first; to < last; ++to) {
#pragma unroll
      for (int a = 0; a < Dim; ++a) points[std::uint64_t{to} * Dim + a] = c[a];
      nodes[to] = 1;
    }
  }
};

}  // namespace amrbench::partitioners::gpu
