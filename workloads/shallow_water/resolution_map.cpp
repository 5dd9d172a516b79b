#include "workloads/shallow_water/resolution_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/error.hpp"
#include "workloads/shallow_water/input/raster_sampler.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

constexpr double kSlack = 1e-9;  // sizes and edges that differ by less are the same
constexpr double kLargestSize = 1e9;

}  // namespace

ResolutionMap::ResolutionMap(const std::string& file, const Setup& setup, const std::array<double, 2>& coarsest,
                             int max_level)
    : raster_(read_raster(file)) {
  const RasterBox domain{setup.low[0], setup.high[0], setup.low[1], setup.high[1]};
  if (!RasterSampler(raster_).covers(domain))
    throw support::InputError(fmt::format(
        "{}: covers [{}, {}] x [{}, {}] m, not all of the domain's [{}, {}] x [{}, {}] m", raster_.file, raster_.west,
        raster_.east(), raster_.south, raster_.north(), domain.x0, domain.x1, domain.y0, domain.y1));
  check_range(raster_, "wanted cell size", kSlack, kLargestSize, "m");
  const double size = std::max(coarsest[0], coarsest[1]), finest = std::ldexp(size, -max_level);
  levels_.reserve(raster_.cells.size());
  for (const double wanted : raster_.cells) {
    if (wanted < finest * (1.0 - kSlack))
      throw support::InputError(fmt::format("{}: asks for cells of {} m; with mesh.max_level = {} they are of {} m",
                                            raster_.file, wanted, max_level, finest));
    int level = 0;
    while (level < max_level && std::ldexp(size, -level) > wanted * (1.0 + kSlack)) ++level;
    levels_.push_back(static_cast<std::int8_t>(level));
  }
  raster_.cells = {};
}

int ResolutionMap::level(const std::array<double, 2>& low, const std::array<double, 2>& high) const {
  const auto cell = [](double x, double edge, double size, std::int64_t cells, double slack) {
    return std::clamp(static_cast<std::int64_t>(std::floor((x - edge) / size + slack)), std::int64_t{0}, cells - 1);
  };
  const std::int64_t first_column = cell(low[0], raster_.west, raster_.dx, raster_.columns, kSlack);
  const std::int64_t last_column = cell(high[0], raster_.west, raster_.dx, raster_.columns, -kSlack);
  // Rows count from the north.
  const std::int64_t first_row = raster_.rows - 1 - cell(high[1], raster_.south, raster_.dy, raster_.rows, -kSlack);
  const std::int64_t last_row = raster_.rows - 1 - cell(low[1], raster_.south, raster_.dy, raster_.rows, kSlack);
  std::int8_t most = 0;
  for (std::int64_t row = first_row; row <= last_row; ++row) {
    const auto* const at = levels_.data() + row * raster_.columns;
    most = std::max(most, *std::max_element(at + first_column, at + last_column + 1));
  }
  return most;
}

}  // namespace amrbench::workloads::shallow_water
