// Rasters and inflows: what is read keeps what its header promises, is written and read back to the bit, and gives
// values within its own.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/fuzz/targets.hpp"
#include "workloads/shallow_water/input/ascii_grid.hpp"
#include "workloads/shallow_water/input/raster_sampler.hpp"
#include "workloads/shallow_water/input/time_series.hpp"

namespace amrbench::fuzz {

namespace {

namespace sw = workloads::shallow_water;

bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Among the values read, up to rounding; NaN where nothing was read.
void within(double value, double low, double high, double scale) {
  promise(std::isnan(value) || (value >= low - 1e-6 * scale && value <= high + 1e-6 * scale), "a value is made up");
}

void sample(const sw::Raster& raster) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double cell : raster.cells)
    if (!std::isnan(cell)) low = std::min(low, cell), high = std::max(high, cell);
  const double scale = std::max(std::abs(low), std::abs(high));
  for (const sw::SmallBoxes small : {sw::SmallBoxes::mean, sw::SmallBoxes::bilinear}) {
    const sw::RasterSampler sampler(raster, small);
    for (const double part : {0.01, 0.4, 1.5, 1000.0}) {
      sw::RasterBox box{raster.west - raster.dx / 4, 0, raster.south + raster.dy / 3, 0};
      box.x1 = box.x0 + part * raster.dx;
      box.y1 = box.y0 + part * raster.dy;
      if (!(box.x0 < box.x1 && box.y0 < box.y1)) continue;
      within(sampler.value(box), low, high, scale);
      static_cast<void>(sampler.covers(box));
    }
    const sw::RasterBox whole{raster.west, raster.east(), raster.south, raster.north()};
    const double mean = sampler.mean(whole);
    promise(std::isnan(mean) == !(low <= high), "a mean of data is missing");
    within(mean, low, high, scale);
  }
}

}  // namespace

void raster(std::string_view bytes) {
  sw::Raster read;
  if (!accepts([&] { read = sw::parse_ascii_grid(bytes, "raster.asc"); })) return;
  promise(read.columns > 0 && read.rows > 0, "no cells");
  promise(read.cells.size() == static_cast<std::size_t>(read.columns * read.rows), "cells are missing");
  promise(std::none_of(read.cells.begin(), read.cells.end(), [](double v) { return std::isinf(v); }), "not finite");
  const sw::Raster again = sw::parse_ascii_grid(sw::ascii_grid_text(read), "raster.asc");
  promise(again.columns == read.columns && again.rows == read.rows && same_number(again.west, read.west) &&
              same_number(again.south, read.south) && same_number(again.dx, read.dx) &&
              same_number(again.dy, read.dy) && same_number(again.no_data, read.no_data),
          "another shape is read back");
  promise(std::equal(read.cells.begin(), read.cells.end(), again.cells.begin(), again.cells.end(), same_number),
          "other cells are read back");
  sample(read);
  accepts([&] { sw::check_range(read, sw::kBedRange); });
}

void time_series(std::string_view bytes) {
  std::optional<sw::TimeSeries> series;
  if (!accepts([&] { series.emplace(sw::parse_time_series(bytes, "inflow.csv")); })) return;
  const std::vector<double>&times = series->times(), &values = series->values();
  promise(!times.empty() && times.size() == values.size(), "no rows");
  const auto [low, high] = std::ranges::minmax(values);
  const double scale = std::max(std::abs(low), std::abs(high));
  for (std::size_t i = 0; i < times.size(); ++i) {
    promise(series->value(times[i]) == values[i], "another value at its time");
    const double next = i + 1 < times.size() ? times[i + 1] : times[i] + 1;
    const double between = series->value(times[i] + (next - times[i]) / 3);
    promise(std::isfinite(between), "no value between");
    within(between, low, high, scale);
    promise(std::isfinite(series->integral(times.front() - 1, next)), "no integral");
  }
}

}  // namespace amrbench::fuzz
