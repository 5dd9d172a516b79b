#pragma once
// The multiway method with weights on a GPU. Internal to OrbGpu.
//
// In:  n points and n weights (doubles) on the device, the tree's root.
// Out: the tree on the host; points, numbers and labels on the device, as options ask. The result is the CPU's.
// Weights become integers first, so that sums do not depend on order. Then a wide round (gpu/weighted/wide.hpp), where
// there are points enough, and whatever that leaves level by level (gpu/levels.hpp).
#include <memory>
#include <optional>
#include <vector>

#include "partitioners/orb/gpu/levels.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpu/weighted/wide.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Weights as integers, by the rules of weights.hpp.
class WeightUnits {
 public:
  WeightUnits(std::uint64_t n, const support::CudaStream& stream);
  /// From n doubles on the device. InputError with the index of the first that is negative, NaN or infinite, unless the
  /// exponent is given. Waits. 24 bytes a point, 16 with an exponent.
  void convert(const double* weights, std::optional<int> exponent);
  [[nodiscard]] const std::uint64_t* data() const { return units_.data(); }  ///< room for a multiple of 4
  [[nodiscard]] const std::uint64_t* ends() const { return ends_.data(); }   ///< as in UnitWeights
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] double unit() const { return unit_; }  ///< value of 1

 private:
  /// What the kernels find: the bits of the largest weight, the first bad index, the sum of the units.
  struct Findings {
    unsigned long long largest, bad, total;
  };
  [[nodiscard]] Findings read();
  [[nodiscard]] int checked_exponent(const double* weights);

  std::uint64_t n_;
  const support::CudaStream& stream_;
  support::DeviceBuffer<std::uint64_t> units_, ends_;
  support::DeviceBuffer<unsigned char> temporary_;
  support::DeviceBuffer<Findings> findings_;
  support::PinnedBuffer<Findings> host_;
  std::uint64_t total_ = 0;
  double unit_ = 1;
};

template <class T, int Dim>
class WeightedMultiway {
 public:
  WeightedMultiway(std::uint64_t n, const OrbGpuOptions& options);
  /// tree: uncut; its weight is set here. exponent: the weights', where it is not their own.
  void run(const T* points, const double* weights, std::optional<int> exponent, OrbTree<T, Dim>& tree,
           OrbGpuTimes& times);

  [[nodiscard]] const T* points() const { return points_.data(); }
  [[nodiscard]] const std::uint32_t* permutation() const { return order_; }
  [[nodiscard]] const std::uint32_t* labels() const { return labels_.data(); }

 private:
  bool run_wide(const T* points, OrbTree<T, Dim>& tree, OrbGpuTimes& times, std::vector<std::size_t>& active);
  void gather(const T* points);

  std::uint64_t n_;
  OrbGpuOptions options_;
  support::CudaStream stream_;
  Stopwatch watch_{stream_};
  WeightUnits units_{n_, stream_};
  std::unique_ptr<WeightedWideRound<T, Dim>> wide_;
  Levels<T, Dim> levels_{stream_};
  support::DeviceBuffer<T> points_;
  support::DeviceBuffer<std::uint32_t> own_order_, labels_;
  std::uint32_t* order_ = nullptr;  ///< the permutation, own or the wide round's
};

}  // namespace amrbench::partitioners::gpu
