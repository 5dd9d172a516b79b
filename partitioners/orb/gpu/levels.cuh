#pragma once
// Cells cut on a GPU, whatever their points and weights are, and however many. Internal to OrbGpu.
//
// In:  cells to cut, each a stretch of points in an order; points, weights (null: every point weighs 1). Out: all cuts
// below them, points, numbers, labels.
// Cells take a level at a time, which searches the cuts of all its cells together by histograms of weights, whose range
// narrows from pass to pass, then moves all points once (gpu/level_kernels.cuh, level_move.cuh). It needs no sample and
// is never wrong; the first round is faster. Cells that have become small are set apart, and finished in the end by a
// thread block each (gpu/small.cuh), all at once: where weights are uneven they become small at many levels.
//
// Bytes a point of 12 and level: 12 a histogram, of which a level takes one where coordinates are spread out; 12 to
// collect; 12 to count; 24 to move, and 8 where numbers are wanted. With weights 8 and 16 more.
#include <omp.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "partitioners/orb/gpu/level_move.cuh"
#include "partitioners/orb/gpu/orb_gpu.hpp"
#include "partitioners/orb/gpu/seed.cuh"
#include "partitioners/orb/gpu/small.cuh"
#include "partitioners/orb/gpu/steps.hpp"
#include "partitioners/orb/gpu/stopwatch.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/cuda.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners::gpu {

template <class T, int Dim>
class Levels {
 public:
  /// method: as in OrbGpuOptions; the document's methods search in their own way, and finish no small cells.
  Levels(std::string_view method, const support::CudaStream& stream) : stream_(stream) {
    if (const auto kernel = seed_kernel(method)) seed_ = std::make_unique<SeedSearch<T, Dim>>(*kernel, stream);
  }

  /// Cuts the tree's cells `active`, of more than one leaf each, and all below them. Results may lie where the points
  /// and their order do, unless these are all to be cut. Waits. RunError when points lie outside their cell's box, or
  /// when there is no memory.
  void run(const LevelPoints<T>& points, const LevelResults<T>& results, const std::vector<std::size_t>& active,
           double side_tolerance, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times) {
    if (active.empty()) return;
    weighted_ = points.weights != nullptr;
    results_ = results;
    numbered_ = results.permutation != nullptr || results.labels != nullptr;
    gather(points, tree, active);
    watch.mark(&times.move_s);
    for (set_small_apart(tree); !active_.empty(); set_small_apart(tree)) {
      describe(tree, side_tolerance);
      search(times);
      watch.mark(&times.resolve_s);
      move();
      finish(tree);
      watch.mark(&times.move_s);
      ++times.rounds;
    }
    if (small_cuts_used_ == 0) return;
    weighted_ ? finish_small<true>(side_tolerance) : finish_small<false>(side_tolerance);
    ++times.rounds;
    read_small(tree);
    watch.mark(&times.small_s);
  }

 private:
  /// Cells that are searched together: their bins take 24 KB each.
  static constexpr std::size_t kBatch = 8192;
  /// Cells for which there is room from the start: pinned memory takes long to make.
  static constexpr std::size_t kRoomy = 512;
  /// Cuts from which on several threads of the host prepare them and read them into the tree.
  static constexpr std::uint32_t kManyCuts = 1U << 11U;
  static constexpr int kHostThreads = 8;
  /// Passes that no search needs: 11 bits of a key each, all axes and positions, twice.
  static constexpr int kMostPasses = 64;

  struct Active {
    std::size_t heap;
    std::uint32_t begin;  ///< among the points that the call works on
    bool by_value;        ///< as in LevelCell
  };

  /// Brings the points of all cells together, where they are not.
  void gather(const LevelPoints<T>& points, const OrbTree<T, Dim>& tree, const std::vector<std::size_t>& active) {
    unfinished_.resize_discard(1);
    active_.clear();
    small_.clear();
    small_cuts_begin_.clear();
    small_cuts_used_ = 0;
    cells_.resize_discard(std::max(active.size(), kRoomy));
    cells_.resize_discard(active.size());
    std::uint64_t total = 0, cuts = 0;
    for (const std::size_t heap : active) total += tree.cells[heap].count;
    const std::uint32_t tile_points = tile_points_of(total);
    tiles_ = 0;
    total = 0;
    for (const std::size_t heap : active) {
      const OrbCell<T, Dim>& from = tree.cells[heap];
      LevelCell<T, Dim>& cell = cells_[active_.size()] = {};
      active_.push_back({heap, static_cast<std::uint32_t>(points.all ? from.begin : total), true});
      cell.begin = active_.back().begin;
      cell.goal.count = static_cast<std::uint32_t>(from.count);
      cell.out = from.begin;
      add_tiles(cell, tile_points);
      total += from.count;
      cuts += from.leaves - 1;
    }
    count_ = total;
    small_cuts_.resize_discard(cuts);
    now_ = 0;
    ready_to_write_[0] = !points.all || points.scratch;
    ready_to_write_[1] = false;
    LevelColumns<T> gathered{};
    if (!points.all) {
      make_columns(0);
      gathered = columns_[0];
    } else {
      columns_[0] = {points.points, points.weights, numbered_ ? points.numbers : nullptr};
      if (weighted_ && points.numbers != nullptr) {
        weights_[0].resize_discard(total);
        columns_[0].weights = gathered.weights = weights_[0].data();
      }
      if (gathered.weights == nullptr) return;
    }
    device_cells_.resize_discard(cells_.size());
    copy_to_device(device_cells_.data(), cells_.data(), cells_.size(), stream_);
    level_gather_kernel<T, Dim><<<tiles_, kLevelThreads, 0, stream_.get()>>>(
        points, device_cells_.data(), static_cast<std::uint32_t>(cells_.size()), gathered);
    cuda_check_launch("level_gather_kernel");
    stream_.synchronize();  // cells_ is about to change
  }

  /// Of one of the two columns: memory of its own for all points. Instead of the caller's only where there was one
  /// cell, so no small one is left behind there.
  void make_columns(int k) {
    points_[k].resize_discard(count_ * Dim);
    if (weighted_) weights_[k].resize_discard(count_);
    if (numbered_) ids_[k].resize_discard(count_);
    columns_[k] = {points_[k].data(), weighted_ ? weights_[k].data() : nullptr, numbered_ ? ids_[k].data() : nullptr};
    ready_to_write_[k] = true;
  }

  /// Of a level of so many points: few are cut up small, so that each multiprocessor has work.
  [[nodiscard]] static std::uint32_t tile_points_of(std::uint64_t points) {
    const std::uint64_t tiles = std::uint64_t{4} * support::current_device_shape().multiprocessors;
    std::uint32_t tile = kLevelTile;
    while (tile > kLeastTile && points < tiles * tile) tile /= 2;
    return tile;
  }
  void add_tiles(LevelCell<T, Dim>& cell, std::uint32_t tile_points) {
    cell.first_tile = tiles_;
    cell.tile_points = tile_points;
    cell.tiles = (cell.goal.count - 1) / tile_points + 1;
    tiles_ += cell.tiles;
  }

  /// Cells that are small enough are no longer active: they are finished at the end, all together. No cell is small
  /// with the document's methods, or where there is too little shared memory.
  void set_small_apart(const OrbTree<T, Dim>& tree) {
    const std::size_t memory = weighted_ ? sizeof(SmallShared<T, Dim, true>) : sizeof(SmallShared<T, Dim, false>);
    if (seed_ || memory > support::current_device_shape().shared_bytes) return;
    const std::uint32_t most_leaves = weighted_ ? kSmallLeaves<T, true> : kSmallLeaves<T, false>;
    std::erase_if(active_, [&](const Active& cell) {
      const OrbCell<T, Dim>& from = tree.cells[cell.heap];
      if (from.count > kSmallPoints || from.leaves > most_leaves || orb_depth(from.leaves) < kSmallLevels) return false;
      small_.push_back({cell.begin, static_cast<std::uint32_t>(from.count), from.leaves, from.first_leaf, from.begin,
                        small_cuts_used_, static_cast<std::uint32_t>(now_), from.box});
      small_cuts_begin_.emplace_back(cell.heap, small_cuts_used_);
      small_cuts_used_ += from.leaves - 1;
      return true;
    });
  }

  /// Finishes the small cells. Nothing was written since where their points are: levels write among those of their
  /// cells only.
  template <bool Weighted>
  void finish_small(double side_tolerance) {
    constexpr std::size_t kShared = sizeof(SmallShared<T, Dim, Weighted>);
    const auto n = static_cast<std::uint32_t>(small_.size());
    device_small_.resize_discard(n);
    copy_to_device(device_small_.data(), small_.data(), n, stream_);
    allow_shared(small_kernel<T, Dim, Weighted>, kShared);
    small_kernel<T, Dim, Weighted><<<n, kSmallThreads<T, Weighted>, kShared, stream_.get()>>>(
        {{columns_[0], columns_[1]}, results_, side_tolerance}, device_small_.data(), n, small_cuts_.data());
    cuda_check_launch("small_kernel");
  }

  /// The level's cells as the kernels want them.
  void describe(const OrbTree<T, Dim>& tree, double side_tolerance) {
    cells_.resize_discard(active_.size());
    tiles_ = 0;
    std::uint64_t points = 0;
    for (const Active& cell : active_) points += tree.cells[cell.heap].count;
    const std::uint32_t tile_points = tile_points_of(points);
#pragma omp parallel for num_threads(threads_for(cells_.size()))
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const OrbCell<T, Dim>& from = tree.cells[active_[c].heap];
      LevelCell<T, Dim>& cell = cells_[c] = {};
      cell.begin = active_[c].begin;
      // No weights: all of them zero, which makes rule 5 one of counts.
      cell.goal = {static_cast<std::uint32_t>(from.count), from.leaves, left_leaves(from.leaves),
                   weighted_ ? from.weight : 0};
      cell.out = from.begin;
      cell.box = from.box;
      cell.axis = cut_axis(from.box, side_tolerance);
      cell.by_value = active_[c].by_value;
      cell.leaf[0] = cell.goal.leaves_left == 1 ? std::int64_t{from.first_leaf} : -1;
      cell.leaf[1] =
          from.leaves - cell.goal.leaves_left == 1 ? std::int64_t{from.first_leaf} + cell.goal.leaves_left : -1;
    }
    std::size_t candidates = 0, most_candidates = 0;
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      LevelCell<T, Dim>& cell = cells_[c];
      add_tiles(cell, tile_points);
      if (c % kBatch == 0) candidates = 0;
      cell.candidates_begin = static_cast<std::uint32_t>(candidates);
      candidates += std::min(cell.goal.count, kLevelFew);
      most_candidates = std::max(most_candidates, candidates);
    }
    device_cells_.resize_discard(cells_.size());
    candidates_.resize_discard(most_candidates);
    copy_to_device(device_cells_.data(), cells_.data(), cells_.size(), stream_);
    const auto n = static_cast<std::uint32_t>(cells_.size());
    tile_table_.resize_discard(3 * std::size_t{tiles_});
    level_start_kernel<T, Dim><<<blocks_of(std::max(n, tiles_), 128), 128, 0, stream_.get()>>>(
        device_cells_.data(), n, tile_table_.data(), tiles_);
    cuda_check_launch("level_start_kernel");
  }

  void search(OrbGpuTimes& times) {
    if (seed_)
      seed_->narrow(columns_[now_].points, {cells_.data(), cells_.size()}, tile_table_.data(), tiles_,
                    device_cells_.data(), times);
    for (std::size_t first = 0; first < cells_.size(); first += kBatch)
      search_batch(first, std::min(kBatch, cells_.size() - first), times);
  }

  /// Bins that have been used are zero again.
  template <class V>
  void need_zeros(support::DeviceBuffer<V>& bins, std::size_t n) {
    if (bins.size() < n) clear(bins, n, stream_);
  }

  /// Finds the cuts of cells first .. first + n - 1.
  void search_batch(std::size_t first, std::size_t n, OrbGpuTimes& times) {
    LevelCell<T, Dim>* const cells = device_cells_.data() + first;
    const cudaStream_t stream = stream_.get();
    const auto count = static_cast<std::uint32_t>(n);
    const LevelCell<T, Dim>& last = cells_[first + n - 1];
    const std::uint32_t first_tile = cells_[first].first_tile;
    const std::uint32_t n_tiles = last.first_tile + last.tiles - first_tile;
    const LevelTiles tiles{tile_table_.data() + first_tile, static_cast<std::uint32_t>(first), first_tile};
    const T* const points = columns_[now_].points;
    const std::uint64_t* const weights = columns_[now_].weights;
    bool many = false;  // else all windows are of few points from the start
    for (std::size_t c = first; c < first + n; ++c) many = many || cells_[c].goal.count > kLevelAtOnce;
    if (many) {
      need_zeros(bin_counts_, n * kLevelBins);
      if (weighted_) need_zeros(bin_weights_, n * kLevelBins);
    }
    for (int pass = 0;; ++pass) {
      if (pass == kMostPasses)
        throw support::RunError(
            "bisection on the GPU found no cut: a point lies outside of the domain or is no number");
      if (many) {
        level_histogram_kernel<T, Dim><<<n_tiles, kLevelThreads, 0, stream>>>(points, weights, cells, tiles,
                                                                              bin_counts_.data(), bin_weights_.data());
        level_find_bin_kernel<T, Dim>
            <<<count, kCutThreads, 0, stream>>>(cells, bin_counts_.data(), weighted_ ? bin_weights_.data() : nullptr);
        cuda_check_launch("level_find_bin_kernel");
        ++times.passes;
      }
      level_collect_kernel<T, Dim><<<n_tiles, kLevelThreads, 0, stream>>>(points, cells, tiles, candidates_.data());
      cuda_check_launch("level_collect_kernel");
      unfinished_[0] = 0;
      level_select_kernel<T, Dim>
          <<<count, kCutThreads, 0, stream>>>(points, weights, cells, candidates_.data(), unfinished_.data());
      cuda_check_launch("level_select_kernel");
      stream_.synchronize();
      if (unfinished_[0] == 0) return;
    }
  }

  void move() {
    const cudaStream_t stream = stream_.get();
    const LevelTiles tiles{tile_table_.data(), 0, 0};
    std::uint32_t* const counts = tile_table_.data() + tiles_;
    std::uint32_t* const sums = counts + tiles_;
    level_count_kernel<T, Dim>
        <<<tiles_, kLevelThreads, 0, stream>>>(columns_[now_].points, device_cells_.data(), tiles, counts);
    cuda_check_launch("level_count_kernel");
    sums_before(counts, sums, tiles_, temporary_, stream_);
    const int to = 1 - now_;
    if (!ready_to_write_[to]) make_columns(to);
    constexpr std::size_t kShared = sizeof(LevelMoveShared<T, Dim>);
    allow_shared(level_move_kernel<T, Dim>, kShared);
    level_move_kernel<T, Dim><<<tiles_, kLevelThreads, kShared, stream>>>({columns_[now_], columns_[to], results_},
                                                                          device_cells_.data(), tiles, sums);
    cuda_check_launch("level_move_kernel");
    now_ = to;
  }

  /// Reads the cuts into the tree; the children that are no leaves come next.
  void finish(OrbTree<T, Dim>& tree) {
    copy_to_host(cells_.data(), device_cells_.data(), cells_.size(), stream_);
    stream_.synchronize();
#pragma omp parallel for num_threads(threads_for(cells_.size()))
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const LevelCell<T, Dim>& cell = cells_[c];
      const T cut = cut_between(from_ordered_bits(cell.last_left), from_ordered_bits(cell.first_right));
      cut_cell(tree, active_[c].heap, cell.axis, cut, std::uint64_t{cell.left},
               weighted_ ? cell.weight_left : cell.left);
    }
    std::vector<Active> next;
    next.reserve(2 * cells_.size());
    for (std::size_t c = 0; c < cells_.size(); ++c) {
      const LevelCell<T, Dim>& cell = cells_[c];
      const std::size_t heap = active_[c].heap;
      if (cell.leaf[0] < 0) next.push_back({2 * heap, cell.begin, cell.by_value});
      if (cell.leaf[1] < 0) next.push_back({2 * heap + 1, cell.begin + cell.left, cell.by_value});
    }
    active_ = std::move(next);
  }

  /// Of the host, for so many cuts. Were it all of them, one would often come late.
  [[nodiscard]] static int threads_for(std::size_t cuts) {
    return cuts > kManyCuts ? std::min(kHostThreads, omp_get_max_threads()) : 1;
  }

  /// Reads the cuts of all small cells into the tree.
  void read_small(OrbTree<T, Dim>& tree) {
    if (host_small_cuts_.size() < small_cuts_used_) host_small_cuts_.resize_discard(small_cuts_used_);
    copy_to_host(host_small_cuts_.data(), small_cuts_.data(), small_cuts_used_, stream_);
    stream_.synchronize();
#pragma omp parallel for num_threads(threads_for(small_cuts_used_))
    for (std::size_t c = 0; c < small_cuts_begin_.size(); ++c) {
      const auto [heap, begin] = small_cuts_begin_[c];
      const std::uint32_t leaves = tree.cells[heap].leaves;
      for (std::uint32_t v = 1; v < leaves; ++v) {
        const SmallCut<T>& cut = host_small_cuts_[begin + v - 1];
        const auto level = static_cast<unsigned>(std::bit_width(v) - 1);
        cut_cell(tree, (heap << level) + (v - (1U << level)), cut.axis, cut.cut, std::uint64_t{cut.left},
                 weighted_ ? cut.weight_left : cut.left);
      }
    }
  }

  const support::CudaStream& stream_;
  std::unique_ptr<SeedSearch<T, Dim>> seed_;
  bool weighted_ = false;
  bool numbered_ = false;  ///< somebody asks for points' numbers
  LevelResults<T> results_{};
  std::vector<Active> active_;
  std::vector<SmallCell<T, Dim>> small_;  ///< set apart
  std::vector<std::pair<std::size_t, std::uint32_t>>
      small_cuts_begin_;  ///< of all levels: cell, and where its cuts are
  std::uint32_t small_cuts_used_ = 0;
  support::PinnedBuffer<LevelCell<T, Dim>> cells_;  ///< of the level
  std::uint32_t tiles_ = 0;
  std::uint64_t count_ = 0;  ///< points of all cells
  LevelColumns<T> columns_[2] = {};
  bool ready_to_write_[2] = {};  ///< else make_columns() comes first
  int now_ = 0;                  ///< the columns that have the points

  support::DeviceBuffer<T> points_[2];
  support::DeviceBuffer<std::uint64_t> weights_[2];
  support::DeviceBuffer<std::uint32_t> ids_[2];
  support::DeviceBuffer<LevelCell<T, Dim>> device_cells_;
  support::DeviceBuffer<std::uint32_t> bin_counts_, candidates_, tile_table_;
  support::DeviceBuffer<std::uint64_t> bin_weights_;
  support::DeviceBuffer<unsigned char> temporary_;
  support::PinnedBuffer<std::uint32_t> unfinished_;  ///< written by kernels
  support::DeviceBuffer<SmallCell<T, Dim>> device_small_;
  support::DeviceBuffer<SmallCut<T>> small_cuts_;
  support::PinnedBuffer<SmallCut<T>> host_small_cuts_;
};

}  // namespace amrbench::partitioners::gpu
