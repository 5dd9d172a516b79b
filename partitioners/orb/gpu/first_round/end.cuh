#pragma once
// What follows the cuts of gpu/first_round/first_round.cu, its only user: labels from codes, and the two moves that
// bring points into the order of the cells, by the upper and by the lower 6 bits of their slots.
#include <bit>

#include "partitioners/orb/gpu/first_round/first_round.hpp"
#include "partitioners/orb/gpu/move.cuh"

namespace amrbench::partitioners::gpu {

constexpr unsigned kLabelThreads = 256;

/// Leaves of n points from their codes, four points a thread at a time. 6 bytes a point. Both aligned to 16 bytes.
__global__ void __launch_bounds__(kLabelThreads)
    code_labels_kernel(const std::uint16_t* __restrict__ codes, std::uint64_t n,
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

/// A slot is a node of the last level. A cell that ends above it has the first slot below it.
template <class T, int Dim>
void FirstRound<T, Dim>::make_slots(const OrbTree<T, Dim>& tree) {
  std::vector<std::uint16_t> slots(kFirstNodes, 0);
  std::vector<std::uint32_t> leaves(kFirstNodes, 0);
  std::vector<std::uint64_t> counts(kSlots, 0);  // of slots that share all but their last digit
  direct_ = sizeof(T) == sizeof(float);
  std::vector<std::uint32_t> walk{1};
  while (!walk.empty()) {
    const std::uint32_t v = walk.back();
    walk.pop_back();
    const OrbCell<T, Dim>& cell = tree.cells[v];
    if (v < first_ && cell.axis >= 0) {
      walk.push_back(2 * v + 1);
      walk.push_back(2 * v);
      continue;
    }
    direct_ = direct_ && (cell.leaves == 1 || v >= first_);
    const int above = levels_ - (std::bit_width(v) - 1);
    const std::uint32_t slot = (v << static_cast<unsigned>(above)) - first_;
    counts[slot / kSlots] += cell.count;
    fill_below(slots, v, static_cast<std::uint16_t>(slot));
    fill_below(leaves, v, cell.first_leaf);
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
    buckets_.push_back({begin, size, tiles, own});
    begin += size;
    tiles += own;
  }
  stream_.synchronize();
}

template <class T, int Dim>
void FirstRound<T, Dim>::label(std::uint32_t* labels) {
  const unsigned grid = std::min(8 * multiprocessors(), blocks_of(n_ / 4 + 4, kLabelThreads));
  code_labels_kernel<<<grid, kLabelThreads, 0, stream_.get()>>>(codes_.data(), n_, leaf_of_code_.data(), labels);
  cuda_check_launch("code_labels_kernel");
}

template <class T, int Dim>
int FirstRound<T, Dim>::move(const T* points, support::DeviceBuffer<T>* moved,
                             support::DeviceBuffer<std::uint32_t>* ids) {
  const cudaStream_t stream = stream_.get();
  const bool twice = levels_ > kLevels;
  const unsigned shift = twice ? static_cast<unsigned>(kLevels) : 0U;
  const auto tiles = static_cast<std::uint32_t>((n_ - 1) / kTile<T, Dim> + 1);
  const std::size_t places = std::size_t{tiles} * kSlots;
  tile_table_.resize_discard(places + (twice ? buckets_.size() * kSlots : 0));
  moved[0].resize_discard(n_ * Dim);
  if (ids != nullptr) ids[0].resize_discard(n_);
  if (twice) low_digits_.resize_discard((n_ + 15) / 16 * 16);
  tile_counts_kernel<T, Dim>
      <<<tiles, kCountThreads, 0, stream>>>(codes_.data(), nullptr, 0, static_cast<std::uint32_t>(n_), first_, shift,
                                            direct_ ? nullptr : slot_of_code_.data(), tile_table_.data());
  cuda_check_launch("tile_counts_kernel");
  sums_before(tile_table_.data(), tile_table_.data(), places, temporary_, stream_);
  const Cell root{0, static_cast<std::uint32_t>(n_), 0, tiles};
  device_cells_.resize_discard(buckets_.size() + 1);
  copy_to_device(device_cells_.data(), &root, 1, stream_);
  copy_to_device(device_cells_.data() + 1, buckets_.data(), buckets_.size(), stream_);
  launch_move<T, Dim, std::uint16_t>(
      tiles, stream,
      {points, moved[0].data(), nullptr, ids != nullptr ? ids[0].data() : nullptr, device_cells_.data(), 1,
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
void FirstRound<T, Dim>::move_within_buckets(const T* from, T* to, const std::uint32_t* ids_in,
                                             std::uint32_t* ids_out) {
  const auto n_cells = static_cast<std::uint32_t>(buckets_.size());
  const std::uint32_t tiles = buckets_.back().first_tile + buckets_.back().tiles;
  tile_counts_kernel<T, Dim><<<tiles, kCountThreads, 0, stream_.get()>>>(low_digits_.data(), device_cells_.data() + 1,
                                                                         n_cells, 0, 0, 0, nullptr, tile_table_.data());
  cuda_check_launch("tile_counts_kernel");
  sums_before(tile_table_.data(), tile_table_.data(), std::size_t{tiles} * kSlots, temporary_, stream_);
  launch_move<T, Dim, std::uint8_t>(
      tiles, stream_.get(),
      {from, to, ids_in, ids_out, device_cells_.data() + 1, n_cells, tile_table_.data(), 0, 0, nullptr},
      low_digits_.data());
}

}  // namespace amrbench::partitioners::gpu
