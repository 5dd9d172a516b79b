#pragma once
// Fractions by quantiles: coordinates that a wide round takes instead of the points' own where too many points would
// meet its brackets. Internal to OrbGpu.
//
// In:  points, however they lie. Out: for each point and axis a fraction in [0, 1].
// The idea. A fraction says what part of all points stands before the point in rule 1's order along the axis, which is
// that of its coordinate, then of the others, then of its number. So fractions are spread evenly, and points with equal
// coordinates have different ones. A sample is sorted along each axis; some of its points, the quantiles, lie in shared
// memory, and a binary search finds the last one at or before a point. Between two quantiles a fraction rises in
// proportion to the first of the coordinates in which they differ. Where a sample shows that this is far from the share
// of points, the search goes on over the sample. Fractions never fall along rule 1's order, which is all that exact
// cuts need.
#include "partitioners/orb/gpu/wide/wide.cuh"
#include "partitioners/orb/rules.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Points of the sample, and how many of them are quantiles. Those of all axes fit into shared memory.
constexpr std::uint32_t kQuantileSample = 1U << 18U;
template <class T>
constexpr std::uint32_t kQuantiles = sizeof(T) == sizeof(float) ? 4096 : 2048;

/// What tells fractions from points, and coordinates from fractions. sorted null: fractions are the coordinates
/// themselves.
template <class T, int Dim>
struct QuantileTable {
  static constexpr std::uint32_t kCount = kQuantiles<T>;
  static constexpr std::uint32_t kEach = kQuantileSample / kCount;
  const OrbPoint<T, Dim>* sorted = nullptr;  ///< [axis][kQuantileSample]; id: the point's number

  /// The coordinate at a fraction.
  __device__ T coordinate(float fraction, int axis) const {
    if (sorted == nullptr) return static_cast<T>(fraction);
    const auto along = sorted + std::uint64_t(axis) * kQuantileSample;
    const float at = fraction * static_cast<float>(kCount);
    const auto k = min(static_cast<std::uint32_t>(at), kCount - 1U);
    const auto from = order_key(along[k * kEach].x[axis]);
    const auto to = order_key(along[min((k + 1) * kEach, kQuantileSample - 1U)].x[axis]);
    const double share = static_cast<double>(at - static_cast<float>(k));
    return key_coordinate(static_cast<decltype(from)>(from + share * static_cast<double>(to - from)));
  }
};

template <class T, int Dim>
class Quantiles {
 public:
  explicit Quantiles(const support::CudaStream& stream) : stream_(stream) {}
  /// Has the device the shared memory for quantiles? Those of compute capability 9.0 have.
  [[nodiscard]] static bool available();
  /// Fractions of n points, Dim values each. Both aligned to 16 bytes.
  void spread(const T* points, std::uint64_t n, T* fractions);
  [[nodiscard]] QuantileTable<T, Dim> table() const { return {sorted_.data()}; }

 private:
  void sort();

  const support::CudaStream& stream_;
  support::DeviceBuffer<OrbPoint<T, Dim>> sample_, sorted_;
  support::DeviceBuffer<std::uint64_t> keys_[2];
  support::DeviceBuffer<std::uint32_t> order_[2];
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
