#include "workloads/shallow_water/input/raster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "support/error.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/shallow_water/input/geotiff.hpp"
#include "workloads/shallow_water/input/input_text.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

std::string axis_problem(std::string_view axis, double edge, double cell, std::int64_t n) {
  if (!(cell > 0) || !(cell <= kLargestNumber))
    return fmt::format("cells are {} m along {}; must be above 0 and at most 1e100", cell, axis);
  if (!(std::abs(edge) <= kLargestNumber))
    return fmt::format("the edge lies at {} = {} m; must be from -1e100 to 1e100", axis, edge);
  const double far = edge + static_cast<double>(n) * cell;
  if (!(edge + cell > edge) || !(far > far - cell))
    return fmt::format("cells of {} m are lost beside {} = {} m; nearer edges or larger cells are needed", cell, axis,
                       std::abs(far) > std::abs(edge) ? far : edge);
  return {};
}

}  // namespace

std::string shape_problem(const Raster& raster) {
  if (raster.columns < 1 || raster.rows < 1 || raster.columns > kMostCells || raster.rows > kMostCells ||
      raster.columns > kMostCells / raster.rows)
    return fmt::format("{} rows of {} columns; both must be positive and there may be 2^31 cells at most", raster.rows,
                       raster.columns);
  std::string problem = axis_problem("x", raster.west, raster.dx, raster.columns);
  return problem.empty() ? axis_problem("y", raster.south, raster.dy, raster.rows) : problem;
}

Raster read_raster(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".tif" || ending == ".tiff" ? read_geotiff(path) : read_ascii_grid(path);
}

void check_range(const Raster& raster, std::string_view name, double low, double high, std::string_view unit) {
  // No data is neither below nor above.
  const auto first = std::find_if(raster.cells.begin(), raster.cells.end(),
                                  [low, high](double value) { return value < low || value > high; });
  if (first == raster.cells.end()) return;
  const std::int64_t cell = first - raster.cells.begin();
  throw support::InputError(
      fmt::format("{}: row {}, column {} (from 1, from the north-west): {} {}{}{} must be from {} to {}; is its unit "
                  "another, or is "
                  "it the value of cells without data?",
                  raster.file, cell / raster.columns + 1, cell % raster.columns + 1, name, *first,
                  unit.empty() ? "" : " ", unit, low, high));
}

void check_range(const Raster& raster, const ValueRange& range) {
  check_range(raster, range.name, range.low, range.high, range.unit);
}

}  // namespace amrbench::workloads::shallow_water
