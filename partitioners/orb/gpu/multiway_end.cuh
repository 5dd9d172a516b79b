#pragma once
// What follows the rounds of gpu/multiway.cu, its only user: cells that the host cuts; labels, which go back through
// the moves of all rounds to the points' first places; and all points in one of the two buffers.
#include <bit>

#include "partitioners/orb/gpu/move.cuh"
#include "partitioners/orb/gpu/multiway.hpp"
#include "partitioners/orb/round_tree.hpp"

namespace amrbench::partitioners::gpu {

/// One block a tile: leaves of its points, in its own order: of slots that are leaves the slot's, of others what stands
/// at the point's place after the move. slot_leaf: leaf of each slot of each cell, or ~0.
template <class T, int Dim>
__global__ void __launch_bounds__(kThreads)
    labels_kernel(std::uint32_t* __restrict__ labels, const std::uint32_t* __restrict__ moved_labels,
                  const std::uint8_t* __restrict__ codes, const Cell* cells, std::uint32_t n_cells,
                  const std::uint8_t* slot_of_code, const std::uint32_t* slot_leaf,
                  const std::uint32_t* __restrict__ table) {
  constexpr int kMine = kItems<T, Dim>;
  constexpr unsigned kSize = kTile<T, Dim>;
  __shared__ std::uint32_t per_warp[kThreads / 32][kSlots];
  __shared__ std::uint32_t first[kSlots];
  __shared__ std::uint32_t to[kSlots];
  __shared__ std::uint32_t leaf[kSlots];
  __shared__ std::uint8_t slots[kNodes];
  __shared__ std::uint32_t shared_cell;
  if (threadIdx.x == 0) shared_cell = cell_of_tile(cells, n_cells, blockIdx.x);
  __syncthreads();
  const Cell cell = cells[shared_cell];
  const std::uint32_t tile = blockIdx.x - cell.first_tile;
  if (threadIdx.x < kNodes) slots[threadIdx.x] = slot_of_code[std::uint64_t{shared_cell} * kNodes + threadIdx.x];
  bool any_inner = false;
  if (threadIdx.x < kSlots) {
    to[threadIdx.x] = table[std::uint64_t{cell.first_tile} * kSlots + std::uint64_t{threadIdx.x} * cell.tiles + tile] -
                      cell.before + cell.begin;
    leaf[threadIdx.x] = slot_leaf[std::uint64_t{shared_cell} * kSlots + threadIdx.x];
    any_inner = leaf[threadIdx.x] == ~0U;
  }
  any_inner = __syncthreads_or(any_inner ? 1 : 0) != 0;
  const std::uint32_t offset = tile * kSize;
  const std::uint32_t n = min(kSize, cell.count - offset);
  const std::uint64_t begin = std::uint64_t{cell.begin} + offset;
  const unsigned base = (threadIdx.x >> 5U) * (32U * kMine) + (threadIdx.x & 31U);
  std::uint32_t item[kMine];  // its slot, and above 16 bits its place
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    const std::uint32_t i = base + 32U * j;
    item[j] = i < n ? slots[codes[begin + i]] : kSlots - 1U;
  }
  if (any_inner) rank_tile<kMine>(item, 0, per_warp, first);
#pragma unroll
  for (int j = 0; j < kMine; ++j) {
    if (base + 32U * j >= n) continue;
    const std::uint32_t s = item[j] & 0xffffU;
    std::uint32_t label = leaf[s];
    if (label == ~0U) label = moved_labels[std::uint64_t{to[s]} + (item[j] >> 16U) - first[s]];
    labels[begin + base + 32U * j] = label;
  }
}

/// One thread a point from `begin` on, n of them: the leaf of the place it lies at, to its number.
template <class Label>
__global__ void scatter_labels_kernel(const std::uint32_t* __restrict__ ids, std::uint32_t begin, std::uint32_t n,
                                      const std::uint32_t* __restrict__ leaf_begins, std::uint32_t leaf,
                                      std::uint32_t leaves, Label* __restrict__ labels) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  std::uint32_t low = leaf;
  std::uint32_t high = leaf + leaves;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (leaf_begins[middle] <= begin + k)
      low = middle;
    else
      high = middle;
  }
  labels[ids[begin + k]] = low;
}

template <class T, int Dim>
void Multiway<T, Dim>::cut_on_host(std::size_t heap, Round& round, int at) {
  ++times_->host_cells;
  const OrbCell<T, Dim> cell = tree_->cells[heap];
  std::vector<T> points(cell.count * Dim);
  support::copy_to_host(points.data(), points_[at].data() + cell.begin * Dim, points.size(), stream_);
  stream_.synchronize();
  OrbResult<T, Dim> result;
  OrbOptions options{.leaves = cell.leaves, .side_tolerance = options_.side_tolerance, .points = true};
  orb<T, Dim>({points, Dim}, {}, options, result, cell.box);
  support::copy_to_device(points_[at].data() + cell.begin * Dim, result.points.data(), points.size(), stream_);
  if (carry_) {
    std::vector<std::uint32_t> ids(cell.count), moved(cell.count);
    support::copy_to_host(ids.data(), ids_[at].data() + cell.begin, ids.size(), stream_);
    stream_.synchronize();
    for (std::size_t i = 0; i < ids.size(); ++i) moved[i] = ids[result.permutation[i]];
    support::copy_to_device(ids_[at].data() + cell.begin, moved.data(), moved.size(), stream_);
    stream_.synchronize();
  }
  for (std::size_t i = 1; i < result.tree.cells.size(); ++i) {
    const OrbCell<T, Dim>& cut = result.tree.cells[i];
    if (cut.axis < 0) continue;
    const int level = std::bit_width(i) - 1;
    const std::uint64_t left = result.tree.cells[2 * i].count;
    cut_cell(*tree_, (heap << level) + (i - (std::size_t{1} << level)), cut.axis, cut.cut, left, left);
  }
  if (options_.labels) {
    std::vector<std::uint32_t> labels(result.labels.begin(), result.labels.end());
    for (std::uint32_t& label : labels) label += cell.first_leaf;
    round.host_labels.emplace_back(static_cast<std::uint32_t>(cell.begin), std::move(labels));
  }
  stream_.synchronize();
}

template <class T, int Dim>
void Multiway<T, Dim>::make_labels() {
  for (std::size_t k = used_rounds_; k-- > 0;) {
    Round& round = rounds_[k];
    support::DeviceBuffer<std::uint32_t>& from = labels_[(k + 1) % 2];
    support::DeviceBuffer<std::uint32_t>& to = labels_[k % 2];
    to.resize_discard(n_);
    if (k + 1 < used_rounds_ || !round.host_labels.empty()) from.resize_discard(n_);
    for (const auto& [begin, labels] : round.host_labels)
      support::copy_to_device(from.data() + begin, labels.data(), labels.size(), stream_);
    if (round.table.size() == 0) round.table.resize_discard(std::size_t{round.tiles} * kSlots);
    labels_kernel<T, Dim><<<round.tiles, kThreads, 0, stream_.get()>>>(
        to.data(), from.data(), round.codes.data(), round.device_cells.data(),
        static_cast<std::uint32_t>(round.cells.size()), round.slot_of_code.data(), round.slot_leaf.data(),
        round.table.data());
    support::cuda_check_launch("labels_kernel");
  }
}

/// Leaves that a further round finished lie in the other buffer: brings all into the one that holds most.
template <class T, int Dim>
void Multiway<T, Dim>::collect_points(const std::vector<int>& buffer_of_leaf) {
  std::uint64_t in[2] = {0, 0};
  for (std::uint32_t leaf = 0; leaf < tree_->leaves; ++leaf)
    in[buffer_of_leaf[leaf]] += tree_->cells[tree_->leaf_cell[leaf]].count;
  final_ = in[1] > in[0] ? 1 : 0;
  for (std::uint32_t leaf = 0; leaf < tree_->leaves; ++leaf) {
    if (buffer_of_leaf[leaf] == final_) continue;
    const OrbCell<T, Dim>& cell = tree_->cells[tree_->leaf_cell[leaf]];
    if (points_[final_].size() > 0)
      support::cuda_check(
          cudaMemcpyAsync(points_[final_].data() + cell.begin * Dim, points_[1 - final_].data() + cell.begin * Dim,
                          cell.count * Dim * sizeof(T), cudaMemcpyDeviceToDevice, stream_.get()),
          "cudaMemcpyAsync");
    if (carry_)
      support::cuda_check(cudaMemcpyAsync(ids_[final_].data() + cell.begin, ids_[1 - final_].data() + cell.begin,
                                          cell.count * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice, stream_.get()),
                          "cudaMemcpyAsync");
  }
}

/// Labels of all points of some cells from their numbers, which lie in order of leaves.
template <class T, int Dim>
void Multiway<T, Dim>::scatter_labels(const std::vector<std::size_t>& cells) {
  std::vector<std::uint32_t> begins(tree_->leaves);
  for (std::uint32_t leaf = 0; leaf < tree_->leaves; ++leaf)
    begins[leaf] = static_cast<std::uint32_t>(tree_->cells[tree_->leaf_cell[leaf]].begin);
  leaf_begins_.resize_discard(begins.size());
  support::copy_to_device(leaf_begins_.data(), begins.data(), begins.size(), stream_);
  const auto scatter = [&](const OrbCell<T, Dim>& cell) {
    const auto n = static_cast<std::uint32_t>(cell.count);
    scatter_labels_kernel<<<blocks_of(n, 256), 256, 0, stream_.get()>>>(
        ids_[final_].data(), static_cast<std::uint32_t>(cell.begin), n, leaf_begins_.data(), cell.first_leaf,
        cell.leaves, labels_[0].data());
    support::cuda_check_launch("scatter_labels_kernel");
  };
  if (cells.size() > kSlots)
    scatter(tree_->cells[1]);
  else
    for (const std::size_t heap : cells) scatter(tree_->cells[heap]);
  stream_.synchronize();  // begins is about to go
}

}  // namespace amrbench::partitioners::gpu
