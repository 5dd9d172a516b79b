#pragma once
// Stencils that need edges and corners on a GPU (the twin of kernels/average27.hpp and kernels/mixed.hpp), and exact
// sums of their results.
//
// In:  tiles, which are blocks with one layer of ghosts around them (kernels/tile.hpp), all ghosts filled; tile i lies
//      at tiles + i * layout.values().
// Out: the new values without ghosts, [chunk][z][y][x][lane], those of tile i in slot i of a buffer.
//
// average27: one launch, a thread block a tile and chunk; a thread takes cell after cell and reads its 27 values
// through the caches. mixed: one launch, a thread block a tile at a time. The variables of a tile depend on one
// another, so they are computed one after the other, with all threads on the cells or lines of one variable and a
// barrier behind each. The bits are the CPU's: same functions, same order of operations.
// All pointers are device memory. Errors: RunError when a launch fails. Asynchronous.
#include <cstdint>

#include "kernels/device_sum.hpp"
#include "kernels/mixed.hpp"
#include "kernels/tile.hpp"
#include "support/cuda.hpp"
#include "support/device_slots.hpp"

namespace amrbench::kernels {

/// The average of tiles 0 .. count - 1 (lanes as the blocks') into slots 0 .. count - 1 of `out`.
void launch_average27(const TileLayout& layout, const double* tiles, int count, const support::DeviceSlots& out,
                      const support::CudaStream& stream);

/// miniAMR's mixed work. Owns the constants and the scratch memory of the thread blocks that work at a time.
class DeviceMixed {
 public:
  /// `layout`: by variable (one lane).
  DeviceMixed(const TileLayout& layout, const support::CudaStream& stream);
  /// One stage of tiles 0 .. count - 1, in place, and their insides into slots 0 .. count - 1 of `out`.
  void launch(std::int64_t stage, double* tiles, int count, const support::DeviceSlots& out,
              const support::CudaStream& stream);
  [[nodiscard]] std::size_t memory_bytes() const { return constants_.bytes() + scratch_.bytes(); }

 private:
  TileLayout layout_;
  int groups_ = 1;  ///< thread blocks at a time
  int fours_ = 0;   ///< variables / 4
  support::DeviceBuffer<double> constants_;
  support::DeviceBuffer<double> scratch_;
};

/// Adds all values of slots 0 .. count - 1 to the words of `sums`.
void launch_block_sums(const BlockLayout& layout, int count, const support::DeviceSlots& blocks,
                       const DeviceSumView& sums, const support::CudaStream& stream);

}  // namespace amrbench::kernels
