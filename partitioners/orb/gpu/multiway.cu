#include <algorithm>
#include <bit>
#include <cmath>

#include "partitioners/orb/gpu/multiway_end.cuh"
#include "partitioners/orb/round_tree.hpp"

namespace amrbench::partitioners::gpu {

namespace {

using support::copy_to_device;
using support::copy_to_host;
using support::cuda_check;
using support::cuda_check_launch;

constexpr std::uint32_t kLeastSamples = 16384;  ///< of a cell, where it has as many points

}  // namespace

template <class T, int Dim>
Multiway<T, Dim>::Multiway(std::uint64_t n, const OrbGpuOptions& options) : n_(n), options_(options) {
  if (wide_suits(n, options)) wide_ = std::make_unique<WideRound<T, Dim>>(n, options, stream_);
  list_state_.resize_discard(kLevels + 1);
  const bool moves = options.points || options.permutation || options.leaves > (wide_ ? kWideInner : kSlots);
  if (moves) points_[0].resize_discard(n * Dim);
  if (moves && options.leaves > kSlots) points_[1].resize_discard(n * Dim);
  if (options.permutation)
    for (auto& ids : ids_) ids.resize_discard(n);
  if (options.labels) labels_[0].resize_discard(n);
  allow_move_shared<T, Dim>();
  allow_shared(select_kernel<T, Dim>, kCandidates * sizeof(OrbPoint<T, Dim>));
}

template <class T, int Dim>
void Multiway<T, Dim>::run(const T* input, OrbTree<T, Dim>& tree, OrbGpuTimes& times) {
  tree_ = &tree;
  times_ = &times;
  used_rounds_ = 0;
  final_ = 0;
  carry_ = options_.permutation;
  watch_.reset();
  watch_.mark(nullptr);
  std::vector<std::size_t> active;
  if (tree.leaves > 1) active.push_back(1);
  if (active.empty()) start_run(input);
  const bool wide = wide_ && reinterpret_cast<std::uintptr_t>(input) % 16 == 0 && run_wide(input, active);
  const std::vector<std::size_t> later = wide ? active : std::vector<std::size_t>{};
  std::vector<int> buffer_of_leaf(tree.leaves, final_);
  if (!active.empty())
    run_rounds(wide ? points_[final_].data() : input, wide ? 1 - final_ : 0, std::move(active), buffer_of_leaf);
  times.rounds = static_cast<int>(used_rounds_) + (wide ? 1 : 0);
  times.wide = wide;
  if (options_.points || carry_) collect_points(buffer_of_leaf);
  watch_.mark(&times.move_s);
  if (options_.labels && used_rounds_ > 0) wide ? scatter_labels(later) : make_labels();
  watch_.mark(&times.labels_s);
  stream_.synchronize();
  watch_.close();
  times.total_s = watch_.total();
}

/// The whole run where there is one leaf.
template <class T, int Dim>
void Multiway<T, Dim>::start_run(const T* input) {
  if (options_.points)
    cuda_check(cudaMemcpyAsync(points_[0].data(), input, n_ * Dim * sizeof(T), cudaMemcpyDeviceToDevice, stream_.get()),
               "cudaMemcpyAsync");
  if (options_.permutation) write_numbers(ids_[0].data(), n_, stream_);
  if (options_.labels) clear(labels_[0], n_, stream_);
  watch_.mark(&times_->move_s);
}

/// The wide round; false: it cut nothing. active: cells to cut further. Labels of points in those come by their
/// numbers at the end.
template <class T, int Dim>
bool Multiway<T, Dim>::run_wide(const T* input, std::vector<std::size_t>& active) {
  if (!wide_->cut(input, *tree_, watch_, *times_)) return false;
  active = wide_->left();
  if (options_.labels) wide_->label(labels_[0].data());
  watch_.mark(&times_->labels_s);
  carry_ = carry_ || (options_.labels && !active.empty());
  if (options_.points || carry_ || !active.empty()) final_ = wide_->move(input, points_, carry_ ? ids_ : nullptr);
  watch_.mark(&times_->move_s);
  return true;
}

/// Rounds of up to 6 levels over the active cells, whose points lie at `points`; they move to buffer `to` first.
template <class T, int Dim>
void Multiway<T, Dim>::run_rounds(const T* points, int to, std::vector<std::size_t> active,
                                  std::vector<int>& buffer_of_leaf) {
  const std::uint32_t* ids = points == points_[1 - to].data() && carry_ ? ids_[1 - to].data() : nullptr;
  std::uint64_t total = 0;
  for (const std::size_t heap : active) total += tree_->cells[heap].count;
  const auto capacity = static_cast<std::uint32_t>(std::min<std::uint64_t>(total, total / 4 + 65536));
  if (entries_[0].size() < capacity)
    for (auto& entries : entries_) entries.resize_discard(capacity);
  while (!active.empty()) {
    if (used_rounds_ == rounds_.size()) rounds_.emplace_back();
    Round& round = rounds_[used_rounds_++];
    start_round(round, active);
    guess(round, points);
    watch_.mark(&times_->sample_s);
    resolve(round, points);
    std::vector<std::size_t> stuck;
    std::vector<std::size_t> next = finish_cells(round, stuck);
    watch_.mark(&times_->resolve_s);
    const bool moving = options_.points || carry_ || !next.empty() || !stuck.empty();
    if (moving) move(round, points, ids, to);
    watch_.mark(&times_->move_s);
    for (const std::size_t heap : round.heap) {
      const OrbCell<T, Dim>& cell = tree_->cells[heap];
      std::fill_n(buffer_of_leaf.begin() + cell.first_leaf, cell.leaves, to);
    }
    for (const std::size_t heap : stuck) cut_on_host(heap, round, to);
    active = std::move(next);
    points = points_[to].data();
    ids = carry_ ? ids_[to].data() : nullptr;
    to = 1 - to;
  }
}

template <class T, int Dim>
void Multiway<T, Dim>::start_round(Round& round, const std::vector<std::size_t>& active) {
  round.cells.clear();
  round.heap = active;
  round.host_labels.clear();
  round.levels = 0;
  std::uint64_t total = 0;
  for (const std::size_t heap : active) {
    total += tree_->cells[heap].count;
    round.levels = std::max(round.levels, round_levels(tree_->cells[heap].leaves));
  }
  const double share = used_rounds_ == 1 ? 0.7 : 1.4;
  const double samples = share * std::pow(static_cast<double>(total), 0.75);
  std::vector<OrbBox<T, Dim>> boxes;
  std::uint32_t tiles = 0, before = 0, sampled = 0;
  for (const std::size_t heap : active) {
    const OrbCell<T, Dim>& cell = tree_->cells[heap];
    const auto count = static_cast<std::uint32_t>(cell.count);
    const auto share_of = static_cast<std::uint32_t>(samples * static_cast<double>(count) / static_cast<double>(total));
    Cell c{static_cast<std::uint32_t>(cell.begin),
           count,
           cell.leaves,
           tiles,
           (count - 1) / kTile<T, Dim> + 1,
           before,
           sampled,
           std::min(count, std::max(share_of, kLeastSamples))};
    tiles += c.tiles;
    before += count;
    sampled += c.samples;
    round.cells.push_back(c);
    boxes.push_back(cell.box);
  }
  round.tiles = tiles;
  round.device_cells.resize_discard(active.size());
  boxes_.resize_discard(active.size());
  copy_to_device(round.device_cells.data(), round.cells.data(), active.size(), stream_);
  copy_to_device(boxes_.data(), boxes.data(), active.size(), stream_);
  stream_.synchronize();  // boxes is about to go
  clear(guesses_, active.size() * kNodes, stream_);
  clear(nodes_, active.size() * kNodes, stream_);
  const auto n_cells = static_cast<std::uint32_t>(active.size());
  start_round_kernel<<<blocks_of(n_cells, 64), 64, 0, stream_.get()>>>(
      round.device_cells.data(), boxes_.data(), n_cells, options_.side_tolerance, guesses_.data(), nodes_.data());
  cuda_check_launch("start_round_kernel");
}

template <class T, int Dim>
void Multiway<T, Dim>::guess(Round& round, const T* points) {
  const auto n_cells = static_cast<std::uint32_t>(round.cells.size());
  const std::uint32_t m = round.cells.back().sample_begin + round.cells.back().samples;
  sample_.resize_discard(std::size_t{m} * Dim);
  sample_node_.resize_discard(m);
  for (int k = 0; k < 2; ++k) {
    order_[k].resize_discard(m);
    keys_[k].resize_discard(m);
  }
  const unsigned grid = blocks_of(m, 256);
  sample_kernel<T, Dim><<<grid, 256, 0, stream_.get()>>>(points, round.device_cells.data(), n_cells, m, sample_.data(),
                                                         order_[0].data(), sample_node_.data());
  cuda_check_launch("sample_kernel");
  const int bits = 32 + std::bit_width(n_cells * static_cast<unsigned>(kNodes));
  std::size_t bytes = 0;
  cuda_check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys_[0].data(), keys_[1].data(), order_[0].data(),
                                             order_[1].data(), m, 0, bits, stream_.get()),
             "DeviceRadixSort");
  temporary_.resize_discard(bytes);
  for (int level = 0; level < round.levels; ++level) {
    sample_keys_kernel<<<grid, 256, 0, stream_.get()>>>(sample_.data(), order_[0].data(), sample_node_.data(),
                                                        guesses_.data(), m, keys_[0].data());
    cuda_check_launch("sample_keys_kernel");
    cuda_check(cub::DeviceRadixSort::SortPairs(temporary_.data(), bytes, keys_[0].data(), keys_[1].data(),
                                               order_[0].data(), order_[1].data(), m, 0, bits, stream_.get()),
               "DeviceRadixSort");
    segments_kernel<<<grid, 256, 0, stream_.get()>>>(keys_[1].data(), m, guesses_.data());
    guess_kernel<<<blocks_of(std::uint64_t{n_cells} << level, 128), 128, 0, stream_.get()>>>(
        keys_[1].data(), n_cells, level, options_.side_tolerance, guesses_.data());
    sample_down_kernel<<<grid, 256, 0, stream_.get()>>>(keys_[1].data(), m, guesses_.data(), sample_node_.data());
    cuda_check_launch("sample_down_kernel");
    order_[0].swap(order_[1]);
  }
}

template <class T, int Dim>
void Multiway<T, Dim>::resolve(Round& round, const T* points) {
  const auto n_cells = static_cast<std::uint32_t>(round.cells.size());
  round.codes.resize_discard((n_ + 15) / 16 * 16);
  clear(code_counts_, std::size_t{n_cells} * kNodes, stream_);
  clear(list_state_, kLevels + 1, stream_);
  Lists lists{};
  for (int l = 0; l < kLevels; ++l) lists.entries[l] = entries_[l].data();
  lists.counts = list_state_.data();
  lists.overflow = list_state_.data() + kLevels;
  lists.capacity = static_cast<std::uint32_t>(entries_[0].size());
  classify_kernel<T, Dim>
      <<<round.tiles, kThreads, 0, stream_.get()>>>(points, round.codes.data(), round.device_cells.data(), n_cells,
                                                    guesses_.data(), round.levels, code_counts_.data(), lists);
  cuda_check_launch("classify_kernel");
  watch_.mark(&times_->classify_s);
  const unsigned grid = 8 * multiprocessors();
  candidates_.resize_discard((std::size_t{n_cells} << (round.levels - 1)) * kCandidates);
  for (int level = 0; level < round.levels; ++level) {
    const std::uint32_t level_nodes = n_cells << level;
    prepare_kernel<<<blocks_of(level_nodes, 128), 128, 0, stream_.get()>>>(
        n_cells, level, round.levels, options_.side_tolerance, guesses_.data(), code_counts_.data(), nodes_.data());
    clear(bins_, std::size_t{n_cells} * kBins, stream_);
    histogram_kernel<<<grid, kEntryThreads, 0, stream_.get()>>>(points, lists, level, guesses_.data(), nodes_.data(),
                                                                bins_.data());
    find_bin_kernel<<<level_nodes, kCutThreads, 0, stream_.get()>>>(level, bins_.data(), nodes_.data());
    collect_kernel<<<grid, kEntryThreads, 0, stream_.get()>>>(points, lists, level, guesses_.data(), nodes_.data(),
                                                              candidates_.data());
    select_kernel<<<level_nodes, kCutThreads, kCandidates * sizeof(OrbPoint<T, Dim>), stream_.get()>>>(
        points, level, guesses_.data(), candidates_.data(), nodes_.data());
    cuda_check_launch("select_kernel");
    route_kernel<<<grid, kEntryThreads, 0, stream_.get()>>>(points, round.codes.data(), lists, level, round.levels,
                                                            guesses_.data(), nodes_.data(), code_counts_.data());
    cuda_check_launch("route_kernel");
  }
}

template <class T, int Dim>
std::vector<std::size_t> Multiway<T, Dim>::finish_cells(Round& round, std::vector<std::size_t>& stuck) {
  const std::size_t n_cells = round.cells.size();
  host_nodes_.resize(n_cells * kNodes);
  std::uint32_t state[kLevels + 1] = {};
  copy_to_host(host_nodes_.data(), nodes_.data(), host_nodes_.size(), stream_);
  copy_to_host(state, list_state_.data(), kLevels + 1, stream_);
  stream_.synchronize();
  const bool overflow = state[kLevels] != 0;  // entries were lost: nothing of this round counts
  for (int l = 0; l < kLevels; ++l) times_->stopped += state[l];
  std::vector<std::size_t> next;
  std::vector<std::uint8_t> slot_of_code(n_cells * kNodes, 0);
  std::vector<std::uint32_t> slot_leaf(n_cells * kSlots, 0);
  const std::uint32_t first = 1U << round.levels;
  for (std::size_t c = 0; c < n_cells; ++c) {
    const Node<T, Dim>* nodes = host_nodes_.data() + c * kNodes;
    std::uint8_t slots = 0;
    std::vector<std::uint32_t> walk{1};
    while (!walk.empty()) {
      const std::uint32_t v = walk.back();
      walk.pop_back();
      const int level = std::bit_width(v) - 1;
      const std::size_t heap = (round.heap[c] << level) + (v - (1U << level));
      if (!overflow && v < first && nodes[v].resolved != 0) {
        const Node<T, Dim>& left = nodes[2 * v];
        cut_cell(*tree_, heap, nodes[v].axis, nodes[v].cut, std::uint64_t{left.count}, std::uint64_t{left.count});
        walk.push_back(2 * v + 1);
        walk.push_back(2 * v);
        continue;
      }
      const OrbCell<T, Dim>& cell = tree_->cells[heap];
      if (cell.leaves > 1) (v == 1 ? stuck : next).push_back(heap);
      slot_leaf[c * kSlots + slots] = cell.leaves > 1 ? ~0U : cell.first_leaf;
      for (std::uint32_t begin = v, end = v + 1; begin < 2 * first; begin *= 2, end *= 2)
        for (std::uint32_t u = begin; u < end; ++u)
          slot_of_code[c * kNodes + (u >= first ? u - first : kStoppedCode + u)] = slots;
      ++slots;
    }
  }
  round.slot_of_code.resize_discard(slot_of_code.size());
  round.slot_leaf.resize_discard(slot_leaf.size());
  copy_to_device(round.slot_of_code.data(), slot_of_code.data(), slot_of_code.size(), stream_);
  copy_to_device(round.slot_leaf.data(), slot_leaf.data(), slot_leaf.size(), stream_);
  stream_.synchronize();
  return next;
}

template <class T, int Dim>
void Multiway<T, Dim>::move(Round& round, const T* points, const std::uint32_t* ids, int to) {
  const auto n_cells = static_cast<std::uint32_t>(round.cells.size());
  const std::size_t places = std::size_t{round.tiles} * kSlots;
  round.table.resize_discard(places);
  points_[to].resize_discard(n_ * Dim);
  tile_counts_kernel<T, Dim><<<round.tiles, kCountThreads, 0, stream_.get()>>>(
      round.codes.data(), round.device_cells.data(), n_cells, round.slot_of_code.data(), round.table.data());
  cuda_check_launch("tile_counts_kernel");
  sums_before(round.table.data(), round.table.data(), places, temporary_, stream_);
  if (carry_) ids_[to].resize_discard(n_);
  launch_move<T, Dim, std::uint8_t>(
      round.tiles, stream_.get(),
      {points, points_[to].data(), ids, carry_ ? ids_[to].data() : nullptr, round.device_cells.data(), n_cells,
       round.slot_of_code.data(), round.table.data(), 0, 0, nullptr},
      round.codes.data());
}

template class Multiway<float, 2>;
template class Multiway<float, 3>;
template class Multiway<double, 2>;
template class Multiway<double, 3>;

}  // namespace amrbench::partitioners::gpu
