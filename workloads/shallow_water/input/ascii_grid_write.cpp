#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/shallow_water/input/input_text.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

void append_number(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "nan";
    return;
  }
  std::array<char, 32> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_key(std::string& text, std::string_view key, double value) {
  text += key;
  text += ' ';
  append_number(text, value);
  text += '\n';
}

}  // namespace

std::string ascii_grid_text(const Raster& raster) {
  std::string problem = shape_problem(raster);
  if (problem.empty() && raster.cells.size() != static_cast<std::size_t>(raster.columns * raster.rows))
    problem = fmt::format("{} cells, not rows * columns", raster.cells.size());
  if (problem.empty() && std::isinf(raster.no_data)) problem = "no data is infinite";
  if (!problem.empty()) throw std::invalid_argument("raster: " + problem);
  std::string text = fmt::format("ncols {}\nnrows {}\n", raster.columns, raster.rows);
  append_key(text, "xllcorner", raster.west);
  append_key(text, "yllcorner", raster.south);
  if (raster.dx == raster.dy) {
    append_key(text, "cellsize", raster.dx);
  } else {
    append_key(text, "dx", raster.dx);
    append_key(text, "dy", raster.dy);
  }
  append_key(text, "NODATA_value", raster.no_data);
  std::int64_t column = 0;
  for (const double value : raster.cells) {
    if (!std::isnan(value) && (value == raster.no_data || !(std::abs(value) <= kLargestNumber)))
      throw std::invalid_argument(
          fmt::format("raster: a cell is {}, which stands for no data or is beyond 1e100", value));
    append_number(text, std::isnan(value) ? raster.no_data : value);
    column = column + 1 == raster.columns ? 0 : column + 1;
    text += column == 0 ? '\n' : ' ';
  }
  return text;
}

void write_ascii_grid(const std::filesystem::path& file, const Raster& raster, support::Existing existing) {
  support::write_file_atomically(file, ascii_grid_text(raster), existing);
}

}  // namespace amrbench::workloads::shallow_water
