#pragma once
// The sample of points that fractions are made from (gpu/first_round/quantiles.cuh), sorted along each axis.
#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/rules.hpp"

namespace amrbench::partitioners::gpu {

/// Points of the sample, and how many of them are quantiles along an axis.
constexpr std::uint32_t kQuantileSample = 1U << 15U;
template <class T>
constexpr std::uint32_t kQuantiles = sizeof(T) == sizeof(float) ? 4096 : 2048;

/// What tells fractions from points, and coordinates from fractions. sorted null: fractions are the coordinates
/// themselves.
template <class T, int Dim>
struct QuantileTable {
  static constexpr std::uint32_t kCount = kQuantiles<T>;
  static constexpr std::uint32_t kEach = kQuantileSample / kCount;
  const OrbPoint<T, Dim>* sorted = nullptr;  ///< [axis][kQuantileSample]

  /// The coordinate at a fraction.
  [[nodiscard]] __device__ T coordinate(float fraction, int axis) const {
    if (sorted == nullptr) return static_cast<T>(fraction);
    const auto along = sorted + std::uint64_t(axis) * kQuantileSample;
    const float at = fraction * static_cast<float>(kCount);
    const auto k = min(static_cast<std::uint32_t>(at), kCount - 1U);
    const auto from = ordered_bits(along[k * kEach].x[axis]);
    const auto to = ordered_bits(along[min((k + 1) * kEach, kQuantileSample - 1U)].x[axis]);
    const double share = static_cast<double>(at - static_cast<float>(k));
    return from_ordered_bits(static_cast<decltype(from)>(from + share * static_cast<double>(to - from)));
  }
};

/// Points of the sample that a block sorts.
constexpr std::uint32_t kSortedTogether = 1024;

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
/// sorted, by comparing each with all others. Points by stage.
template <class T, int Dim>
__global__ void __launch_bounds__(kSortedTogether)
    quantile_sample_kernel(const T* __restrict__ points, std::uint64_t n, OrbPoint<T, Dim>* sample) {
  __shared__ OrbPoint<T, Dim> all[kSortedTogether];
  const std::uint32_t first = blockIdx.x * kSortedTogether;
  const std::uint64_t at = sample_position(first + threadIdx.x, n, kQuantileSample);
  // The sample's own numbers rise with those of its points, and differ where it has a point twice.
  OrbPoint<T, Dim> mine = by_stage<T, Dim>(points + at * Dim, static_cast<int>(blockIdx.y), threadIdx.x);
  all[threadIdx.x] = mine;
  __syncthreads();
  std::uint32_t rank = 0;
#pragma unroll 4
  for (std::uint32_t k = 0; k < kSortedTogether; ++k) rank += orb_before(all[k], mine, 0) ? 1U : 0U;
  mine.id = static_cast<std::uint32_t>(at);
  sample[blockIdx.y * kQuantileSample + first + rank] = mine;
}

/// Merges the sorted parts: a point's place follows from its place in each of them.
template <class T, int Dim>
__global__ void quantile_merge_kernel(const OrbPoint<T, Dim>* __restrict__ sample, OrbPoint<T, Dim>* sorted) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x, own = k / kSortedTogether;
  const OrbPoint<T, Dim> mine = sample[k];
  const std::uint32_t axis = k / kQuantileSample, first = axis * (kQuantileSample / kSortedTogether);
  std::uint32_t place = k % kSortedTogether;
#pragma unroll 4
  for (std::uint32_t part = first; part < first + kQuantileSample / kSortedTogether; ++part) {
    const OrbPoint<T, Dim>* const along = sample + part * kSortedTogether;
    // Of a point that the sample has twice, the one in the lower part comes first.
    const auto before = [&](const OrbPoint<T, Dim>& p) {
      return part < own ? !orb_before(mine, p, 0) : orb_before(p, mine, 0);
    };
    std::uint32_t low = 0;
    for (std::uint32_t step = kSortedTogether / 2; step > 0; step /= 2)
      if (before(along[low + step - 1])) low += step;
    if (before(along[low])) ++low;
    place += part == own ? 0U : low;
  }
  OrbPoint<T, Dim>& to = sorted[axis * kQuantileSample + place];
#pragma unroll
  for (int stage = 0; stage < Dim; ++stage) to.x[axis_of_stage<T, Dim>(static_cast<int>(axis), stage)] = mine.x[stage];
  to.id = mine.id;
}

}  // namespace amrbench::partitioners::gpu
