#pragma once
// Slots for the points of leaves: runs of a few sizes in blocks of memory.
//
// A run has 8, 16, 24 or 32 slots, or one of four sizes between each power of two and the next, so that a quarter at
// most is slack. Runs of one size share blocks, which grow with their number up to 2 MiB, where the kernel has huge
// pages. A block whose last run was returned goes back to the system. take() and give() may be called by several
// threads. Document 001, section 2.8: "point_blocks".
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "support/page_buffer.hpp"

namespace amrbench::partitioners::dynamic {

/// capacity 0: none.
template <class R>
struct Run {
  R* slots = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t block = 0;
};

/// Number and slots of the smallest size of at least `slots`, 1 to 2^32 - 2^29.
struct RunSize {
  std::size_t number;
  std::size_t slots;
};
inline RunSize run_size(std::size_t slots) {
  if (slots <= 32) return {(slots + 7) / 8 - 1, (slots + 7) / 8 * 8};
  const auto power = static_cast<std::size_t>(std::bit_width(slots - 1) - 1);  // 2^power < slots <= 2^(power + 1)
  const std::size_t base = std::size_t{1} << power, step = base / 4;
  const std::size_t quarter = (slots - 1 - base) / step;
  return {4 + (power - 5) * 4 + quarter, base + (quarter + 1) * step};
}

template <class R>
class LeafMemory {
 public:
  /// A run of at least `slots` >= 1 slots, contents undefined.
  Run<R> take(std::size_t slots) {
    const RunSize size = run_size(slots);
    const std::scoped_lock lock(mutex_);
    if (sizes_.size() <= size.number) sizes_.resize(size.number + 1);
    auto& open = sizes_[size.number].open;
    if (open.empty()) open.push_back(add_block(size));
    const std::uint32_t number = open.back();
    Block& block = blocks_[number];
    std::uint32_t run = block.fresh;
    if (block.returned.empty()) {
      ++block.fresh;
    } else {
      run = block.returned.back();
      block.returned.pop_back();
    }
    if (++block.lent == block.runs) open.pop_back();
    return {block.slots.data() + run * size.slots, static_cast<std::uint32_t>(size.slots), number};
  }

  /// Returns a run and forgets it.
  void give(Run<R>& run) {
    if (run.capacity == 0) return;
    const RunSize size = run_size(run.capacity);
    const std::scoped_lock lock(mutex_);
    auto& open = sizes_[size.number].open;
    Block& block = blocks_[run.block];
    if (block.lent == block.runs) open.push_back(run.block);
    if (--block.lent == 0) {
      open.erase(std::find(open.begin(), open.end(), run.block));
      --sizes_[size.number].blocks;
      bytes_ -= block.slots.bytes();
      block = {};
      unused_.push_back(run.block);
    } else {
      block.returned.push_back(
          static_cast<std::uint32_t>(static_cast<std::size_t>(run.slots - block.slots.data()) / size.slots));
    }
    run = {};
  }

  /// Returns everything at once.
  void clear() {
    blocks_.clear();
    sizes_.clear();
    unused_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_ + blocks_.capacity() * sizeof(Block); }

 private:
  struct Block {
    support::PageBuffer<R> slots;
    std::uint32_t runs = 0;
    std::uint32_t lent = 0;
    std::uint32_t fresh = 0;              ///< runs from here on were never lent
    std::vector<std::uint32_t> returned;  ///< those that came back
  };
  struct Size {
    std::vector<std::uint32_t> open;  ///< blocks with room
    std::uint32_t blocks = 0;
  };

  std::uint32_t add_block(const RunSize& size) {
    constexpr std::size_t kLeast = 16;
    const std::size_t bytes = size.slots * sizeof(R);
    const std::size_t most = std::max<std::size_t>(support::kHugePage / bytes, 1);
    const std::size_t runs = std::min(kLeast << std::min<std::uint32_t>(sizes_[size.number].blocks, 20), most);
    ++sizes_[size.number].blocks;
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::uint32_t>(blocks_.size()));
      blocks_.emplace_back();
    }
    const std::uint32_t number = unused_.back();
    unused_.pop_back();
    Block& block = blocks_[number];
    block.slots.resize_discard(runs * size.slots);
    block.runs = static_cast<std::uint32_t>(runs);
    bytes_ += block.slots.bytes();
    return number;
  }

  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<Size> sizes_;
  std::vector<std::uint32_t> unused_;  ///< numbers of blocks that went back
  std::size_t bytes_ = 0;
};

}  // namespace amrbench::partitioners::dynamic
