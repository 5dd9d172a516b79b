#pragma once
// What follows the cuts of the first round (gpu/first_round/first_round.cuh), its only user: labels from codes, and the
// two moves that bring points into the order of the cells, by the upper and by the lower 6 bits of their slots.
#include <bit>
#include <vector>

#include "partitioners/orb/gpu/first_round/brackets.cuh"
#include "partitioners/orb/gpu/move.cuh"
#include "partitioners/orb/tree.hpp"

namespace amrbench::partitioners::gpu {

constexpr unsigned kLabelThreads = 256;

/// Leaves of n points from their codes, four points a thread at a time. 6 bytes a point. Both aligned to 16 bytes.
template <class Code>
__global__ void __launch_bounds__(kLabelThreads)
    code_labels_kernel(const Code* __restrict__ codes, std::uint64_t n, const std::uint32_t* __restrict__ leaf_of_code,
                       std::uint32_t* __restrict__ labels) {
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

template <class T, int Dim>
class CodeMoves {
 public:
  /// n points, whose codes are of a tree of so many levels.
  CodeMoves(std::uint64_t n, int levels, const support::CudaStream& stream)
      : n_(n), levels_(levels), first_(1U << static_cast<unsigned>(levels)), stream_(stream) {
    allow_shared(move_kernel<T, Dim, std::uint8_t>, move_shared<T, Dim>(true));
    allow_shared(move_kernel<T, Dim, std::uint16_t>, move_shared<T, Dim>(true));
  }

  /// A slot is a node of the last level. A cell that ends above it has the first slot below it.
  void make_slots(const OrbTree<T, Dim>& tree) {
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
    const auto tiles_of = [](std::uint32_t count) { return (count - 1) / kTile<T, Dim> + 1; };
    const auto all = static_cast<std::uint32_t>(n_);
    cells_.assign(1, {0, all, 0, tiles_of(all)});
    std::uint32_t begin = 0, tiles = 0;
    for (const std::uint64_t count : counts) {
      if (count == 0) continue;
      const auto size = static_cast<std::uint32_t>(count);
      cells_.push_back({begin, size, tiles, tiles_of(size)});
      begin += size;
      tiles += cells_.back().tiles;
    }
    stream_.synchronize();  // slots and leaves are about to go
  }

  void label(const std::uint16_t* codes, std::uint32_t* labels) {
    const unsigned grid = std::min(8 * multiprocessors(), blocks_of(n_ / 4 + 4, kLabelThreads));
    code_labels_kernel<<<grid, kLabelThreads, 0, stream_.get()>>>(codes, n_, leaf_of_code_.data(), labels);
    cuda_check_launch("code_labels_kernel");
  }

  /// As FirstRound::move().
  int move(std::uint16_t* codes, const T* points, support::DeviceBuffer<T>* moved,
           support::DeviceBuffer<std::uint32_t>* ids) {
    const bool twice = levels_ > kLevels;
    const std::uint32_t tiles = cells_[0].tiles;
    tile_table_.resize_discard((tiles + (twice ? cells_.size() - 1 : 0)) * std::size_t{kSlots});
    for (int k = 0; k < (twice ? 2 : 1); ++k) {
      moved[k].resize_discard(n_ * Dim);
      if (ids != nullptr) ids[k].resize_discard(n_);
    }
    if (twice) low_digits_.resize_discard((n_ + 15) / 16 * 16);
    device_cells_.resize_discard(cells_.size());
    copy_to_device(device_cells_.data(), cells_.data(), cells_.size(), stream_);
    std::uint32_t* const ids_out[2] = {ids != nullptr ? ids[0].data() : nullptr,
                                       ids != nullptr && twice ? ids[1].data() : nullptr};
    move_by_digit<T, Dim>(
        codes, direct_ ? nullptr : slot_of_code_.data(),
        {points, moved[0].data(), nullptr, ids_out[0], device_cells_.data(), 1, cells_[0].count, tile_table_.data(),
         first_, twice ? static_cast<unsigned>(kLevels) : 0U, twice ? low_digits_.data() : nullptr},
        tiles, temporary_, stream_);
    direct_ = true;  // codes name slots now
    if (!twice) return 0;
    move_by_digit<T, Dim>(
        low_digits_.data(), nullptr,
        {moved[0].data(), moved[1].data(), ids_out[0], ids_out[1], device_cells_.data() + 1,
         static_cast<std::uint32_t>(cells_.size() - 1), cells_[0].count, tile_table_.data(), 0, 0, nullptr},
        cells_.back().first_tile + cells_.back().tiles, temporary_, stream_);
    return 1;
  }

 private:
  std::uint64_t n_;
  int levels_;
  std::uint32_t first_;  ///< node of the last level
  const support::CudaStream& stream_;
  bool direct_ = false;      ///< a code names its slot
  std::vector<Cell> cells_;  ///< all points, for the first move; then those of the second one
  support::DeviceBuffer<Cell> device_cells_;
  support::DeviceBuffer<std::uint8_t> low_digits_;
  support::DeviceBuffer<std::uint16_t> slot_of_code_;
  support::DeviceBuffer<std::uint32_t> leaf_of_code_, tile_table_;
  support::DeviceBuffer<unsigned char> temporary_;
};

}  // namespace amrbench::partitioners::gpu
