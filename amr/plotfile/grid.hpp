#pragma once
// A grid's values as a plotfile holds them, [variable][z][y][x] without padding: made from a block, added up for the
// parent. Local.
#include <cstddef>
#include <utility>

#include "kernels/layout.hpp"

namespace amrbench::amr::plotfile {

/// `out`: block_cells() * variables doubles.
void pack_block(const kernels::BlockLayout& layout, const double* block, double* out);

/// Makes each 2 x 2 x 2 cells of `child` (in 2-D 2 x 2) one cell of its octant (bit 0 = upper half in x, 1 = y, 2 = z)
/// of `parent`: their sum, to the bit as kernels::merge_blocks does, or their mean. Other octants are left alone.
void restrict_grid(const kernels::BlockLayout& layout, const double* child, int octant, bool sums, double* parent);

/// Copies an octant of a grid, block_cells() / 8 * variables doubles, out of it or into it.
void take_octant(const kernels::BlockLayout& layout, const double* grid, int octant, double* out);
void put_octant(const kernels::BlockLayout& layout, const double* from, int octant, double* grid);

/// Least and greatest value that is a number, infinities cut to the largest double, {0, 0} where there is none: readers
/// parse them, and some refuse "nan" and "inf".
[[nodiscard]] std::pair<double, double> finite_extremes(const double* values, std::size_t n);

}  // namespace amrbench::amr::plotfile
