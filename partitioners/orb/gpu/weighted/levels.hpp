#pragma once
// Weighted cells cut level by level on a GPU, whatever their points and weights are. Internal to OrbGpu.
//
// In:  cells to cut, each a stretch of points in an order; points, weights. Out: all cuts below them, numbers, labels.
// A level searches the cuts of all its cells together by histograms of weights, whose range narrows from pass to pass,
// then moves all points once (gpu/weighted/levels.cuh says how). It needs no sample and is never wrong; the wide round
// is faster.
//
// Bytes a point of 12 and level: 20 a histogram, of which a level takes one or two where coordinates are spread out; 12
// to collect; 12 to count; 72 to move with weights of 8 and numbers of 4.
#include <vector>

#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpu/weighted/levels.cuh"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Where points lie, by their numbers, and where the results of a call go.
template <class T>
struct LevelPoints {
  const T* points;
  const std::uint64_t* weights;
  const std::uint32_t* order;  ///< points by cell, ascending within one; null: the points as they are
  std::uint32_t* permutation;  ///< may be `order`, may be null
  std::uint32_t* labels;       ///< may be null
};

template <class T, int Dim>
class WeightedLevels {
 public:
  explicit WeightedLevels(const support::CudaStream& stream) : stream_(stream) {}

  /// Cuts the tree's cells `active`, of more than one leaf each, in ascending order of their points, and all below
  /// them. Waits. RunError when points lie outside their cell's box, or when there is no memory.
  void run(const LevelPoints<T>& points, const std::vector<std::size_t>& active, double side_tolerance,
           OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times);

 private:
  struct Active {
    std::size_t heap;
    std::uint32_t begin;  ///< among the points that the call works on
  };
  void describe(const OrbTree<T, Dim>& tree, double side_tolerance);
  void search(OrbGpuTimes& times);
  void search_batch(std::size_t first, std::size_t n, OrbGpuTimes& times);
  void move(const LevelPoints<T>& points);
  void finish(OrbTree<T, Dim>& tree);

  const support::CudaStream& stream_;
  std::vector<Active> active_;
  std::vector<LevelCell<T, Dim>> cells_;
  std::uint32_t tiles_ = 0;
  int now_ = 0;  ///< the buffer that has the points

  support::DeviceBuffer<T> points_[2];
  support::DeviceBuffer<std::uint64_t> weights_[2];
  support::DeviceBuffer<std::uint32_t> ids_[2];
  support::DeviceBuffer<LevelCell<T, Dim>> device_cells_;
  support::DeviceBuffer<std::uint32_t> bin_counts_, candidates_, unfinished_, tile_table_;
  support::DeviceBuffer<std::uint64_t> bin_weights_;
  support::DeviceBuffer<unsigned char> temporary_;
  support::PinnedBuffer<std::uint32_t> host_unfinished_;
};

}  // namespace amrbench::partitioners::gpu
