#pragma once
// The first round of the multiway method on a GPU: up to 12 levels below the root in one pass over the points. Internal
// to OrbGpu.
//
// In:  n points on the device, their weights where there are any, the root's box and leaves.
// Out: the cuts below the root; the cells that could not be cut; then, when asked for, labels or reordered points.
// How it is done, and in which files of this folder:
// 1. sample (sample.cuh): guess all 4095 cuts level by level from histograms of a sample. The brackets of all of them
//    fit into a multiprocessor's shared memory, which is why one pass suffices. Where the sample says that too many
//    points will meet them, because many coordinates are equal or very close, the round starts again with fractions
//    instead of coordinates (quantiles.cuh);
// 2. walk (places.cuh, walk.cuh): every point goes down to a leaf or to a bracket and gets a code of 16 bits; those in
//    brackets are listed with their coordinates. With weights by their coordinates at once (again.cuh), for sums of
//    weights take the room of the walk's tables;
// 3. resolve (resolve.cuh, gpu/candidates.cuh): the exact cuts, level by level, from the lists, and what the
//    codes of the listed points become;
// 4. again (again.cuh): cells whose axis or bracket was guessed wrong are guessed and walked once more, their points
//    alone;
// 5. end (end.cuh): labels follow from the codes without a move. Where points are wanted, two stable moves by 6 bits of
//    the code each.
// Words are in gpu/kernels.cuh and brackets.cuh, bytes a point in docs/orb.md.
#include <vector>

#include "partitioners/orb/gpu/first_round/resolve.cuh"
#include "partitioners/orb/gpu/first_round/sample.cuh"
#include "partitioners/orb/gpu/first_round/walk.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class FirstRound {
 public:
  /// Only where first_round_suits().
  FirstRound(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream);

  /// Cuts the tree's root and what is below it. False: nothing was cut (a missed bracket, or very many points in
  /// brackets), and the tree is as it was. points: aligned to 16 bytes. room: taken for fractions where they are
  /// needed. weights: where options.weighted says so.
  bool cut(const T* points, const UnitWeights& weights, support::DeviceBuffer<T>& room, OrbTree<T, Dim>& tree,
           Stopwatch& watch, OrbGpuTimes& times);
  /// Cells that are no leaves and were not cut.
  [[nodiscard]] const std::vector<std::size_t>& left() const { return left_; }
  /// Leaves of points; of those in cells that are left: anything.
  void label(std::uint32_t* labels);
  /// Brings the points, and their numbers unless ids is null, into the order of the cells. Buffers of two; returns the
  /// one that has the result.
  int move(const T* points, support::DeviceBuffer<T>* moved, support::DeviceBuffer<std::uint32_t>* ids);

 private:
  void allow_kernels();
  void size_lists();
  bool cut_by(const T* points, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times);
  void sample(const T* points, const OrbBox<T, Dim>& range, const OrbTree<T, Dim>& tree);
  void restart(const T* points, const std::vector<std::size_t>& cells);
  void classify(const T* points, const OrbBox<T, Dim>& box, bool again);
  void walk_by_coordinates(const WalkWork<T, Dim>& walk, bool fresh);
  template <bool Weighted>
  void resolve_level(int level);
  bool read_cuts(OrbTree<T, Dim>& tree, const std::vector<std::size_t>& cells, OrbGpuTimes& times);
  [[nodiscard]] std::vector<std::size_t> cells_to_cut_again(const OrbTree<T, Dim>& tree) const;
  void make_slots(const OrbTree<T, Dim>& tree);
  [[nodiscard]] CodeSums sums() { return {code_counts_.data(), code_weights_.data()}; }
  void move_within_buckets(const T* from, T* to, const std::uint32_t* ids_in, std::uint32_t* ids_out);

  std::uint64_t n_;
  OrbGpuOptions options_;
  const support::CudaStream& stream_;
  int levels_;
  std::uint32_t first_;  ///< node of the last level
  UnitWeights weights_;
  bool direct_ = false;       ///< a code names its slot
  const T* exact_ = nullptr;  ///< the points, where what is walked are fractions
  std::vector<std::size_t> left_;
  std::vector<Cell> buckets_;  ///< cells of the second move

  support::DeviceBuffer<std::uint16_t> codes_;
  support::DeviceBuffer<std::uint8_t> low_digits_;
  CutSample<T, Dim> sample_;
  Quantiles<T, Dim> quantiles_;
  support::DeviceBuffer<Node<T, Dim>> nodes_;
  support::DeviceBuffer<BracketCut> cuts_;
  support::DeviceBuffer<std::uint32_t> code_counts_, bins_, list_state_, candidates_;
  support::DeviceBuffer<std::uint64_t> code_weights_, bin_weights_;
  support::DeviceBuffer<std::uint32_t> middles_;  ///< for the walk by places
  support::DeviceBuffer<uint4> limits_;
  support::DeviceBuffer<std::uint16_t> grid_, start_;
  support::DeviceBuffer<ListedPoint<T, Dim>> listed_[kFirstLevels];
  support::DeviceBuffer<std::uint16_t> listed_nodes_[kFirstLevels];
  support::DeviceBuffer<std::uint64_t> listed_weights_[kFirstLevels];
  support::DeviceBuffer<unsigned char> temporary_;
  support::PinnedBuffer<Node<T, Dim>> host_nodes_;
  support::DeviceBuffer<std::uint32_t> density_;
  support::PinnedBuffer<std::uint32_t> host_density_;
  support::CudaEvent density_came_;
  support::DeviceBuffer<std::uint16_t> slot_of_code_;
  support::DeviceBuffer<std::uint32_t> leaf_of_code_, tile_table_;
  support::DeviceBuffer<Cell> device_cells_;
  BracketEntries<T, Dim> lists_{};
};

}  // namespace amrbench::partitioners::gpu
