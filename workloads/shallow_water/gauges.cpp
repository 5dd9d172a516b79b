#include "workloads/shallow_water/gauges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// A cell that holds a gauge or touches it.
struct Found {
  std::int64_t gauge;
  double x, y;  ///< of its centre
  double h, z, hu, hv;
};

/// The one or two cells of a row of n, the first at `low`, that hold a place: on an edge both.
std::array<int, 2> cells_at(double place, double low, double size, int n) {
  constexpr double kEdge = 1e-9;
  const double at = (place - low) / size;
  if (!(at >= -kEdge && at <= n + kEdge)) return {0, -1};
  const auto first = static_cast<int>(std::ceil(at - kEdge)) - 1, last = static_cast<int>(std::floor(at + kEdge));
  return {std::clamp(std::min(first, last), 0, n - 1), std::clamp(std::max(first, last), 0, n - 1)};
}

}  // namespace

Gauges::Gauges(std::span<const GaugeConfig> gauges, const Problem& problem, double interval)
    : problem_(problem), interval_(interval), places_(gauges.begin(), gauges.end()) {
  const Setup& setup = problem.solution().setup();
  std::set<std::string> names;
  for (std::size_t k = 0; k < places_.size(); ++k) {
    GaugeConfig& gauge = places_[k];
    if (gauge.name.empty()) gauge.name = fmt::format("{}", k + 1);
    if (gauge.name.find_first_of(",\"\n\r") != std::string::npos)
      throw support::InputError(
          fmt::format("gauge.{}.name: no commas, quotes or line ends, which a CSV file holds", k));
    if (!names.insert(gauge.name).second)
      throw support::InputError(fmt::format("gauge.{}.name = \"{}\": another gauge has it", k, gauge.name));
    for (std::size_t d = 0; d < 2; ++d)
      if (!(gauge.at[d] >= setup.low[d] && gauge.at[d] <= setup.high[d]))
        throw support::InputError(fmt::format("gauge.{}.at = [{}, {}]: outside the domain, [{}, {}] x [{}, {}] m", k,
                                              gauge.at[0], gauge.at[1], setup.low[0], setup.high[0], setup.low[1],
                                              setup.high[1]));
  }
}

void Gauges::observe(const amr::Mesh<2>& mesh, const amr::Fields& fields, double before, double now) {
  if (places_.empty() || (now > 0.0 && !(std::floor(now / interval_) > std::floor(before / interval_)))) return;
  const Setup& setup = problem_.solution().setup();
  const int n = problem_.cells();
  const std::size_t plane = std::size_t(n) * std::size_t(n);
  std::vector<Found> mine;
  std::vector<std::int32_t> blocks;
  std::vector<std::size_t> wanted;  // their gauges
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto shape = problem_.shape(mesh.level(i));
    const std::array<double, 2> size{shape.dx * n, shape.dy * n};
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const auto touches = [&](std::size_t d) {
        const auto cells = cells_at(places_[k].at[d], setup.low[d] + mesh.coord(i)[d] * size[d], size[d] / n, n);
        return cells[0] <= cells[1];
      };
      if (!touches(0) || !touches(1)) continue;
      blocks.push_back(i);
      wanted.push_back(k);
    }
  }
  const auto reading = fields.make_reading();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::int32_t i = blocks[b];
    fields.read(std::span(&i, 1), *reading);
    const double* const values = reading->values(0);
    const auto shape = problem_.shape(mesh.level(i));
    const auto& at = places_[wanted[b]].at;
    const auto xs = cells_at(at[0], setup.low[0] + mesh.coord(i)[0] * shape.dx * n, shape.dx, n);
    const auto ys = cells_at(at[1], setup.low[1] + mesh.coord(i)[1] * shape.dy * n, shape.dy, n);
    for (int y = ys[0]; y <= ys[1]; ++y) {
      for (int x = xs[0]; x <= xs[1]; ++x) {
        const double* const cell = values + std::size_t(y) * std::size_t(n) + std::size_t(x);
        const auto centre = problem_.centre(mesh, i, x, y);
        mine.push_back({static_cast<std::int64_t>(wanted[b]), centre[0], centre[1], cell[0],
                        cell[kernels::shallow_water::kBed * plane], cell[plane], cell[2 * plane]});
      }
    }
  }
  // Added up in one order whoever has them, so that every number of ranks gives the same bits.
  std::vector<Found> all = support::all_gather_v<Found>(mesh.comm(), mine);
  std::sort(all.begin(), all.end(),
            [](const Found& a, const Found& b) { return std::tie(a.gauge, a.y, a.x) < std::tie(b.gauge, b.y, b.x); });
  samples_.push_back(now);
  const std::size_t first = samples_.size();
  samples_.resize(first + kValues * places_.size());
  std::vector<int> counts(places_.size(), 0);
  for (const Found& cell : all) {
    const auto k = static_cast<std::size_t>(cell.gauge);
    const bool is_wet = cell.h > problem_.physics().dry_depth;
    const std::array<double, kValues> values{cell.h, cell.h + cell.z, is_wet ? cell.hu / cell.h : 0.0,
                                             is_wet ? cell.hv / cell.h : 0.0};
    for (std::size_t v = 0; v < kValues; ++v) samples_[first + k * kValues + v] += values[v];
    ++counts[k];
  }
  for (std::size_t k = 0; k < places_.size(); ++k)
    for (std::size_t v = 0; v < kValues; ++v) samples_[first + k * kValues + v] /= std::max(1, counts[k]);
}

void Gauges::set_samples(std::span<const double> samples) {
  if (samples.size() % row() != 0)
    throw support::InputError("the checkpoint's samples do not fit the configuration's [[gauge]]");
  samples_.assign(samples.begin(), samples.end());
}

std::string Gauges::csv() const {
  std::string text = "time_s,gauge,x_m,y_m,depth_m,surface_m,velocity_x_m_s,velocity_y_m_s\n";
  for (std::size_t at = 0; at < samples_.size(); at += row()) {
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const double* const v = samples_.data() + at + 1 + k * kValues;
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", samples_[at], places_[k].name,
                     places_[k].at[0], places_[k].at[1], v[0], v[1], v[2], v[3]);
    }
  }
  return text;
}

}  // namespace amrbench::workloads::shallow_water
