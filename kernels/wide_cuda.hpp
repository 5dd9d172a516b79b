#pragma once
// Stencils that need edges and corners on a GPU: all tiles in one launch (the twin of kernels/average27.hpp and
// kernels/mixed.hpp), and exact sums of their results.
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
