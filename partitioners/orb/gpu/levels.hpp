#pragma once
// Cells cut on a GPU, whatever their points and weights are, and however many. Internal to OrbGpu.
//
// In:  cells to cut, each a stretch of points in an order; points, weights (null: every point weighs 1). Out: all cuts
// below them, points, numbers, labels.
// Small cells are finished by a thread block each (gpu/small.cuh). Others take a level at a time, which searches the
// cuts of all its cells together by histograms of weights, whose range narrows from pass to pass, then moves all points
// once (gpu/levels.cuh says how). It needs no sample and is never wrong; the first round is faster.
//
// Bytes a point of 12 and level: 12 a histogram, of which a level takes one or two where coordinates are spread out; 12
// to collect; 12 to count; 44 to move with numbers of 4. With weights 8 and 16 more.
#include <memory>
#include <string_view>
#include <vector>

#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/seed.hpp"
#include "partitioners/orb/gpu/small.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class Levels {
 public:
  /// method: as in OrbGpuOptions; the document's methods search in their own way, and finish no small cells.
  Levels(std::string_view method, const support::CudaStream& stream) : stream_(stream) {
    if (const auto kernel = seed_kernel(method)) seed_ = std::make_unique<SeedSearch<T, Dim>>(*kernel, stream);
  }

  /// Cuts the tree's cells `active`, of more than one leaf each, and all below them. Results may lie where the points
  /// and their order do. Waits. RunError when points lie outside their cell's box, or when there is no memory.
  void run(const LevelPoints<T>& points, const LevelResults<T>& results, const std::vector<std::size_t>& active,
           double side_tolerance, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times);

 private:
  struct Active {
    std::size_t heap;
    std::uint32_t begin;  ///< among the points that the call works on
  };
  void gather(const LevelPoints<T>& points, const OrbTree<T, Dim>& tree, const std::vector<std::size_t>& active);
  void finish_small(const OrbTree<T, Dim>& tree, double side_tolerance);
  template <bool Weighted>
  void launch_small(std::size_t cells, double side_tolerance);
  void describe(const OrbTree<T, Dim>& tree, double side_tolerance);
  void search(OrbGpuTimes& times);
  void search_batch(std::size_t first, std::size_t n, OrbGpuTimes& times);
  void move();
  void finish(OrbTree<T, Dim>& tree);
  void read_small(OrbTree<T, Dim>& tree);
  [[nodiscard]] const std::uint64_t* weights() const { return weighted_ ? weights_[now_].data() : nullptr; }

  const support::CudaStream& stream_;
  std::unique_ptr<SeedSearch<T, Dim>> seed_;
  bool weighted_ = false;
  LevelResults<T> results_{};
  std::vector<Active> active_;
  std::vector<SmallCell<T, Dim>> small_;  ///< of this level
  std::vector<std::pair<std::size_t, std::uint32_t>>
      small_cuts_begin_;  ///< of all levels: cell, and where its cuts are
  std::uint32_t small_cuts_used_ = 0;
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
  support::DeviceBuffer<SmallCell<T, Dim>> device_small_;
  support::DeviceBuffer<SmallCut<T>> small_cuts_;
  support::PinnedBuffer<SmallCut<T>> host_small_cuts_;
};

}  // namespace amrbench::partitioners::gpu
