#include <algorithm>
#include <bit>
#include <cmath>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <numeric>

#include "partitioners/orb/gpu_move.cuh"
#include "partitioners/orb/gpu_wide.hpp"

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

std::uint32_t samples_of(std::uint64_t n, int levels, double share) {
  // Time of the sample, which rises with its size, against that of the points in brackets, which falls with its root.
  const double best = 7.8 * std::pow(static_cast<double>(n), 2.0 / 3.0);
  // Cuts so exact that sides of cells which are equally long in truth are so in the sample: with 24000 points in a cell
  // three levels above the last, sides are wrong by 0.9 %, a fifth of the usual tolerance over the root of 2.
  const auto level = static_cast<unsigned>(levels - 1);
  const auto exact = static_cast<double>(std::uint64_t{3072} << level);
  const auto least = static_cast<double>(std::uint64_t{4 * kWideSegment} << level);
  const double wanted = std::max(share * std::max(best, exact), least);
  return static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(n)));
}

/// Leaves of all points from their codes. 6 bytes a point.
__global__ void __launch_bounds__(256)
    wide_labels_kernel(const std::uint16_t* __restrict__ codes, std::uint64_t n,
                       const std::uint32_t* __restrict__ leaf_of_code, std::uint32_t* __restrict__ labels) {
  const std::uint64_t groups = n / 4;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t me = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::uint64_t g = me; g < groups; g += step) {
    const uint2 four = __ldcs(reinterpret_cast<const uint2*>(codes) + g);
    const uint4 leaves = make_uint4(__ldg(leaf_of_code + (four.x & 0xffffU)), __ldg(leaf_of_code + (four.x >> 16U)),
                                    __ldg(leaf_of_code + (four.y & 0xffffU)), __ldg(leaf_of_code + (four.y >> 16U)));
    __stcs(reinterpret_cast<uint4*>(labels) + g, leaves);
  }
  if (me < n % 4) labels[4 * groups + me] = leaf_of_code[codes[4 * groups + me]];
}

}  // namespace

template <class T, int Dim>
bool WideRound<T, Dim>::suits(std::uint64_t n, const OrbGpuOptions& options) {
  if (!options.tuning.wide || options.leaves < 2) return false;
  return n >= std::uint64_t{4 * kWideSegment} << static_cast<unsigned>(levels_of(options.leaves) - 1);
}

template <class T, int Dim>
WideRound<T, Dim>::WideRound(std::uint64_t n, const OrbGpuOptions& options, const support::CudaStream& stream)
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
  scales_.resize_discard(kWideInner);
  list_state_.resize_discard(kWideLevels + 1);
  bins_.resize_discard(wide_bins_begin(levels_));
  candidates_.resize_discard((std::size_t{first_} / 2) * kCandidates);
  for (int level = 0; level < levels_; ++level) {
    const double size = samples_ / std::exp2(level);
    const double share = kWideSigmas / std::sqrt(size) + 8.0 / size;  // of the points, at the middle
    const double expected = 1.3 * share * static_cast<double>(n) + 65536;
    lists_.capacity[level] = static_cast<std::uint32_t>(std::min(expected, static_cast<double>(n)));
    entries_[level].resize_discard(lists_.capacity[level]);
    lists_.entries[level] = entries_[level].data();
  }
  lists_.sizes = list_state_.data();
  lists_.overflow = list_state_.data() + kWideLevels;
  lists_.bins = bins_.data();
  lists_.table = table_.data();
  lists_.scales = scales_.data();
  const auto shared = [](const void* kernel, std::size_t bytes) {
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
               "cudaFuncSetAttribute");
  };
  const std::size_t walk = wide_shared(kWideLevels);
  shared(reinterpret_cast<const void*>(wide_classify_kernel<T, Dim, 1, 2>), walk);
  shared(reinterpret_cast<const void*>(wide_classify_kernel<T, Dim, 1, 3>), walk);
  shared(reinterpret_cast<const void*>(wide_classify_kernel<T, Dim, 2, 2>), walk);
  shared(reinterpret_cast<const void*>(wide_select_kernel<T, Dim>), kCandidates * sizeof(OrbPoint<T, Dim>));
  allow_move_shared<T, Dim>(options.tuning.move);
}

template <class T, int Dim>
bool WideRound<T, Dim>::cut(const T* points, OrbTree<T, Dim>& tree, Stopwatch& watch, OrbGpuTimes& times) {
  guess(points, tree);
  watch.mark(&times.sample_s);
  classify(points);
  watch.mark(&times.classify_s);
  resolve();
  const bool done = finish(tree, times);
  watch.mark(&times.resolve_s);
  return done;
}

template <class T, int Dim>
void WideRound<T, Dim>::guess(const T* points, const OrbTree<T, Dim>& tree) {
  const cudaStream_t stream = stream_.get();
  clear(guesses_, kWideNodes, stream_);
  clear(nodes_, kWideNodes, stream_);
  clear(cuts_, kWideInner, stream_);
  wide_start_kernel<T, Dim><<<blocks(kWideInner, 256), 256, 0, stream>>>(
      tree.cells[1].box, static_cast<std::uint32_t>(n_), tree.leaves, options_.side_tolerance, guesses_.data(),
      nodes_.data(), table_.data(), scales_.data());
  cuda_check_launch("wide_start_kernel");
  const std::uint32_t m = samples_;
  sample_.resize_discard(std::size_t{m} * Dim);
  sample_node_.resize_discard(m);
  for (int k = 0; k < 2; ++k) {
    order_[k].resize_discard(m);
    keys_[k].resize_discard(m);
  }
  std::size_t bytes = 0;
  cuda_check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys_[0].data(), keys_[1].data(), order_[0].data(),
                                             order_[1].data(), m, 0, 32, stream),
             "DeviceRadixSort");
  temporary_.resize_discard(bytes);
  const unsigned grid = blocks(m, 256);
  wide_sample_kernel<T, Dim>
      <<<grid, 256, 0, stream>>>(points, n_, m, sample_.data(), order_[0].data(), sample_node_.data());
  cuda_check_launch("wide_sample_kernel");
  for (int level = 0; level < levels_; ++level) {
    wide_keys_kernel<T, Dim><<<grid, 256, 0, stream>>>(sample_.data(), order_[0].data(), sample_node_.data(),
                                                       guesses_.data(), m, level, keys_[0].data());
    cuda_check_launch("wide_keys_kernel");
    std::size_t room = temporary_.size();
    cuda_check(
        cub::DeviceRadixSort::SortPairs(temporary_.data(), room, keys_[0].data(), keys_[1].data(), order_[0].data(),
                                        order_[1].data(), m, 0, kPlaceBits + level + 1, stream),
        "DeviceRadixSort");
    wide_segments_kernel<T, Dim><<<grid, 256, 0, stream>>>(keys_[1].data(), m, level, guesses_.data());
    wide_guess_kernel<T, Dim><<<blocks(std::uint64_t{1} << static_cast<unsigned>(level), 64), 64, 0, stream>>>(
        sample_.data(), order_[1].data(), level, options_.side_tolerance, guesses_.data(), table_.data(),
        scales_.data());
    if (level + 1 < levels_)
      wide_down_kernel<T, Dim>
          <<<grid, 256, 0, stream>>>(keys_[1].data(), m, level, guesses_.data(), sample_node_.data());
    cuda_check_launch("wide_down_kernel");
    order_[0].swap(order_[1]);
  }
}

template <class T, int Dim>
void WideRound<T, Dim>::classify(const T* points) {
  clear(code_counts_, kWideNodes, stream_);
  clear(list_state_, kWideLevels + 1, stream_);
  clear(bins_, wide_bins_begin(levels_), stream_);
  const auto processors = static_cast<unsigned>(support::current_device_shape().multiprocessors);
  const auto launch = [&](auto* kernel, unsigned groups, unsigned at_once) {
    const unsigned needed = blocks(n_, kThreads * 4 * groups);
    kernel<<<std::min(needed, processors * at_once), kThreads, wide_shared(levels_), stream_.get()>>>(
        points, n_, levels_, codes_.data(), code_counts_.data(), lists_);
  };
  if (options_.tuning.walk == 1)
    launch(wide_classify_kernel<T, Dim, 1, 3>, 1, 3);
  else if (options_.tuning.walk == 2)
    launch(wide_classify_kernel<T, Dim, 2, 2>, 2, 2);
  else
    launch(wide_classify_kernel<T, Dim, 1, 2>, 1, 2);
  cuda_check_launch("wide_classify_kernel");
}

template <class T, int Dim>
void WideRound<T, Dim>::resolve() {
  const cudaStream_t stream = stream_.get();
  const unsigned grid = 4U * static_cast<unsigned>(support::current_device_shape().multiprocessors);
  for (int level = 0; level < levels_; ++level) {
    const unsigned level_nodes = 1U << static_cast<unsigned>(level);
    wide_prepare_kernel<T, Dim><<<level_nodes, 256, 0, stream>>>(level, levels_, options_.side_tolerance,
                                                                 guesses_.data(), code_counts_.data(), lists_,
                                                                 nodes_.data(), cuts_.data());
    const std::size_t table = level + 1 < levels_ ? first_ * sizeof(float2) : 0;
    wide_route_kernel<T, Dim><<<grid, kEntryThreads, table, stream>>>(
        level, levels_, lists_, cuts_.data(), nodes_.data(), candidates_.data(), codes_.data(), code_counts_.data());
    cuda_check_launch("wide_route_kernel");
    wide_select_kernel<T, Dim><<<level_nodes, 256, kCandidates * sizeof(OrbPoint<T, Dim>), stream>>>(
        level, levels_, lists_, guesses_.data(), candidates_.data(), nodes_.data(), codes_.data(), code_counts_.data());
    cuda_check_launch("wide_select_kernel");
  }
}

/// Reads the cuts into the tree, and finds where a walk over it ends.
template <class T, int Dim>
bool WideRound<T, Dim>::finish(OrbTree<T, Dim>& tree, OrbGpuTimes& times) {
  std::uint32_t state[kWideLevels + 1] = {};
  copy_to_host(host_nodes_.data(), nodes_.data(), kWideNodes, stream_);
  copy_to_host(state, list_state_.data(), kWideLevels + 1, stream_);
  stream_.synchronize();
  left_.clear();
  const Node<T, Dim>* nodes = host_nodes_.data();
  if (state[kWideLevels] != 0 || nodes[1].resolved == 0) return false;  // entries were lost: nothing of it counts
  for (int level = 0; level < levels_; ++level) times.stopped += state[level];
  direct_ = sizeof(T) == sizeof(float);
  std::vector<std::uint32_t> ends;  // from left to right
  std::vector<std::uint32_t> walk{1};
  while (!walk.empty()) {
    const std::uint32_t v = walk.back();
    walk.pop_back();
    if (v < first_ && nodes[v].resolved != 0) {
      const std::uint64_t count_left = nodes[2 * v].count;
      cut_cell(tree, v, nodes[v].axis, nodes[v].cut, count_left, count_left);
      walk.push_back(2 * v + 1);
      walk.push_back(2 * v);
      continue;
    }
    ends.push_back(v);
    if (tree.cells[v].leaves == 1) continue;
    left_.push_back(v);
    direct_ = direct_ && v >= first_;
  }
  make_slots(tree, ends);
  return true;
}

/// A slot is a node of the last level. A cell that ends above it has the first slot below it.
template <class T, int Dim>
void WideRound<T, Dim>::make_slots(const OrbTree<T, Dim>& tree, const std::vector<std::uint32_t>& ends) {
  std::vector<std::uint16_t> slots(kWideNodes, 0);
  std::vector<std::uint32_t> leaves(kWideNodes, 0);
  std::vector<std::uint64_t> counts(kSlots, 0);  // of slots that share all but their last digit
  for (const std::uint32_t v : ends) {
    const OrbCell<T, Dim>& cell = tree.cells[v];
    const int above = levels_ - (std::bit_width(v) - 1);
    const std::uint32_t slot = (v << static_cast<unsigned>(above)) - first_;
    counts[slot / kSlots] += cell.count;
    for (std::uint32_t begin = v, end = v + 1; begin < 2 * first_; begin *= 2, end *= 2)
      for (std::uint32_t u = begin; u < end; ++u) {
        slots[u] = static_cast<std::uint16_t>(slot);
        leaves[u] = cell.first_leaf;
      }
  }
  // A direct code is a slot's; moves that are not direct overwrite codes with first_ + slot, labels come before.
  slot_of_code_.resize_discard(slots.size());
  leaf_of_code_.resize_discard(leaves.size());
  copy_to_device(slot_of_code_.data(), slots.data(), slots.size(), stream_);
  copy_to_device(leaf_of_code_.data(), leaves.data(), leaves.size(), stream_);
  buckets_.clear();
  std::uint32_t begin = 0, tiles = 0;
  for (const std::uint64_t count : counts) {
    if (count == 0) continue;
    const auto size = static_cast<std::uint32_t>(count);
    const std::uint32_t own = (size - 1) / kTile<T, Dim> + 1;
    buckets_.push_back({begin, size, 0, tiles, own, begin, 0, 0});
    begin += size;
    tiles += own;
  }
  stream_.synchronize();
}

template <class T, int Dim>
void WideRound<T, Dim>::label(std::uint32_t* labels) {
  const unsigned grid = 8U * static_cast<unsigned>(support::current_device_shape().multiprocessors);
  wide_labels_kernel<<<std::min(grid, blocks(n_ / 4 + 4, 256)), 256, 0, stream_.get()>>>(codes_.data(), n_,
                                                                                         leaf_of_code_.data(), labels);
  cuda_check_launch("wide_labels_kernel");
}

template <class T, int Dim>
void WideRound<T, Dim>::scan_tiles(std::size_t places) {
  std::size_t bytes = 0;
  std::uint32_t* const table = tile_table_.data();
  cuda_check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, table, table, places, stream_.get()), "DeviceScan");
  temporary_.resize_discard(bytes);
  cuda_check(cub::DeviceScan::ExclusiveSum(temporary_.data(), bytes, table, table, places, stream_.get()),
             "DeviceScan");
}

template <class T, int Dim>
int WideRound<T, Dim>::move(const T* points, support::DeviceBuffer<T>* moved,
                            support::DeviceBuffer<std::uint32_t>* ids) {
  const cudaStream_t stream = stream_.get();
  const bool twice = levels_ > kLevels;
  const unsigned shift = twice ? static_cast<unsigned>(kLevels) : 0U;
  const auto tiles = static_cast<std::uint32_t>((n_ - 1) / kTile<T, Dim> + 1);
  const std::size_t places = std::size_t{tiles} * kSlots;
  tile_table_.resize_discard(places + (twice ? buckets_.size() * kSlots : 0));
  moved[0].resize_discard(n_ * Dim);
  if (ids != nullptr) ids[0].resize_discard(n_);
  if (twice) low_digits_.resize_discard(n_);
  wide_tile_counts_kernel<T, Dim><<<tiles, kThreads, 0, stream>>>(
      codes_.data(), n_, first_, shift, direct_ ? nullptr : slot_of_code_.data(), tiles, tile_table_.data());
  cuda_check_launch("wide_tile_counts_kernel");
  scan_tiles(places);
  const Cell root{0, static_cast<std::uint32_t>(n_), 0, 0, tiles, 0, 0, 0};
  device_cells_.resize_discard(buckets_.size() + 1);
  copy_to_device(device_cells_.data(), &root, 1, stream_);
  copy_to_device(device_cells_.data() + 1, buckets_.data(), buckets_.size(), stream_);
  launch_move<T, Dim, std::uint16_t>(
      options_.tuning.move, tiles, stream,
      {points, moved[0].data(), nullptr, ids != nullptr ? ids[0].data() : nullptr, device_cells_.data(), 1, nullptr,
       tile_table_.data(), first_, shift, twice ? low_digits_.data() : nullptr},
      codes_.data());
  direct_ = true;         // codes name slots now
  stream_.synchronize();  // root and buckets_ may go
  if (!twice) return 0;
  moved[1].resize_discard(n_ * Dim);
  if (ids != nullptr) ids[1].resize_discard(n_);
  move_within_buckets(moved[0].data(), moved[1].data(), ids != nullptr ? ids[0].data() : nullptr,
                      ids != nullptr ? ids[1].data() : nullptr);
  return 1;
}

template <class T, int Dim>
void WideRound<T, Dim>::move_within_buckets(const T* from, T* to, const std::uint32_t* ids_in, std::uint32_t* ids_out) {
  const auto n_cells = static_cast<std::uint32_t>(buckets_.size());
  const std::uint32_t tiles = buckets_.back().first_tile + buckets_.back().tiles;
  if (digits_.size() == 0) {
    std::vector<std::uint8_t> digits(std::size_t{kSlots} * kNodes);
    for (std::size_t k = 0; k < digits.size(); ++k) digits[k] = static_cast<std::uint8_t>(k % kSlots);
    digits_.resize_discard(digits.size());
    copy_to_device(digits_.data(), digits.data(), digits.size(), stream_);
    stream_.synchronize();
  }
  tile_counts_kernel<T, Dim><<<tiles, kThreads, 0, stream_.get()>>>(low_digits_.data(), device_cells_.data() + 1,
                                                                    n_cells, digits_.data(), tile_table_.data());
  cuda_check_launch("tile_counts_kernel");
  scan_tiles(std::size_t{tiles} * kSlots);
  launch_move<T, Dim, std::uint8_t>(
      options_.tuning.move, tiles, stream_.get(),
      {from, to, ids_in, ids_out, device_cells_.data() + 1, n_cells, digits_.data(), tile_table_.data(), 0, 0, nullptr},
      low_digits_.data());
}

template class WideRound<float, 2>;
template class WideRound<float, 3>;
template class WideRound<double, 2>;
template class WideRound<double, 3>;

}  // namespace amrbench::partitioners::gpu
