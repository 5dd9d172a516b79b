#pragma once
// The multiway method on a GPU without weights; one call a run, and buffers live between runs. Internal to OrbGpu.
//
// In:  n points on the device, and the tree's root with box and leaves.
// Out: the tree on the host; on the device the points, their numbers and labels, as options ask.
// First the wide round (gpu/wide/wide.hpp), where there are points enough, then further rounds of up to 6 levels over
// the cells that are left. A cell that makes no progress is cut on the host.
#include <cub/device/device_radix_sort.cuh>
#include <map>

#include "partitioners/orb/gpu/move.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/resolve.cuh"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/gpu/wide/wide.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class Multiway {
 public:
  Multiway(std::uint64_t n, const OrbGpuOptions& options);
  void run(const T* points, OrbTree<T, Dim>& tree, OrbGpuTimes& times);

  [[nodiscard]] const T* points() const { return points_[final_].data(); }
  [[nodiscard]] const std::uint32_t* permutation() const { return ids_[final_].data(); }
  [[nodiscard]] const std::uint32_t* labels() const { return labels_[0].data(); }

 private:
  /// What a round leaves behind for the labels.
  struct Round {
    std::vector<Cell> cells;
    std::vector<std::size_t> heap;  ///< of each cell
    std::uint32_t tiles = 0;
    support::DeviceBuffer<Cell> device_cells;
    support::DeviceBuffer<std::uint8_t> codes, slot_of_code;
    support::DeviceBuffer<std::uint32_t> slot_leaf, table;
    std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> host_labels;  ///< of cells cut by the host next
    int levels = 0;
  };
  struct Slot {
    std::size_t heap;
    bool leaf;
  };

  void start_run(const T* input);
  bool run_wide(const T* input, std::vector<std::size_t>& active);
  void run_rounds(const T* points, int to, std::vector<std::size_t> active, std::vector<int>& buffer_of_leaf);
  void start_round(Round& round, const std::vector<std::size_t>& active);
  void guess(Round& round, const T* points);
  void resolve(Round& round, const T* points);
  /// Reads cuts into the tree; the cells that are left. progress: cells that were cut.
  std::vector<std::size_t> finish_cells(Round& round, std::vector<std::size_t>& stuck);
  void move(Round& round, const T* points, const std::uint32_t* ids, int to);
  void cut_on_host(std::size_t heap, Round& round, int at);
  void make_labels();
  void scatter_labels(const std::vector<std::size_t>& cells);
  void collect_points(const std::vector<int>& buffer_of_leaf);

  std::uint64_t n_;
  OrbGpuOptions options_;
  support::CudaStream stream_;
  Stopwatch watch_{stream_};
  OrbTree<T, Dim>* tree_ = nullptr;
  OrbGpuTimes* times_ = nullptr;
  int final_ = 0;       ///< which of the two buffers holds the result
  bool carry_ = false;  ///< numbers move with the points
  std::unique_ptr<WideRound<T, Dim>> wide_;
  support::DeviceBuffer<std::uint32_t> leaf_begins_;

  support::DeviceBuffer<T> points_[2];
  support::DeviceBuffer<std::uint32_t> ids_[2];
  support::DeviceBuffer<std::uint32_t> labels_[2];
  std::vector<Round> rounds_;
  std::size_t used_rounds_ = 0;

  support::DeviceBuffer<Guess<T, Dim>> guesses_;
  support::DeviceBuffer<Node<T, Dim>> nodes_;
  support::DeviceBuffer<OrbBox<T, Dim>> boxes_;
  support::DeviceBuffer<std::uint32_t> code_counts_, bins_, candidates_, list_state_;
  support::DeviceBuffer<Entry> entries_[kLevels];
  support::DeviceBuffer<T> sample_;
  support::DeviceBuffer<std::uint32_t> order_[2], sample_node_;
  support::DeviceBuffer<std::uint64_t> keys_[2];
  support::DeviceBuffer<unsigned char> temporary_;
  std::vector<Guess<T, Dim>> host_guesses_;
  std::vector<Node<T, Dim>> host_nodes_;
};

}  // namespace amrbench::partitioners::gpu
