#pragma once
// The sample of a wide round, with weights or without, and what it says of nodes. Internal to OrbGpu.
#include "partitioners/orb/gpu_steps.hpp"
#include "partitioners/orb/gpu_wide.cuh"
#include "partitioners/orb/orb_gpu.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Half-width of a bracket in standard deviations of the sample's rank, if a cut that is missed is not tried again.
/// Errors of the cuts above on the same axis add some 7 % to that deviation: about 1 cut in 100000 is missed.
constexpr double kWideSigmas = 4.75;

/// Levels that a wide round cuts.
inline int wide_levels(std::uint32_t leaves) {
  return std::min(orb_depth(leaves), kWideLevels);
}
/// Are there points enough for a sample that serves all of them?
bool wide_suits(std::uint64_t n, const OrbGpuOptions& options);

template <class T, int Dim>
class WideSample {
 public:
  WideSample(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream);

  /// Forgets all nodes; the root, whose box and leaves are known, can be counted. The caller fills in points() and
  /// nodes() then, or calls take().
  void start(const OrbBox<T, Dim>& box, std::uint32_t leaves);
  /// A point out of each of equal stretches.
  void take(const T* points);
  /// Sends the sample back up to the cells that are cut once more. start: of each node that cell, or 0.
  void restart(const std::uint16_t* start);
  /// Brackets of the nodes from a level on; half-width in standard deviations.
  void guess(int first_level, float sigmas);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] float* points() { return points_.data(); }                ///< Dim values each
  [[nodiscard]] std::uint16_t* nodes() { return nodes_.data(); }          ///< of each point; 1 at first
  [[nodiscard]] float2* table() { return table_.data(); }                 ///< as in WideLists
  [[nodiscard]] WideSplit* splits() { return splits_.data(); }            ///< [node]
  [[nodiscard]] WideGuess<T, Dim>* guesses() { return guesses_.data(); }  ///< [node]

 private:
  std::uint64_t n_;
  double side_tolerance_;
  const support::CudaStream& stream_;
  int levels_;
  std::uint32_t size_;
  support::DeviceBuffer<float> points_;
  support::DeviceBuffer<std::uint16_t> nodes_;
  support::DeviceBuffer<std::uint32_t> bins_;
  support::DeviceBuffer<float2> table_;
  support::DeviceBuffer<WideSplit> splits_;
  support::DeviceBuffer<WideGuess<T, Dim>> guesses_;
};

}  // namespace amrbench::partitioners::gpu
