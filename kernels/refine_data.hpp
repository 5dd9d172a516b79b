#pragma once
// What happens to a block's values when it is split or merged (docs/miniamr.md: variables are extensive).
#include <array>

#include "kernels/layout.hpp"

namespace amrbench::kernels {

/// Child `octant` (bit 0 = upper half in x, 1 = y, 2 = z) of `parent`: every cell of its octant becomes 2 x 2 x 2 cells
/// with an eighth each. Exact in binary floating point. Both are block_values() doubles, not overlapping, but for
/// octant 0, whose child may take the parent's place: it is the last of the eight to be made then.
void split_block(const BlockLayout& layout, const double* parent, int octant, double* child);

/// The parent of 8 children, indexed by octant: each cell the sum of 8, by pairs in x, then in y, then in z. Summed so,
/// eight equal values give exactly eight times one: merging what was split gives the old values back to the bit. The
/// parent may take the place of child 0; otherwise it overlaps none.
void merge_blocks(const BlockLayout& layout, const std::array<const double*, 8>& children, double* parent);

}  // namespace amrbench::kernels
