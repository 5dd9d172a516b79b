#pragma once
// How fast the averages are on a GPU with blocks of 1 to kMaxLanes lanes: for make_layout(). Needs no CUDA.
#include <array>

#include "kernels/layout.hpp"

namespace amrbench::kernels {

/// Hundredths of the copy bandwidth that are reached on an H200 with so many lanes, of cubes whose edge is next to the
/// blocks' mean one; one lane has a little less, for refined meshes. For blocks in three dimensions. average7: by the
/// kernel alone (results/reference/h200/ring.txt, end); average27: by whole runs with six chunks (lanes.txt and
/// octets.txt there).
[[nodiscard]] LaneSpeeds average7_lane_speeds(const std::array<int, 3>& cells);
[[nodiscard]] LaneSpeeds average27_lane_speeds(const std::array<int, 3>& cells);

}  // namespace amrbench::kernels
