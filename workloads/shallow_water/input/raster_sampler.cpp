#include "workloads/shallow_water/input/raster_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace amrbench::workloads::shallow_water {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kOnALine = 1e-9;  ///< of a raster cell

void check_box(const RasterBox& box) {
  if (!(std::isfinite(box.x0) && std::isfinite(box.x1) && std::isfinite(box.y0) && std::isfinite(box.y1)) ||
      !(box.x0 < box.x1) || !(box.y0 < box.y1))
    throw std::invalid_argument(fmt::format("raster: no box: x {} to {}, y {} to {}", box.x0, box.x1, box.y0, box.y1));
}

/// Cells that a stretch touches along one axis, and which part of the first and of the last. Those between are whole.
struct Touched {
  std::int64_t first = 0;
  std::int64_t last = -1;  ///< below first: none
  double first_part = 1;
  double last_part = 1;  ///< not used where first is last
  [[nodiscard]] bool none() const { return last < first; }
};

double on_lines(double u) {
  const double line = std::nearbyint(u);
  return std::abs(u - line) <= kOnALine ? line : u;
}

Touched touched(double from, double to, double edge, double cell, std::int64_t n) {
  const auto end = static_cast<double>(n);
  double low = on_lines((from - edge) / cell);
  double high = on_lines((to - edge) / cell);
  // A stretch too short for two places counts as one cell.
  if (!(low < high))
    return low >= 0 && low < end ? Touched{static_cast<std::int64_t>(low), static_cast<std::int64_t>(low)} : Touched{};
  low = std::clamp(low, 0.0, end);
  high = std::clamp(high, 0.0, end);
  if (!(low < high)) return {};
  Touched cells;
  cells.first = static_cast<std::int64_t>(low);
  cells.last = static_cast<std::int64_t>(std::ceil(high)) - 1;
  cells.first_part = std::min(high, static_cast<double>(cells.first + 1)) - low;
  cells.last_part = high - static_cast<double>(cells.last);
  return cells;
}

/// Sum of values less `base` by weight, and the weights' sum.
struct Weighed {
  double sum = 0;
  double weight = 0;
  void add(double value, double base, double part) {
    if (std::isnan(value)) return;
    sum += part * (value - base);
    weight += part;
  }
};

/// A row's cells. Whole ones in four sums, by column, so that additions need not wait for each other.
Weighed row_sum(const double* row, const Touched& columns, double base) {
  Weighed all;
  all.add(row[columns.first], base, columns.first_part);
  if (columns.last > columns.first) {
    std::array<double, 4> sum{}, weight{};
    std::int64_t c = columns.first + 1;
    for (; c + 4 <= columns.last; c += 4)
      for (std::size_t lane = 0; lane < 4; ++lane) {
        const double value = row[static_cast<std::size_t>(c) + lane];
        const bool data = value == value;
        sum[lane] += data ? value - base : 0;
        weight[lane] += data ? 1 : 0;
      }
    all.sum += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    all.weight += (weight[0] + weight[1]) + (weight[2] + weight[3]);
    for (; c < columns.last; ++c) all.add(row[c], base, 1);
    all.add(row[columns.last], base, columns.last_part);
  }
  return all;
}

/// Where a place lies between centres along one axis: of cells `low` and `high`, and the share of `high`.
struct Between {
  std::size_t low, high;
  double share;
};

Between between(double place, double edge, double cell, std::int64_t n) {
  const double last = static_cast<double>(n - 1);
  const double s = std::clamp((place - edge) / cell - 0.5, 0.0, last);
  const double low = std::floor(s);
  return {static_cast<std::size_t>(low), static_cast<std::size_t>(std::min(low + 1, last)), s - low};
}

bool inside(double from, double to, double edge, double cell, std::int64_t n, double slack) {
  return (from - edge) / cell >= -slack && (to - edge) / cell <= static_cast<double>(n) + slack;
}

}  // namespace

RasterSampler::RasterSampler(const Raster& raster, SmallBoxes small) : raster_(raster), small_(small) {
  std::string problem = shape_problem(raster);
  if (problem.empty() && raster.cells.size() != static_cast<std::size_t>(raster.columns * raster.rows))
    problem = fmt::format("{} cells, not rows * columns", raster.cells.size());
  if (!problem.empty()) throw std::invalid_argument("raster: " + problem);
}

double RasterSampler::value(const RasterBox& box) const {
  if (small_ == SmallBoxes::mean) return mean(box);
  check_box(box);
  const double width = (box.x1 - box.x0) / raster_.dx, height = (box.y1 - box.y0) / raster_.dy;
  if (!(width <= 1 + kOnALine && height <= 1 + kOnALine)) return mean(box);
  return bilinear(box.x0 + (box.x1 - box.x0) / 2, box.y0 + (box.y1 - box.y0) / 2);
}

double RasterSampler::mean(const RasterBox& box) const {
  check_box(box);
  const Touched columns = touched(box.x0, box.x1, raster_.west, raster_.dx, raster_.columns);
  const Touched rows = touched(box.y0, box.y1, raster_.south, raster_.dy, raster_.rows);  // from the south
  if (columns.none() || rows.none()) return kNone;
  const auto row = [&](std::int64_t from_south) {
    return raster_.cells.data() + (raster_.rows - 1 - from_south) * raster_.columns;
  };
  // Differences from one of the values: nothing is lost of those that differ little from each other.
  double base = kNone;
  for (std::int64_t r = rows.first; r <= rows.last && std::isnan(base); ++r) {
    const double* const end = row(r) + columns.last + 1;
    const double* const data = std::find_if(row(r) + columns.first, end, [](double v) { return !std::isnan(v); });
    if (data != end) base = *data;
  }
  if (std::isnan(base)) return kNone;
  Weighed all;
  for (std::int64_t r = rows.first; r <= rows.last; ++r) {
    const double part = r == rows.first ? rows.first_part : r == rows.last ? rows.last_part : 1;
    const Weighed one = row_sum(row(r), columns, base);
    all.sum += part * one.sum;
    all.weight += part * one.weight;
  }
  return base + all.sum / all.weight;
}

double RasterSampler::bilinear(double x, double y) const {
  if (!inside(x, x, raster_.west, raster_.dx, raster_.columns, kOnALine) ||
      !inside(y, y, raster_.south, raster_.dy, raster_.rows, kOnALine))
    return kNone;
  const Between u = between(x, raster_.west, raster_.dx, raster_.columns);
  const Between v = between(y, raster_.south, raster_.dy, raster_.rows);
  const auto columns = static_cast<std::size_t>(raster_.columns), top = static_cast<std::size_t>(raster_.rows) - 1;
  const double* const low = raster_.cells.data() + (top - v.low) * columns;
  const double* const high = raster_.cells.data() + (top - v.high) * columns;
  const std::array<double, 4> value{low[u.low], low[u.high], high[u.low], high[u.high]};
  const std::array<double, 4> part{(1 - u.share) * (1 - v.share), u.share * (1 - v.share), (1 - u.share) * v.share,
                                   u.share * v.share};
  double base = kNone;
  Weighed all;
  for (std::size_t i = 0; i < 4; ++i) {
    if (part[i] == 0 || std::isnan(value[i])) continue;
    if (std::isnan(base)) base = value[i];
    all.add(value[i], base, part[i]);
  }
  return all.weight > 0 ? base + all.sum / all.weight : kNone;
}

bool RasterSampler::covers(const RasterBox& box) const {
  check_box(box);
  constexpr double kSlack = 1e-6;
  return inside(box.x0, box.x1, raster_.west, raster_.dx, raster_.columns, kSlack) &&
         inside(box.y0, box.y1, raster_.south, raster_.dy, raster_.rows, kSlack);
}

}  // namespace amrbench::workloads::shallow_water
