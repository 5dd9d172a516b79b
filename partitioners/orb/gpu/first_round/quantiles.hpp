#pragma once
// Fractions by quantiles: coordinates that the first round takes instead of the points' own where too many points would
// meet its brackets. Internal to OrbGpu.
//
// In:  points, however they lie. Out: for each point and axis a fraction in [0, 1].
// The idea. A fraction says about what part of all points stands before the point in rule 1's order along the axis,
// which is that of its coordinate, then of the others, then of its number. A sample's coordinates are sorted along each
// axis; some of them, the quantiles, lie in shared memory, and a binary search finds the last one at or before a
// point's. Between two quantiles the share rises in proportion to the coordinate. A coordinate that several quantiles
// have, as many points have it, has the stretch from the first to the last of them, and where its points stand in there
// is what the share on the next axis says, and at last their number. Fractions never fall along rule 1's order, which
// is all that exact cuts need.
#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/rules.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points of the sample, and how many of their coordinates along an axis are quantiles.
constexpr std::uint32_t kQuantileSample = 1U << 15U;
template <class T>
constexpr std::uint32_t kQuantiles = sizeof(T) == sizeof(float) ? 4096 : 2048;

/// A coordinate of the sample.
template <class T>
struct SampledCoordinate {
  T x;
  std::uint32_t axis;
};

/// What tells fractions from points, and coordinates from fractions. sorted null: fractions are the coordinates
/// themselves.
template <class T, int Dim>
struct QuantileTable {
  static constexpr std::uint32_t kCount = kQuantiles<T>;
  static constexpr std::uint32_t kEach = kQuantileSample / kCount;
  const SampledCoordinate<T>* sorted = nullptr;  ///< [axis][kQuantileSample]

  /// The coordinate at a fraction.
  [[nodiscard]] __device__ T coordinate(float fraction, int axis) const {
    if (sorted == nullptr) return static_cast<T>(fraction);
    const auto along = sorted + std::uint64_t(axis) * kQuantileSample;
    const float at = fraction * static_cast<float>(kCount);
    const auto k = min(static_cast<std::uint32_t>(at), kCount - 1U);
    const auto from = ordered_bits(along[k * kEach].x);
    const auto to = ordered_bits(along[min((k + 1) * kEach, kQuantileSample - 1U)].x);
    const double share = static_cast<double>(at - static_cast<float>(k));
    return from_ordered_bits(static_cast<decltype(from)>(from + share * static_cast<double>(to - from)));
  }
};

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
  const std::uint64_t* weights = nullptr;  ///< of the points; null: each stands for as many as the others
  std::uint64_t weight = 0;                ///< of all
  std::uint32_t room = 0;                  ///< of a thread block; set by Quantiles, as what follows
  float share = 0;                         ///< of a point, or of a weight of 1, in parts of kOne
};

template <class T, int Dim>
class Quantiles {
 public:
  explicit Quantiles(const support::CudaStream& stream) : stream_(stream) {}
  /// Fractions of n points, Dim values each. Both aligned to 16 bytes. sample: taken on the way.
  void spread(const T* points, std::uint64_t n, T* fractions, StratifiedSample sample);
  [[nodiscard]] QuantileTable<T, Dim> table() const { return {sorted_.data()}; }

 private:
  const support::CudaStream& stream_;
  support::DeviceBuffer<SampledCoordinate<T>> sorted_;
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
