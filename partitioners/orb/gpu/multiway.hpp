#pragma once
// The multiway method on a GPU; one call a run, and buffers live between runs. Internal to OrbGpu.
//
// In:  n points on the device, n weights (doubles) where options.weighted says so, and the tree's root with box and
//      leaves.
// Out: the tree on the host; on the device the points, their numbers and labels, as options ask.
// First the wide round (gpu/wide/wide.hpp), where there are points enough, then whatever that leaves by gpu/levels.hpp.
#include <memory>
#include <optional>
#include <vector>

#include "partitioners/orb/gpu/levels.hpp"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpu/weight_units.hpp"
#include "partitioners/orb/gpu/wide/wide.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class Multiway {
 public:
  Multiway(std::uint64_t n, const OrbGpuOptions& options);
  /// tree: uncut; with weights its weight is set here. exponent: the weights', where it is not their own.
  void run(const T* points, const double* weights, std::optional<int> exponent, OrbTree<T, Dim>& tree,
           OrbGpuTimes& times);

  [[nodiscard]] const T* points() const { return points_[final_].data(); }
  [[nodiscard]] const std::uint32_t* permutation() const { return ids_[final_].data(); }
  [[nodiscard]] const std::uint32_t* labels() const { return labels_.data(); }

 private:
  void run_uncut(const T* input);
  [[nodiscard]] UnitWeights units() const { return units_ ? units_->get() : UnitWeights{}; }
  bool run_wide(const T* input, OrbTree<T, Dim>& tree, OrbGpuTimes& times, std::vector<std::size_t>& active);

  std::uint64_t n_;
  OrbGpuOptions options_;
  support::CudaStream stream_;
  Stopwatch watch_{stream_};
  int final_ = 0;          ///< which of the two buffers holds the result
  bool numbered_ = false;  ///< numbers move with the points
  std::unique_ptr<WeightUnits> units_;
  std::unique_ptr<WideRound<T, Dim>> wide_;
  Levels<T, Dim> levels_{stream_};
  support::DeviceBuffer<T> points_[2];
  support::DeviceBuffer<std::uint32_t> ids_[2];
  support::DeviceBuffer<std::uint32_t> labels_;
};

}  // namespace amrbench::partitioners::gpu
