#pragma once
// miniAMR's mixed work on a GPU (the twin of kernels/mixed/mixed.hpp).
//
// In:  blocks where they lie, and what lies around them (kernels/device_surroundings.hpp), all ghosts filled.
// Out: the new values, those of block i in slot i of a buffer. Layouts are of one lane: [variable][z][y][x].
//
// The variables depend on one another, but only at the same place of the four groups, and on the first two. In stages
// of kinds 0 to 3 a thread block finds variables 0 and 1 of its cells, and those behind the groups, a thread a cell;
// then the groups follow, a thread a column and place. In kinds 1 to 3 columns lie along the axis of transport, and
// groups 2 and 3 are a cell behind group 1; rows along x go through shared memory (mixed_rows.cuh). In kinds 4 and 5 a
// first launch does the variables that have no group, a second one all groups in shared memory: by planes
// (mixed_couple.cuh), or small blocks as a whole (mixed_tile.cuh); planes that do not fit are done group after group.
// Neighbours in a warp are cells beside one another, of which a sector of memory has four. The bits are the CPU's: same
// formulas, same order of operations.
//
// Bytes: every value is read and written once, but for what lies around the columns and planes of a thread block.
// All pointers are device memory. Errors: RunError when a launch fails. Asynchronous.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/device_surroundings.hpp"
#include "kernels/mixed/mixed.hpp"
#include "kernels/wide_faces_cuda.hpp"
#include "support/cuda.hpp"

namespace amrbench::kernels {

namespace detail {

/// How thread blocks share out a block in stages of kinds 4 and 5 (mixed_shape.cuh).
struct CoupleShape {
  bool tile = false;                  ///< a block lies in shared memory as a whole
  int places = 0;                     ///< of a thread block; 0: nothing fits
  int width = 0;                      ///< threads for a row of cells
  int threads = 0;                    ///< of a thread block
  int row = 0, plane = 0, place = 0;  ///< values in shared memory from one to the next
  int ring = 0;                       ///< planes of a group there
  std::size_t bytes = 0;
};

}  // namespace detail

/// Owns the constants.
class DeviceMixed {
 public:
  /// most_shared: bytes of shared memory that a thread block takes at most; fewer than the device has for tests.
  DeviceMixed(const BlockLayout& layout, const support::CudaStream& stream,
              std::size_t most_shared = std::numeric_limits<std::size_t>::max());
  /// One stage of the `count` blocks in `blocks` (null: 0 .. count - 1) into their slots of `out`. Returns how many
  /// kernels it launched.
  int launch(std::int64_t stage, const DeviceSurroundings& around, const std::int32_t* blocks, int count,
             const support::DeviceSlots& out, const support::CudaStream& stream);
  /// Of the ghosts across an axis, those that the stage looks at: in stages of kinds 0 to 3 groups look along the axis
  /// of transport at most, so of the others only variable 0 and those behind the groups count.
  [[nodiscard]] GhostChunks ghosts(std::int64_t stage, int axis) const;
  [[nodiscard]] std::size_t memory_bytes() const { return constants_.bytes(); }

 private:
  BlockLayout layout_;
  int m_;  ///< variables of a group
  std::size_t shared_;
  detail::CoupleShape couple_;
  double a1_, a0_first_;  ///< of the constants
  support::DeviceBuffer<double> constants_;
};

}  // namespace amrbench::kernels
