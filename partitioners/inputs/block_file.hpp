#pragma once
// Files of block centres (blocks:PATH, written by write_blocks() of point_input.hpp): what their first line says, and
// which points are centres of its blocks.
#include <span>

#include "partitioners/inputs/number_file.hpp"
#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// The grid of the comment "root NX NY [NZ] max_level L" in the file's first line. support::InputError that says what
/// is wrong with it, or with the number of columns.
BlockGrid read_block_grid(const TableForm& form);

/// Whether a block of the grid has its centre there. centre: grid.dim coordinates.
bool is_block_centre(const BlockGrid& grid, std::span<const double> centre);

}  // namespace amrbench::partitioners
