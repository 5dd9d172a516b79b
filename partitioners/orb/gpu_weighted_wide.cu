#include <algorithm>
#include <bit>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>

#include "partitioners/orb/gpu_weighted_wide.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::copy_to_device;
using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

unsigned blocks(std::uint64_t n, unsigned threads) {
  return static_cast<unsigned>((n + threads - 1) / threads);
}

template <class V>
void clear(support::DeviceBuffer<V>& buffer, std::size_t n, const support::CudaStream& stream) {
  buffer.resize_discard(n);
  cuda_check(cudaMemsetAsync(buffer.data(), 0, n * sizeof(V), stream.get()), "cudaMemsetAsync");
}

int levels_of(std::uint32_t leaves) {
  return std::min(orb_depth(leaves), kWideLevels);
}

/// As the round without weights has it: time of the sample against that of points in brackets, and cuts exact enough
/// for the sides of cells.
std::uint32_t samples_of(std::uint64_t n, int levels, double share) {
  const double best = 31.2 * std::pow(static_cast<double>(n), 2.0 / 3.0);
  const auto level = static_cast<unsigned>(levels - 1);
  const auto exact = static_cast<double>(std::uint64_t{6144} << level);
  const auto least = static_cast<double>(std::uint64_t{4 * kWideSegment} << level);
  return static_cast<std::uint32_t>(std::min(std::max(share * std::max(best, exact), least), static_cast<double>(n)));
}

/// Leaves of all points from their codes.
__global__ void __launch_bounds__(256)
    code_labels_kernel(const std::uint16_t* __restrict__ codes, std::uint64_t n,
                       const std::uint32_t* __restrict__ leaf_of_code, std::uint32_t* __restrict__ labels) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    labels[i] = leaf_of_code[codes[i]];
}

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
bool WeightedWideRound<T, Dim>::suits(std::uint64_t n, const OrbGpuOptions& options) {
  if (!options.tuning.wide || options.leaves < 2) return false;
  return n >= std::uint64_t{4 * kWideSegment} << static_cast<unsigned>(levels_of(options.leaves) - 1);
}

template <class T, int Dim>
WeightedWideRound<T, Dim>::WeightedWideRound(std::uint64_t n, const OrbGpuOptions& options,
                                             const support::CudaStream& stream)
    : n_(n),
      options_(options),
      stream_(stream),
      levels_(levels_of(options.leaves)),
      first_(1U << static_cast<unsigned>(levels_)),
      samples_(samples_of(n, levels_, options.tuning.samples)),
      host_nodes_(kWideNodes) {
  codes_.resize_discard((n + 7) / 8 * 8);
  guesses_.resize_discard(kWideNodes);
  nodes_.resize_discard(kWideNodes);
  table_.resize_discard(kWideInner);
  list_state_.resize_discard(kWideLevels + 1);
  bins_.resize_discard(wide_bins_begin(levels_));
  bin_weights_.resize_discard(wide_bins_begin(levels_));
  candidates_.resize_discard((std::size_t{first_} / 2) * kWeightedFew);
  sample_.resize_discard((std::size_t{samples_} + 3) / 4 * 4 * Dim);
  sample_bins_.resize_discard(kGuessBins);
  for (int level = 0; level < levels_; ++level) {
    const double size = samples_ / std::exp2(level);
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
  lists_.table = table_.data();
  const auto shared = [](const void* kernel, std::size_t bytes) {
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "cudaFuncSetAttribute");
  };
  shared(reinterpret_cast<const void*>(weighted_classify_kernel<T, Dim>), weighted_shared(kWideLevels));
  shared(reinterpret_cast<const void*>(weighted_select_kernel<T, Dim>), sizeof(WeightedCandidates<T, Dim>));
}

template <class T, int Dim>
bool WeightedWideRound<T, Dim>::cut(const T* points, const UnitWeights& weights, OrbTree<T, Dim>& tree,
                                    Stopwatch& watch, OrbGpuTimes& times) {
  start(tree);
  sample(points, weights, tree);
  guess();
  watch.mark(&times.sample_s);
  classify(points, weights.units);
  watch.mark(&times.classify_s);
  resolve();
  const bool done = finish(tree, times);
  watch.mark(&times.resolve_s);
  return done;
}

/// Clears what a run counts in, and sets the root.
template <class T, int Dim>
void WeightedWideRound<T, Dim>::start(const OrbTree<T, Dim>& tree) {
  clear(guesses_, kWideNodes, stream_);
  clear(splits_, kWideNodes, stream_);
  clear(nodes_, kWideNodes, stream_);
  clear(sample_node_, (std::size_t{samples_} + 3) / 4 * 4, stream_);
  clear(cuts_, kWideInner, stream_);
  clear(code_counts_, kWideNodes, stream_);
  clear(code_weights_, kWideNodes, stream_);
  clear(list_state_, kWideLevels + 1, stream_);
  clear(bins_, wide_bins_begin(levels_), stream_);
  clear(bin_weights_, wide_bins_begin(levels_), stream_);
  weighted_start_kernel<T, Dim><<<blocks(kWideInner, 256), 256, 0, stream_.get()>>>(
      tree.cells[1].box, static_cast<std::uint32_t>(n_), tree.cells[1].weight, tree.leaves, options_.side_tolerance,
      guesses_.data(), nodes_.data(), splits_.data(), table_.data());
  cuda_check_launch("weighted_start_kernel");
}

template <class T, int Dim>
void WeightedWideRound<T, Dim>::sample(const T* points, const UnitWeights& weights, const OrbTree<T, Dim>& tree) {
  const cudaStream_t stream = stream_.get();
  const unsigned grid = blocks(samples_, 256);
  if (tree.cells[1].weight > 0)
    weighted_sample_kernel<T, Dim>
        <<<grid, 256, 0, stream>>>(points, weights, n_, samples_, sample_.data(), sample_node_.data());
  else  // points count
    wide_sample_kernel<T, Dim><<<grid, 256, 0, stream>>>(points, n_, samples_, sample_.data(), sample_node_.data());
  cuda_check_launch("weighted_sample_kernel");
}

/// The sample's points stand for equal weights: their numbers place the brackets, as without weights.
template <class T, int Dim>
void WeightedWideRound<T, Dim>::guess() {
  const cudaStream_t stream = stream_.get();
  for (int level = 0; level < levels_; ++level) {
    const unsigned level_nodes = 1U << static_cast<unsigned>(level);
    clear(sample_bins_, std::size_t{level_nodes} * guess_bins(level), stream_);
    wide_count_kernel<Dim><<<blocks(samples_, 4 * 256), 256, 0, stream>>>(
        sample_.data(), samples_, level, splits_.data(), sample_node_.data(), sample_bins_.data());
    cuda_check_launch("wide_count_kernel");
    wide_guess_kernel<T, Dim><<<level_nodes, kGuessThreads, 0, stream>>>(
        level, static_cast<float>(kWideSigmas), options_.side_tolerance, sample_bins_.data(), guesses_.data(),
        splits_.data(), table_.data());
    cuda_check_launch("wide_guess_kernel");
  }
}

template <class T, int Dim>
void WeightedWideRound<T, Dim>::classify(const T* points, const std::uint64_t* weights) {
  const auto processors = static_cast<unsigned>(support::current_device_shape().multiprocessors);
  constexpr unsigned kBlockThreads = kWeightedThreads<T>;
  weighted_classify_kernel<T, Dim>
      <<<std::min(blocks(n_, kBlockThreads * 4), processors), kBlockThreads, weighted_shared(levels_), stream_.get()>>>(
          points, weights, n_, levels_, codes_.data(), sums(), lists_);
  cuda_check_launch("weighted_classify_kernel");
}

template <class T, int Dim>
void WeightedWideRound<T, Dim>::resolve() {
  const cudaStream_t stream = stream_.get();
  const unsigned grid = 4U * static_cast<unsigned>(support::current_device_shape().multiprocessors);
  for (int level = 0; level < levels_; ++level) {
    const unsigned level_nodes = 1U << static_cast<unsigned>(level);
    weighted_prepare_kernel<T, Dim><<<level_nodes, kNodeThreads, 0, stream>>>(
        level, levels_, options_.side_tolerance, guesses_.data(), sums(), lists_, nodes_.data(), cuts_.data());
    const std::size_t table = level + 1 < levels_ ? first_ * sizeof(float2) : 0;
    weighted_route_kernel<T, Dim><<<grid, kNodeThreads, table, stream>>>(
        level, levels_, lists_, cuts_.data(), nodes_.data(), candidates_.data(), codes_.data(), sums());
    cuda_check_launch("weighted_route_kernel");
    weighted_select_kernel<T, Dim><<<level_nodes, kNodeThreads, sizeof(WeightedCandidates<T, Dim>), stream>>>(
        level, levels_, lists_, guesses_.data(), candidates_.data(), nodes_.data(), codes_.data(), sums());
    cuda_check_launch("weighted_select_kernel");
  }
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
  for (std::size_t s = 0; s < ends.size(); ++s)
    for (std::uint32_t begin = ends[s], end = begin + 1; begin < 2 * first_; begin *= 2, end *= 2)
      for (std::uint32_t u = begin; u < end; ++u) {
        slots[u] = static_cast<std::uint16_t>(s);
        leaves[u] = tree.cells[ends[s]].first_leaf;
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
  const unsigned grid = 8U * static_cast<unsigned>(support::current_device_shape().multiprocessors);
  code_labels_kernel<<<std::min(grid, blocks(n_, 256)), 256, 0, stream_.get()>>>(codes_.data(), n_,
                                                                                 leaf_of_code_.data(), labels);
  cuda_check_launch("code_labels_kernel");
}

/// A stable sort of the points' numbers by slot.
template <class T, int Dim>
std::uint32_t* WeightedWideRound<T, Dim>::order() {
  for (int k = 0; k < 2; ++k) {
    keys_[k].resize_discard(n_);
    order_[k].resize_discard(n_);
  }
  const unsigned grid = 8U * static_cast<unsigned>(support::current_device_shape().multiprocessors);
  slot_keys_kernel<<<std::min(grid, blocks(n_, 256)), 256, 0, stream_.get()>>>(codes_.data(), n_, slot_of_code_.data(),
                                                                               keys_[0].data(), order_[0].data());
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
