#pragma once
// A map of one quantity on a rectangle of equal cells: the bed's height, a depth, a roughness.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace amrbench::workloads::shallow_water {

/// Most cells that a raster may have: 16 GiB of them.
inline constexpr std::int64_t kMostCells = std::int64_t{1} << 31;

/// Cells as the mean of the quantity over each. Owns its cells.
struct Raster {
  std::string file;           ///< where it comes from, for messages
  std::int64_t columns = 0;   ///< west to east
  std::int64_t rows = 0;      ///< north to south
  double west = 0;            ///< x of the western edge (not of a cell's centre), m
  double south = 0;           ///< y of the southern edge, m
  double dx = 0;              ///< width of a cell, m
  double dy = 0;              ///< height of a cell, m
  double no_data = -9999;     ///< what stands in files for a cell without data; may be NaN
  std::vector<double> cells;  ///< rows * columns, row by row from the north; NaN: no data

  /// Row 0 is the northernmost, column 0 the westernmost.
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const {
    return cells[static_cast<std::size_t>(row * columns + column)];
  }
  [[nodiscard]] double east() const { return west + static_cast<double>(columns) * dx; }
  [[nodiscard]] double north() const { return south + static_cast<double>(rows) * dy; }
};

/// What is wrong with sizes and place of a raster, as the end of a message; empty when nothing is: 1 to kMostCells
/// cells, edges and cell sizes of at most 1e100, cell sizes above 0 and not lost beside the edges. Does not look at the
/// cells. O(1).
[[nodiscard]] std::string shape_problem(const Raster& raster);

/// Reads a raster: GeoTIFF (geotiff.hpp) by the ending .tif or .tiff, else an ESRI ASCII grid (ascii_grid.hpp),
/// whatever its ending. support::InputError as said there.
[[nodiscard]] Raster read_raster(const std::string& path);

/// What values of a quantity may be.
struct ValueRange {
  std::string_view name;
  std::string_view unit;  ///< empty: none
  double low;
  double high;
};

/// The earth's deepest trench and highest mountain, and something beside.
inline constexpr ValueRange kBedRange{"bed", "m", -12000, 9000};
inline constexpr ValueRange kDepthRange{"depth", "m", 0, 12000};
/// Manning's n; its unit is s/m^(1/3).
inline constexpr ValueRange kRoughnessRange{"Manning roughness", "s/m^(1/3)", 0, 1};

/// support::InputError naming file, row and column (counted from 1, from the north-west) of the first cell outside
/// low .. high, both included, and what would be right. Cells without data are passed over. `name` is of the quantity.
/// O(cells).
void check_range(const Raster& raster, std::string_view name, double low, double high, std::string_view unit = {});

/// The same for a quantity above.
void check_range(const Raster& raster, const ValueRange& range);

}  // namespace amrbench::workloads::shallow_water
