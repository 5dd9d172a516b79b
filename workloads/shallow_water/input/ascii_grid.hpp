#pragma once
// ESRI ASCII grids (.asc): a header of keys, then numbers row by row from the north.
//
//   ncols 4
//   nrows 6
//   xllcorner 0          or xllcenter, of the south-western cell's centre; m
//   yllcorner 0          or yllcenter
//   cellsize 50          or dx and dy, a line each, as GDAL writes cells that are not square
//   NODATA_value -9999   may be missing; may be nan
//   -9999 -9999 5 2 ...
//
// Keys come a line each, in any order and case. Lines of numbers may break anywhere. Format after ESRI, "ESRI ASCII
// raster format", and GDAL, "AAIGrid - Arc/Info ASCII Grid".
#include <filesystem>
#include <string>

#include "support/atomic_file.hpp"
#include "workloads/shallow_water/input/raster.hpp"

namespace amrbench::workloads::shallow_water {

/// Reads one. Numbers other than the no-data value must be from -1e100 to 1e100. support::InputError, one line naming
/// the file, the line of text and what would be right. Sizes are held against the file's length and the memory left
/// before memory for cells is taken. The file is in memory whole meanwhile. O(bytes).
[[nodiscard]] Raster read_ascii_grid(const std::string& path);

/// The same from text; `path` is what messages name.
[[nodiscard]] Raster parse_ascii_grid(std::string_view text, const std::string& path);

/// A raster as text, numbers as short as they read back equal: reading gives every bit back, NaN for NaN. `cellsize`
/// where cells are square, else `dx` and `dy`. std::invalid_argument where the shape is none (shape_problem), a cell is
/// beyond 1e100, or a cell has the value that stands for no data. O(cells).
[[nodiscard]] std::string ascii_grid_text(const Raster& raster);

/// Writes that text to a file, whole or not at all. support::RunError that names it when it cannot be written.
void write_ascii_grid(const std::filesystem::path& file, const Raster& raster,
                      support::Existing existing = support::Existing::refuse);

}  // namespace amrbench::workloads::shallow_water
