#include <algorithm>
#include <bit>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>

#include "partitioners/orb/gpu/weighted/wide.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::copy_to_device;
using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

/// A round that leaves more than this fraction (one in ...) of all points is tried again by fractions.
constexpr std::uint64_t kMostLeft = 8;

/// Sort keys: the slots of the codes; and the points' numbers.
__global__ void __launch_bounds__(256)
    slot_keys_kernel(const std::uint16_t* __restrict__ codes, std::uint64_t n,
                     const std::uint16_t* __restrict__ slot_of_code, std::uint16_t* __restrict__ keys,
                     std::uint32_t* __restrict__ numbers) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) {
    keys[i] = slot_of_code[codes[i]];
    numbers[i] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace

template <class T, int Dim>
WeightedWideRound<T, Dim>::WeightedWideRound(std::uint64_t n, const OrbGpuOptions& options,
                                             const support::CudaStream& stream)
    : n_(n),
      options_(options),
      stream_(stream),
      levels_(wide_levels(options.leaves)),
      first_(1U << static_cast<unsigned>(levels_)),
      sample_(n, options, stream),
      quantiles_(stream),
      host_nodes_(kWideNodes) {
  codes_.resize_discard((n + 7) / 8 * 8);
  nodes_.resize_discard(kWideNodes);
  list_state_.resize_discard(kWideLevels + 1);
  bins_.resize_discard(wide_bins_begin(levels_));
  bin_weights_.resize_discard(wide_bins_begin(levels_));
  candidates_.resize_discard((std::size_t{first_} / 2) * kWeightedFew);
  for (int level = 0; level < levels_; ++level) {
    const double size = sample_.size() / std::exp2(level);
    const double share = kWideSigmas / std::sqrt(size) + 8.0 / size;  // of the weight, at the middle
    // Light points stand closer; brackets are whole bins of the sample's histogram.
    const double expected = (2 * share + 0.02) * static_cast<double>(n) + 65536;
    lists_.capacity[level] = static_cast<std::uint32_t>(std::min(expected, static_cast<double>(n)));
    entries_[level].resize_discard(lists_.capacity[level]);
    lists_.entries[level] = entries_[level].data();
  }
  lists_.sizes = list_state_.data();
  lists_.overflow = list_state_.data() + kWideLevels;
  lists_.bins = bins_.data();
  lists_.bin_weights = bin_weights_.data();
  lists_.table = sample_.table();
  allow_shared(weighted_classify_kernel<T, Dim>, weighted_shared(kWideLevels));
  allow_shared(weighted_select_kernel<T, Dim>, sizeof(WeightedCandidates<T, Dim>));
}

template <class T, int Dim>
bool WeightedWideRound<T, Dim>::cut(const T* points, const UnitWeights& weights, support::DeviceBuffer<T>& room,
                                    OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times) {
  exact_ = nullptr;
  if (cut_by(points, weights, tree, watch, times)) return true;
  if (!Quantiles<T, Dim>::available()) return false;
  room.resize_discard(n_ * Dim);
  quantiles_.spread(points, n_, room.data());
  watch.mark(&times.sample_s);
  times.quantiles = true;
  exact_ = points;
  return cut_by(room.data(), weights, tree, watch, times);
}

/// points: these or their fractions.
template <class T, int Dim>
bool WeightedWideRound<T, Dim>::cut_by(const T* points, const UnitWeights& weights, OrbTree<T, Dim>& tree,
                                       Stopwatch& watch, OrbGpuTimes& times) {
  sample(points, weights, tree);
  sample_.guess(0, static_cast<float>(kWideSigmas));
  watch.mark(&times.sample_s);
  if (exact_ == nullptr && !sample_.serves(static_cast<float>(kWideSigmas))) return false;
  classify(points, weights.units);
  watch.mark(&times.classify_s);
  resolve();
  const bool done = finish(tree, times);
  watch.mark(&times.resolve_s);
  return done;
}

/// Clears what a run counts in, sets the root, and takes the sample. Its points stand for equal weights: their numbers
/// place the brackets, as without weights.
template <class T, int Dim>
void WeightedWideRound<T, Dim>::sample(const T* points, const UnitWeights& weights, const OrbTree<T, Dim>& tree) {
  clear(nodes_, kWideNodes, stream_);
  clear(cuts_, kWideInner, stream_);
  clear(code_counts_, kWideNodes, stream_);
  clear(code_weights_, kWideNodes, stream_);
  clear(list_state_, kWideLevels + 1, stream_);
  clear(bins_, wide_bins_begin(levels_), stream_);
  clear(bin_weights_, wide_bins_begin(levels_), stream_);
  WeightedNode<T, Dim>& root = host_nodes_[1] = {};
  root.box = tree.cells[1].box;
  root.weight = tree.cells[1].weight;
  root.count = static_cast<std::uint32_t>(n_);
  root.leaves = tree.leaves;
  root.known = 1;
  copy_to_device(nodes_.data() + 1, &root, 1, stream_);
  sample_.start(root.box, root.leaves, exact_ != nullptr ? quantiles_.table() : QuantileTable<T, Dim>{});
  if (root.weight == 0) return sample_.take(points);  // points count
  weighted_sample_kernel<T, Dim><<<blocks_of(sample_.size(), 256), 256, 0, stream_.get()>>>(
      points, weights, n_, sample_.size(), sample_.points(), sample_.nodes());
  cuda_check_launch("weighted_sample_kernel");
}

template <class T, int Dim>
void WeightedWideRound<T, Dim>::classify(const T* points, const std::uint64_t* weights) {
  constexpr unsigned kBlockThreads = kWeightedThreads<T>;
  weighted_classify_kernel<T, Dim>
      <<<std::min(blocks_of(n_, kBlockThreads * 4), multiprocessors()), kBlockThreads, weighted_shared(levels_),
         stream_.get()>>>(points, weights, n_, levels_, codes_.data(), sums(), lists_);
  cuda_check_launch("weighted_classify_kernel");
}

template <class T, int Dim>
void WeightedWideRound<T, Dim>::resolve() {
  const cudaStream_t stream = stream_.get();
  const unsigned grid = 4 * multiprocessors();
  for (int level = 0; level < levels_; ++level) {
    const unsigned level_nodes = 1U << static_cast<unsigned>(level);
    weighted_prepare_kernel<T, Dim><<<level_nodes, kCutThreads, 0, stream>>>(
        level, levels_, options_.side_tolerance, sample_.guesses(), sums(), lists_, nodes_.data(), cuts_.data());
    const std::size_t table = level + 1 < levels_ ? first_ * sizeof(float2) : 0;
    weighted_route_kernel<T, Dim><<<grid, kCutThreads, table, stream>>>(
        level, levels_, lists_, cuts_.data(), nodes_.data(), candidates_.data(), codes_.data(), sums());
    cuda_check_launch("weighted_route_kernel");
    weighted_select_kernel<T, Dim><<<level_nodes, kCutThreads, sizeof(WeightedCandidates<T, Dim>), stream>>>(
        level, levels_, exact_, lists_, sample_.guesses(), candidates_.data(), nodes_.data(), codes_.data(), sums());
    cuda_check_launch("weighted_select_kernel");
  }
}

/// Points in cells that were not cut.
template <class T, int Dim>
std::uint64_t WeightedWideRound<T, Dim>::points_left(const WeightedNode<T, Dim>* nodes) const {
  std::uint64_t points = 0;
  for (std::uint32_t v = 1; v < first_; ++v)
    if (nodes[v].known != 0 && nodes[v].resolved == 0 && nodes[v].leaves > 1) points += nodes[v].count;
  return points;
}

/// Reads the cuts into the tree, and finds where a walk over it ends.
template <class T, int Dim>
bool WeightedWideRound<T, Dim>::finish(OrbTree<T, Dim>& tree, OrbGpuTimes& times) {
  std::uint32_t state[kWideLevels + 1] = {};
  copy_to_host(host_nodes_.data(), nodes_.data(), kWideNodes, stream_);
  copy_to_host(state, list_state_.data(), kWideLevels + 1, stream_);
  stream_.synchronize();
  left_.clear();
  const WeightedNode<T, Dim>* nodes = host_nodes_.data();
  if (state[kWideLevels] != 0 || nodes[1].resolved == 0) return false;  // entries were lost: nothing of it counts
  if (exact_ == nullptr && points_left(nodes) > n_ / kMostLeft) return false;
  for (int level = 0; level < levels_; ++level) times.stopped += state[level];
  std::vector<std::uint32_t> ends;  // from left to right
  std::vector<std::uint32_t> walk{1};
  while (!walk.empty()) {
    const std::uint32_t v = walk.back();
    walk.pop_back();
    if (v < first_ && nodes[v].resolved != 0) {
      cut_cell(tree, v, nodes[v].axis, nodes[v].cut, std::uint64_t{nodes[2 * v].count}, nodes[2 * v].weight);
      walk.push_back(2 * v + 1);
      walk.push_back(2 * v);
      continue;
    }
    ends.push_back(v);
    if (tree.cells[v].leaves > 1) left_.push_back(v);
  }
  make_slots(tree, ends);
  return true;
}

/// Slots are the ends' numbers from left to right.
template <class T, int Dim>
void WeightedWideRound<T, Dim>::make_slots(const OrbTree<T, Dim>& tree, const std::vector<std::uint32_t>& ends) {
  std::vector<std::uint16_t> slots(kWideNodes, 0);
  std::vector<std::uint32_t> leaves(kWideNodes, 0);
  for (std::size_t s = 0; s < ends.size(); ++s) {
    fill_below(slots, ends[s], static_cast<std::uint16_t>(s));
    fill_below(leaves, ends[s], tree.cells[ends[s]].first_leaf);
  }
  slot_bits_ = static_cast<int>(std::bit_width(ends.size() - 1));
  slot_of_code_.resize_discard(slots.size());
  leaf_of_code_.resize_discard(leaves.size());
  copy_to_device(slot_of_code_.data(), slots.data(), slots.size(), stream_);
  copy_to_device(leaf_of_code_.data(), leaves.data(), leaves.size(), stream_);
  stream_.synchronize();
}

template <class T, int Dim>
void WeightedWideRound<T, Dim>::label(std::uint32_t* labels) {
  label_codes(codes_.data(), n_, leaf_of_code_.data(), labels, stream_);
}

/// A stable sort of the points' numbers by slot.
template <class T, int Dim>
std::uint32_t* WeightedWideRound<T, Dim>::order() {
  for (int k = 0; k < 2; ++k) {
    keys_[k].resize_discard(n_);
    order_[k].resize_discard(n_);
  }
  slot_keys_kernel<<<std::min(8 * multiprocessors(), blocks_of(n_, 256)), 256, 0, stream_.get()>>>(
      codes_.data(), n_, slot_of_code_.data(), keys_[0].data(), order_[0].data());
  cuda_check_launch("slot_keys_kernel");
  if (slot_bits_ == 0) return order_[0].data();
  cub::DoubleBuffer<std::uint16_t> keys(keys_[0].data(), keys_[1].data());
  cub::DoubleBuffer<std::uint32_t> numbers(order_[0].data(), order_[1].data());
  std::size_t bytes = 0;
  cuda_check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, numbers, n_, 0, slot_bits_, stream_.get()),
             "DeviceRadixSort");
  temporary_.resize_discard(bytes);
  cuda_check(cub::DeviceRadixSort::SortPairs(temporary_.data(), bytes, keys, numbers, n_, 0, slot_bits_, stream_.get()),
             "DeviceRadixSort");
  return numbers.Current();
}

template class WeightedWideRound<float, 2>;
template class WeightedWideRound<float, 3>;
template class WeightedWideRound<double, 2>;
template class WeightedWideRound<double, 3>;

}  // namespace amrbench::partitioners::gpu
