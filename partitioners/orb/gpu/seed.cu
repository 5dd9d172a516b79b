// The kernels (gpu/seed_kernels.cuh) are the document's. What differs: values and counts have the types that 2^32
// points need; a search ends as soon as few points are left between the guesses, which the host orders, so the cuts are
// exact; the order of rule 1 decides the partition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "partitioners/orb/gpu/seed.hpp"
#include "partitioners/orb/gpu/seed_kernels.cuh"
#include "support/error.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::copy_to_device;
using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

}  // namespace

template <class T, int Dim>
struct Seed<T, Dim>::Cut {
  std::size_t heap = 0;
  std::uint32_t begin = 0, count = 0, target = 0;
  int axis = -1;  ///< -1: a leaf, which only moves along
  T below = 0, above = 0, guess = 0;
  std::uint32_t count_below = 0, count_above = 0;
  T hit_low = 0, hit_high = 0;  ///< guesses with exactly `target` points below, once there are
  bool hit = false;
  bool searching = false;
  OrbPoint<T, Dim> pivot{};

  /// The next guess, or the end of the search: few points are left between below and above, which hold the last left
  /// and the first right point. A guess that hits the target ends nothing: both sides of it shrink on.
  void next_guess() {
    const auto halve = [this](T low, T high) {
      guess = T(0.5) * low + T(0.5) * high;
      return guess > low && guess < high;
    };
    if (hit)
      searching = (target - count_below > kFew / 2 && halve(below, hit_low)) ||
                  (count_above - target > kFew / 2 && halve(hit_high, above));
    else
      searching = count_above - count_below > kFew && halve(below, above);
  }
  void learn(std::uint32_t left) {
    if (left < target) {
      below = guess;
      count_below = left;
    } else if (left > target) {
      above = guess;
      count_above = left;
    } else {
      hit_low = hit && hit_low < guess ? hit_low : guess;
      hit_high = hit && hit_high > guess ? hit_high : guess;
      hit = true;
    }
  }
};

template <class T, int Dim>
Seed<T, Dim>::Seed(std::uint64_t n, const OrbGpuOptions& options, SeedKernel kernel)
    : n_(n), options_(options), kernel_(kernel) {
  for (int k = 0; k < 2; ++k) {
    points_[k].resize_discard(n * Dim);
    ids_[k].resize_discard(n);
  }
  column_.resize_discard(n);
  if (options.labels) labels_.resize_discard(n);
}

template <class T, int Dim>
void Seed<T, Dim>::make_blocks(const std::vector<Cut>& cuts) {
  host_begins_.clear();
  host_ends_.clear();
  host_cells_.clear();
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    // As in the document's 6.5: blocks of equal size, the last one takes the rest.
    const std::uint32_t blocks = std::max(1U, cuts[c].count / kBlockPoints);
    for (std::uint32_t b = 0; b < blocks; ++b) {
      host_begins_.push_back(cuts[c].begin + b * kBlockPoints);
      host_ends_.push_back(b + 1 == blocks ? cuts[c].begin + cuts[c].count : cuts[c].begin + (b + 1) * kBlockPoints);
      host_cells_.push_back(static_cast<std::uint32_t>(c));
    }
  }
  begins_.resize_discard(host_begins_.size());
  ends_.resize_discard(host_begins_.size());
  cell_of_block_.resize_discard(host_begins_.size());
  copy_to_device(begins_.data(), host_begins_.data(), host_begins_.size(), stream_);
  copy_to_device(ends_.data(), host_ends_.data(), host_ends_.size(), stream_);
  copy_to_device(cell_of_block_.data(), host_cells_.data(), host_cells_.size(), stream_);
}

template <class T, int Dim>
void Seed<T, Dim>::count(const std::vector<Cut>& cuts, std::vector<std::uint32_t>& left) {
  counts_.resize_discard(cuts.size());
  cuda_check(cudaMemsetAsync(counts_.data(), 0, cuts.size() * sizeof(std::uint32_t), stream_.get()), "cudaMemsetAsync");
  if (kernel_ == SeedKernel::cells) {
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      if (!cuts[c].searching) continue;
      const unsigned grid = std::max(1U, cuts[c].count / kBlockPoints);
      count_cell_kernel<<<grid, kSeedThreads, 0, stream_.get()>>>(column_.data() + cuts[c].begin, cuts[c].count,
                                                                  cuts[c].guess, counts_.data() + c);
    }
    cuda_check_launch("count_cell_kernel");
  } else {
    std::vector<T> guesses;
    for (const Cut& cut : cuts) guesses.push_back(cut.guess);
    guesses_.resize_discard(guesses.size());
    copy_to_device(guesses_.data(), guesses.data(), guesses.size(), stream_);
    const auto kernel = kernel_ == SeedKernel::warp ? count_level_kernel<T, true> : count_level_kernel<T, false>;
    kernel<<<static_cast<unsigned>(host_begins_.size()), kSeedThreads, 0, stream_.get()>>>(
        column_.data(), begins_.data(), ends_.data(), cell_of_block_.data(), guesses_.data(), counts_.data());
    cuda_check_launch("count_level_kernel");
  }
  left.resize(cuts.size());
  copy_to_host(left.data(), counts_.data(), cuts.size(), stream_);
  stream_.synchronize();
}

template <class T, int Dim>
void Seed<T, Dim>::search(std::vector<Cut>& cuts, OrbGpuTimes& times) {
  std::vector<std::uint32_t> left;
  for (bool any = true; any;) {
    any = false;
    for (Cut& cut : cuts) {
      if (!cut.searching) continue;
      cut.next_guess();
      any = any || cut.searching;
    }
    if (!any) break;
    ++times.passes;
    count(cuts, left);
    for (std::size_t c = 0; c < cuts.size(); ++c)
      if (cuts[c].searching) cuts[c].learn(left[c]);
  }
}

template <class T, int Dim>
void Seed<T, Dim>::resolve(std::vector<Cut>& cuts, OrbTree<T, Dim>& tree) {
  std::vector<T> limits;
  for (const Cut& cut : cuts) {
    limits.push_back(cut.below);
    limits.push_back(cut.above);
  }
  guesses_.resize_discard(limits.size());
  copy_to_device(guesses_.data(), limits.data(), limits.size(), stream_);
  counts_.resize_discard(cuts.size());
  std::uint32_t room = kFew;
  std::vector<std::uint32_t> found(cuts.size());
  // Equal coordinates leave more points than kFew: a second try has room.
  support::DeviceBuffer<std::uint32_t> places;
  for (;;) {
    places.resize_discard(cuts.size() * std::size_t{room});
    cuda_check(cudaMemsetAsync(counts_.data(), 0, cuts.size() * sizeof(std::uint32_t), stream_.get()),
               "cudaMemsetAsync");
    between_kernel<<<static_cast<unsigned>(host_begins_.size()), kSeedThreads, 0, stream_.get()>>>(
        column_.data(), begins_.data(), ends_.data(), cell_of_block_.data(), guesses_.data(), counts_.data(),
        places.data(), room);
    cuda_check_launch("between_kernel");
    copy_to_host(found.data(), counts_.data(), cuts.size(), stream_);
    stream_.synchronize();
    const std::uint32_t most = *std::max_element(found.begin(), found.end());
    if (most <= room) break;
    room = most;
  }
  support::DeviceBuffer<OrbPoint<T, Dim>> gathered(cuts.size() * std::size_t{room});
  gather_kernel<T, Dim><<<static_cast<unsigned>(cuts.size()), kSeedThreads, 0, stream_.get()>>>(
      points_[at_].data(), ids_[at_].data(), counts_.data(), places.data(), room, gathered.data());
  cuda_check_launch("gather_kernel");
  std::vector<OrbPoint<T, Dim>> window(cuts.size() * std::size_t{room});
  copy_to_host(window.data(), gathered.data(), window.size(), stream_);
  stream_.synchronize();
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    Cut& cut = cuts[c];
    if (cut.axis < 0) continue;
    const auto first = window.begin() + static_cast<std::ptrdiff_t>(c * room);
    // What is wrong here is wrong with the points: a NaN, one outside the box, or points not yet complete.
    if (cut.target <= cut.count_below || cut.target - cut.count_below >= found[c])
      throw support::RunError("cut " + std::to_string(cut.heap) + " needs point " + std::to_string(cut.target) +
                              " of " + std::to_string(cut.count) + ", but " + std::to_string(cut.count_below) +
                              " lie below the " + std::to_string(found[c]) +
                              " found; the points must be finite, inside the box and complete before the run");
    std::sort(first, first + found[c], [&](const auto& p, const auto& q) { return orb_before(p, q, cut.axis); });
    const auto right = first + (cut.target - cut.count_below);
    cut.pivot = *right;
    cut_cell(tree, cut.heap, cut.axis, cut_between((right - 1)->x[cut.axis], right->x[cut.axis]),
             std::uint64_t{cut.target}, std::uint64_t{cut.target});
  }
}

template <class T, int Dim>
void Seed<T, Dim>::partition(const std::vector<Cut>& cuts) {
  std::vector<DeviceCut<T, Dim>> device;
  for (const Cut& cut : cuts) device.push_back({cut.pivot, cut.axis, cut.begin, cut.begin + cut.target});
  cuts_.resize_discard(device.size() * sizeof(DeviceCut<T, Dim>));
  auto* on_device = reinterpret_cast<DeviceCut<T, Dim>*>(cuts_.data());
  copy_to_device(on_device, device.data(), device.size(), stream_);
  ranges_.resize_discard(2 * cuts.size());
  cuda_check(cudaMemsetAsync(ranges_.data(), 0, 2 * cuts.size() * sizeof(std::uint32_t), stream_.get()),
             "cudaMemsetAsync");
  partition_kernel<T, Dim><<<static_cast<unsigned>(host_begins_.size()), kSeedThreads, 0, stream_.get()>>>(
      points_[at_].data(), ids_[at_].data(), points_[1 - at_].data(), ids_[1 - at_].data(), begins_.data(),
      ends_.data(), cell_of_block_.data(), on_device, ranges_.data());
  cuda_check_launch("partition_kernel");
  stream_.synchronize();
  at_ = 1 - at_;
}

template <class T, int Dim>
void Seed<T, Dim>::run(const T* points, OrbTree<T, Dim>& tree, OrbGpuTimes& times) {
  support::CudaEvent start(true), end(true);
  at_ = 0;
  start.record(stream_);
  cuda_check(cudaMemcpyAsync(points_[0].data(), points, n_ * Dim * sizeof(T), cudaMemcpyDeviceToDevice, stream_.get()),
             "cudaMemcpyAsync");
  number_kernel<<<static_cast<unsigned>((n_ + 255) / 256), 256, 0, stream_.get()>>>(ids_[0].data(), n_);
  const int depth = orb_depth(tree.leaves);
  std::vector<double> moves;
  for (int level = 0; level < depth; ++level) {
    std::vector<Cut> cuts;
    std::vector<std::uint32_t> axes;
    for (std::size_t i = std::size_t{1} << level; i < std::min(std::size_t{2} << level, tree.cells.size()); ++i) {
      const OrbCell<T, Dim>& cell = tree.cells[i];
      Cut cut;
      cut.heap = i;
      cut.begin = static_cast<std::uint32_t>(cell.begin);
      cut.count = static_cast<std::uint32_t>(cell.count);
      cut.target = cut.count;
      if (cell.leaves > 1) {
        cut.axis = cut_axis(cell.box, options_.side_tolerance);
        cut.target = static_cast<std::uint32_t>(unit_target(cell.count, left_leaves(cell.leaves), cell.leaves));
        cut.below =
            std::nextafter(cell.box.lower[static_cast<std::size_t>(cut.axis)], -std::numeric_limits<T>::infinity());
        cut.above = cell.box.upper[static_cast<std::size_t>(cut.axis)];
        cut.count_above = cut.count;
        cut.searching = true;
      }
      axes.push_back(cut.axis < 0 ? 0U : static_cast<std::uint32_t>(cut.axis));
      cuts.push_back(cut);
    }
    make_blocks(cuts);
    ranges_.resize_discard(axes.size());
    copy_to_device(ranges_.data(), axes.data(), axes.size(), stream_);
    make_axis_kernel<T, Dim><<<static_cast<unsigned>(host_begins_.size()), kSeedThreads, 0, stream_.get()>>>(
        points_[at_].data(), begins_.data(), ends_.data(), cell_of_block_.data(), ranges_.data(), column_.data());
    cuda_check_launch("make_axis_kernel");
    search(cuts, times);
    resolve(cuts, tree);
    support::CudaEvent moving(true), moved(true);
    moving.record(stream_);
    partition(cuts);
    moved.record(stream_);
    moved.synchronize();
    times.move_s += moved.seconds_since(moving);
  }
  if (options_.labels) {
    std::vector<std::uint32_t> begins;
    for (const std::uint32_t c : tree.leaf_cell) begins.push_back(static_cast<std::uint32_t>(tree.cells[c].begin));
    begins.push_back(static_cast<std::uint32_t>(n_));
    ranges_.resize_discard(begins.size());
    copy_to_device(ranges_.data(), begins.data(), begins.size(), stream_);
    scatter_labels_kernel<<<tree.leaves, kSeedThreads, 0, stream_.get()>>>(ids_[at_].data(), ranges_.data(),
                                                                           labels_.data());
    cuda_check_launch("scatter_labels_kernel");
  }
  end.record(stream_);
  stream_.synchronize();
  times.total_s = end.seconds_since(start);
  times.rounds = depth;
}

template class Seed<float, 2>;
template class Seed<float, 3>;
template class Seed<double, 2>;
template class Seed<double, 3>;

}  // namespace amrbench::partitioners::gpu
