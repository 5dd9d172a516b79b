#pragma once
// The first round with weights on a GPU: up to 12 levels below the root in one pass over points and weights, as
// WideRound (gpu/wide/wide.hpp) does without. Internal to OrbGpu.
//
// What differs: the sample has points in proportion to their weights; the walk adds up weights besides counting; a cut
// is where the sum of weights reaches its target; a cell whose cut cannot be told from its bracket is left to
// Levels.
//
// Bytes a point of 12, for 12 levels: walk 12 + 8 + 2; resolution of the quarter of the points that meet a bracket,
// some 90 each. The points are then sorted by the cell that they are in: 2 passes of 16 to 24, and a gather.
#include <vector>

#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpu/weighted/wide_resolve.cuh"
#include "partitioners/orb/gpu/wide/sample.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class WeightedWideRound {
 public:
  /// Only where wide_suits().
  WeightedWideRound(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream);

  /// Cuts the tree's root and what is below it. False: nothing was cut (a missed bracket, or very many points in
  /// brackets), and the tree is as it was. points: aligned to 16 bytes. room: taken for fractions where they are
  /// needed.
  bool cut(const T* points, const UnitWeights& weights, support::DeviceBuffer<T>& room, OrbTree<T, Dim>& tree,
           Stopwatch& watch, OrbGpuTimes& times);
  /// Cells that are no leaves and were not cut, in the order of their points.
  [[nodiscard]] const std::vector<std::size_t>& left() const { return left_; }
  /// Leaves of points; of those in cells that are left: anything.
  void label(std::uint32_t* labels);
  /// The points' numbers in the order of the cells, ascending within each. Uses up the codes: label() comes before.
  /// Valid until the next run.
  std::uint32_t* order();

 private:
  bool cut_by(const T* points, const UnitWeights& weights, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times);
  void sample(const T* points, const UnitWeights& weights, const OrbTree<T, Dim>& tree);
  void classify(const T* points, const std::uint64_t* weights);
  void resolve();
  [[nodiscard]] std::uint64_t points_left(const WeightedNode<T, Dim>* nodes) const;
  bool finish(OrbTree<T, Dim>& tree, OrbGpuTimes& times);
  void make_slots(const OrbTree<T, Dim>& tree, const std::vector<std::uint32_t>& ends);
  [[nodiscard]] CodeSums sums() { return {code_counts_.data(), code_weights_.data()}; }

  std::uint64_t n_;
  OrbGpuOptions options_;
  const support::CudaStream& stream_;
  int levels_;
  std::uint32_t first_;  ///< node of the last level
  int slot_bits_ = 0;
  const T* exact_ = nullptr;  ///< the points, where what is walked are fractions
  std::vector<std::size_t> left_;

  support::DeviceBuffer<std::uint16_t> codes_;
  WideSample<T, Dim> sample_;
  Quantiles<T, Dim> quantiles_;
  support::DeviceBuffer<WeightedNode<T, Dim>> nodes_;
  support::DeviceBuffer<WideCut> cuts_;
  support::DeviceBuffer<std::uint32_t> code_counts_, bins_, list_state_, candidates_;
  support::DeviceBuffer<std::uint64_t> code_weights_, bin_weights_;
  support::DeviceBuffer<WeightedEntry<T, Dim>> entries_[kWideLevels];
  support::DeviceBuffer<unsigned char> temporary_;
  support::PinnedBuffer<WeightedNode<T, Dim>> host_nodes_;
  support::DeviceBuffer<std::uint16_t> slot_of_code_;
  support::DeviceBuffer<std::uint32_t> leaf_of_code_;
  support::DeviceBuffer<std::uint16_t> keys_[2];
  support::DeviceBuffer<std::uint32_t> order_[2];
  WeightedLists<T, Dim> lists_{};
};

}  // namespace amrbench::partitioners::gpu
