#pragma once
// Where in a block there is water, as neighbours look at it: in the two layers of cells at each half of each face.
#include <cstdint>

#include "sfc/host_device.hpp"

namespace amrbench::kernels::shallow_water {

/// Bit 2 face + half: some in the two layers at that half of the face, the upper one along it is 1; bit 8: some
/// anywhere.
using WaterMarks = std::uint16_t;
inline constexpr WaterMarks kWaterAnywhere = 1U << 8;

/// Those of both halves, or of one.
constexpr WaterMarks marks_of_face(int face) {
  return static_cast<WaterMarks>(3U << (2 * face));
}
constexpr WaterMarks marks_of_half(int face, int half) {
  return static_cast<WaterMarks>(1U << (2 * face + half));
}

/// What water in cell (x, y) of n x n marks.
AMRBENCH_HD constexpr unsigned water_marks(int n, int x, int y) {
  const int half_x = 2 * x >= n ? 1 : 0, half_y = 2 * y >= n ? 1 : 0;
  unsigned marks = kWaterAnywhere;
  if (x < 2) marks |= 1U << half_y;
  if (x >= n - 2) marks |= 1U << (2 + half_y);
  if (y < 2) marks |= 1U << (4 + half_x);
  if (y >= n - 2) marks |= 1U << (6 + half_x);
  return marks;
}

}  // namespace amrbench::kernels::shallow_water
