#pragma once
// The document's bisection on a GPU (document 000, 6.4-6.7), to compare with. Internal to OrbGpu.
//
// Level by level: each cell's cut coordinate is copied to a column; all cuts are bisected by passes that count the
// points below a guess, until few points are left between two guesses, which the host orders; then a partition in two.
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

/// Which of the document's kernels counts.
enum class SeedKernel {
  cells,  ///< one launch a cell, reduction in shared memory (6.4)
  level,  ///< one launch for all cells of a level (6.5)
  warp,   ///< the same, reduction by warp primitives (6.6)
};

template <class T, int Dim>
class Seed {
 public:
  Seed(std::uint64_t n, const OrbGpuOptions& options, SeedKernel kernel);
  void run(const T* points, OrbTree<T, Dim>& tree, OrbGpuTimes& times);

  [[nodiscard]] const T* points() const { return points_[at_].data(); }
  [[nodiscard]] const std::uint32_t* permutation() const { return ids_[at_].data(); }
  [[nodiscard]] const std::uint32_t* labels() const { return labels_.data(); }

 private:
  struct Cut;
  void count(const std::vector<Cut>& cuts, std::vector<std::uint32_t>& left);
  void make_blocks(const std::vector<Cut>& cuts);
  void search(std::vector<Cut>& cuts, OrbGpuTimes& times);
  void resolve(std::vector<Cut>& cuts, OrbTree<T, Dim>& tree);
  void partition(const std::vector<Cut>& cuts);

  std::uint64_t n_;
  OrbGpuOptions options_;
  SeedKernel kernel_;
  support::CudaStream stream_;
  int at_ = 0;
  support::DeviceBuffer<T> points_[2];
  support::DeviceBuffer<std::uint32_t> ids_[2];
  support::DeviceBuffer<std::uint32_t> labels_;
  support::DeviceBuffer<T> column_;
  support::DeviceBuffer<T> guesses_;                    ///< [cell]
  support::DeviceBuffer<std::uint32_t> begins_, ends_;  ///< [block]
  support::DeviceBuffer<std::uint32_t> cell_of_block_, counts_, ranges_;
  support::DeviceBuffer<unsigned char> cuts_;
  std::vector<std::uint32_t> host_begins_, host_ends_, host_cells_;
};

}  // namespace amrbench::partitioners::gpu
