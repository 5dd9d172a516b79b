#pragma once
// Which slots split into which, and which merge: plain data for every back end.
#include <array>
#include <cstdint>

namespace amrbench::kernels {

/// The block in slot `from` becomes eight children, in 2-D four (the first entries), child by octant in slot
/// to[octant]. to[0] may be `from`; the other slots are written only.
struct SplitJob {
  std::int32_t from = 0;
  std::array<std::int32_t, 8> to{};
};
/// Eight children, in 2-D four, by octant, become the block in slot `to`, which may be from[0] and none of the others.
struct MergeJob {
  std::array<std::int32_t, 8> from{};
  std::int32_t to = 0;
};

}  // namespace amrbench::kernels
