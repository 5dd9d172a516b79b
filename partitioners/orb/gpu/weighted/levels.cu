#include <algorithm>
#include <bit>

#include "partitioners/orb/gpu/weighted/levels.hpp"
#include "partitioners/orb/gpu/weighted/levels_move.cuh"
#include "support/error.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::copy_to_device;
using support::copy_to_host;
using support::cuda_check_launch;

/// Cells that are searched together: their bins take 24 KB each.
constexpr std::size_t kBatch = 8192;
/// Passes that no search needs: 11 bits of a key each, all axes and positions, twice.
constexpr int kMostPasses = 64;

template <class T, int Dim>
constexpr std::size_t kSelectShared = kLevelFew*(sizeof(OrbPoint<T, Dim>) + sizeof(std::uint64_t) +
                                                 sizeof(std::uint16_t));

/// The coordinate of a key: order_key() undone.
float coordinate(std::uint32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31U) != 0U ? 0x80000000U : 0xffffffffU));
}
double coordinate(std::uint64_t key) {
  return std::bit_cast<double>(key ^ ((key >> 63U) != 0U ? std::uint64_t{1} << 63U : ~std::uint64_t{0}));
}

}  // namespace

template <class T, int Dim>
void WeightedLevels<T, Dim>::run(const LevelPoints<T>& points, const std::vector<std::size_t>& active,
                                 double side_tolerance, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times) {
  if (active.empty()) return;
  host_unfinished_.resize_discard(1);
  active_.clear();
  std::uint64_t total = 0;
  for (const std::size_t heap : active) {
    active_.push_back({heap, static_cast<std::uint32_t>(total)});
    total += tree.cells[heap].count;
  }
  const bool moves = std::any_of(active.begin(), active.end(), [&](std::size_t i) { return tree.cells[i].leaves > 2; });
  for (int k = 0; k < (moves ? 2 : 1); ++k) {
    points_[k].resize_discard(total * Dim);
    weights_[k].resize_discard(total);
    ids_[k].resize_discard(total);
  }
  now_ = 0;
  for (bool first = true; !active_.empty(); first = false) {
    describe(tree, side_tolerance);
    if (first) {
      level_gather_kernel<T, Dim><<<tiles_, kLevelThreads, 0, stream_.get()>>>(
          points.points, points.weights, points.order, device_cells_.data(), static_cast<std::uint32_t>(cells_.size()),
          points_[0].data(), weights_[0].data(), ids_[0].data());
      cuda_check_launch("level_gather_kernel");
      watch.mark(&times.move_s);
    }
    search(times);
    watch.mark(&times.resolve_s);
    move(points);
    finish(tree);
    watch.mark(&times.move_s);
    ++times.rounds;
  }
}

/// The level's cells as the kernels want them.
template <class T, int Dim>
void WeightedLevels<T, Dim>::describe(const OrbTree<T, Dim>& tree, double side_tolerance) {
  cells_.assign(active_.size(), {});
  tiles_ = 0;
  std::size_t candidates = 0;
  std::size_t most_candidates = 0;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const OrbCell<T, Dim>& from = tree.cells[active_[c].heap];
    LevelCell<T, Dim>& cell = cells_[c];
    if (c % kBatch == 0) candidates = 0;
    cell.begin = active_[c].begin;
    cell.goal = {static_cast<std::uint32_t>(from.count), from.leaves, left_leaves(from.leaves), from.weight};
    cell.first_tile = tiles_;
    cell.tiles = (cell.goal.count - 1) / kLevelTile + 1;
    cell.candidates_begin = static_cast<std::uint32_t>(candidates);
    cell.out = from.begin;
    cell.box = from.box;
    cell.axis = cut_axis(from.box, side_tolerance);
    cell.leaf[0] = cell.goal.leaves_left == 1 ? std::int64_t{from.first_leaf} : -1;
    cell.leaf[1] =
        from.leaves - cell.goal.leaves_left == 1 ? std::int64_t{from.first_leaf} + cell.goal.leaves_left : -1;
    tiles_ += cell.tiles;
    candidates += std::min(cell.goal.count, kLevelFew);
    most_candidates = std::max(most_candidates, candidates);
  }
  device_cells_.resize_discard(cells_.size());
  candidates_.resize_discard(most_candidates);
  copy_to_device(device_cells_.data(), cells_.data(), cells_.size(), stream_);
  const auto n = static_cast<std::uint32_t>(cells_.size());
  level_start_kernel<T, Dim><<<blocks_of(n, 128), 128, 0, stream_.get()>>>(device_cells_.data(), n);
  cuda_check_launch("level_start_kernel");
}

template <class T, int Dim>
void WeightedLevels<T, Dim>::search(OrbGpuTimes& times) {
  for (std::size_t first = 0; first < cells_.size(); first += kBatch)
    search_batch(first, std::min(kBatch, cells_.size() - first), times);
}

/// Finds the cuts of cells first .. first + n - 1.
template <class T, int Dim>
void WeightedLevels<T, Dim>::search_batch(std::size_t first, std::size_t n, OrbGpuTimes& times) {
  LevelCell<T, Dim>* const cells = device_cells_.data() + first;
  const cudaStream_t stream = stream_.get();
  const auto count = static_cast<std::uint32_t>(n);
  const LevelCell<T, Dim>& last = cells_[first + n - 1];
  const std::uint32_t tiles = last.first_tile + last.tiles - cells_[first].first_tile;
  const T* const points = points_[now_].data();
  const std::uint64_t* const weights = weights_[now_].data();
  bool many = false;  // else all windows are of few points from the start
  for (std::size_t c = first; c < first + n; ++c) many = many || cells_[c].goal.count > kLevelFew;
  if (many) {
    clear(bin_counts_, n * kLevelBins, stream_);
    clear(bin_weights_, n * kLevelBins, stream_);
  }
  for (int pass = 0;; ++pass) {
    if (pass == kMostPasses)
      throw support::RunError("bisection on the GPU found no cut: a point lies outside of the domain or is no number");
    if (many) {
      level_histogram_kernel<T, Dim>
          <<<tiles, kLevelThreads, 0, stream>>>(points, weights, cells, count, bin_counts_.data(), bin_weights_.data());
      level_find_bin_kernel<T, Dim>
          <<<count, kSelectThreads, 0, stream>>>(cells, bin_counts_.data(), bin_weights_.data());
      cuda_check_launch("level_find_bin_kernel");
      ++times.passes;
    }
    level_collect_kernel<T, Dim><<<tiles, kLevelThreads, 0, stream>>>(points, cells, count, candidates_.data());
    cuda_check_launch("level_collect_kernel");
    clear(unfinished_, 1, stream_);
    level_select_kernel<T, Dim><<<count, kSelectThreads, kSelectShared<T, Dim>, stream>>>(
        points, weights, cells, candidates_.data(), unfinished_.data());
    cuda_check_launch("level_select_kernel");
    copy_to_host(host_unfinished_.data(), unfinished_.data(), 1, stream_);
    stream_.synchronize();
    if (host_unfinished_[0] == 0) return;
  }
}

template <class T, int Dim>
void WeightedLevels<T, Dim>::move(const LevelPoints<T>& points) {
  const auto n = static_cast<std::uint32_t>(cells_.size());
  const cudaStream_t stream = stream_.get();
  tile_table_.resize_discard(2 * std::size_t{tiles_});
  std::uint32_t* const counts = tile_table_.data();
  std::uint32_t* const sums = counts + tiles_;
  level_count_kernel<T, Dim>
      <<<tiles_, kLevelThreads, 0, stream>>>(points_[now_].data(), device_cells_.data(), n, counts);
  cuda_check_launch("level_count_kernel");
  sums_before(counts, sums, tiles_, temporary_, stream_);
  const int to = 1 - now_;
  level_move_kernel<T, Dim><<<tiles_, kLevelThreads, 0, stream>>>(
      {points_[now_].data(), weights_[now_].data(), ids_[now_].data(), points_[to].data(), weights_[to].data(),
       ids_[to].data(), points.permutation, points.labels},
      device_cells_.data(), n, sums);
  cuda_check_launch("level_move_kernel");
  now_ = to;
}

/// Reads the cuts into the tree; the children that are no leaves come next.
template <class T, int Dim>
void WeightedLevels<T, Dim>::finish(OrbTree<T, Dim>& tree) {
  copy_to_host(cells_.data(), device_cells_.data(), cells_.size(), stream_);
  stream_.synchronize();
  std::vector<Active> next;
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const LevelCell<T, Dim>& cell = cells_[c];
    const std::size_t heap = active_[c].heap;
    const T cut = cut_between(coordinate(cell.last_left), coordinate(cell.first_right));
    cut_cell(tree, heap, cell.axis, cut, std::uint64_t{cell.left}, cell.weight_left);
    if (cell.leaf[0] < 0) next.push_back({2 * heap, cell.begin});
    if (cell.leaf[1] < 0) next.push_back({2 * heap + 1, cell.begin + cell.left});
  }
  active_ = std::move(next);
}

template class WeightedLevels<float, 2>;
template class WeightedLevels<float, 3>;
template class WeightedLevels<double, 2>;
template class WeightedLevels<double, 3>;

}  // namespace amrbench::partitioners::gpu
