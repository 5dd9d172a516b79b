#include "workloads/shallow_water/inflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/error.hpp"
#include "workloads/host_copy.hpp"
#include "workloads/shallow_water/single.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// [low, high), or with its end where the domain ends too.
struct Span {
  double low, high;
  bool is_last;
  [[nodiscard]] bool holds(double x) const { return x >= low && (x < high || is_last); }
};

/// The share of the line from a to b (b - a along one axis each) that lies between the ends of both spans.
double share_of_line(const std::array<double, 2>& from, const std::array<double, 2>& to,
                     const std::array<Span, 2>& box) {
  double begin = 0.0, end = 1.0;
  bool is_point = true;
  for (std::size_t d = 0; d < 2; ++d) {
    const double length = to[d] - from[d];
    if (length == 0.0) {
      if (!box[d].holds(from[d])) return 0.0;
      continue;
    }
    is_point = false;
    const double a = (box[d].low - from[d]) / length, b = (box[d].high - from[d]) / length;
    begin = std::max(begin, std::min(a, b));
    end = std::min(end, std::max(a, b));
  }
  return is_point ? 1.0 : std::max(0.0, end - begin);
}

}  // namespace

Inflows::Inflows(std::span<const InflowConfig> lines, const Problem& problem) : problem_(problem) {
  const Setup& setup = problem.solution().setup();
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (!lines[k].side.empty()) continue;
    if (!lines[k].depths.empty())
      throw support::InputError(
          fmt::format("inflow.{}.depths: of an inflow through a side; name inflow.{}.side too", k, k));
    for (const auto& end : {lines[k].from, lines[k].to})
      for (std::size_t d = 0; d < 2; ++d)
        if (!(end[d] >= setup.low[d] && end[d] <= setup.high[d]))
          throw support::InputError(fmt::format("inflow.{}: [{}, {}] lies outside the domain, [{}, {}] x [{}, {}] m", k,
                                                end[0], end[1], setup.low[0], setup.high[0], setup.low[1],
                                                setup.high[1]));
    if (lines[k].series.empty())
      throw support::InputError(fmt::format("inflow.{}.series: missing; name a CSV file of discharges", k));
    TimeSeries series = read_time_series(lines[k].series);
    const auto [least, most] = std::minmax_element(series.values().begin(), series.values().end());
    if (*least < 0.0)
      throw support::InputError(
          fmt::format("{}: a discharge of {} m^3/s; water can only come in", lines[k].series, *least));
    const double largest = *most;
    lines_.push_back({lines[k].from, lines[k].to, std::move(series), largest});
  }
}

double Inflows::volume(double t0, double t1) const {
  double sum = 0.0;
  for (const Line& line : lines_) sum += line.series.integral(t0, t1);
  return sum;
}

void Inflows::find_cells_of(const amr::Mesh<2>& mesh, std::int32_t i, std::vector<Cell>& found) const {
  const Setup& setup = problem_.solution().setup();
  const auto shape = problem_.shape(mesh.level(i));
  const std::array<double, 2> size{shape.dx, shape.dy};
  const int n = problem_.cells();
  // Edges are computed alike by the blocks on both sides, so that no cell or both miss a line between them.
  const auto span = [&](std::size_t d, std::int64_t first, int cells) {
    const double high = setup.low[d] + static_cast<double>(first + cells) * size[d];
    const bool is_last = high > setup.high[d] - 0.25 * size[d];
    return Span{setup.low[d] + static_cast<double>(first) * size[d], is_last ? setup.high[d] : high, is_last};
  };
  const std::array<std::int64_t, 2> corner{std::int64_t{mesh.coord(i)[0]} * n, std::int64_t{mesh.coord(i)[1]} * n};
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    const Line& l = lines_[line];
    const auto near = [&](std::size_t d) {
      const Span all = span(d, corner[d], n);
      return std::min(l.from[d], l.to[d]) <= all.high && std::max(l.from[d], l.to[d]) >= all.low;
    };
    if (!near(0) || !near(1)) continue;
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        const double share = share_of_line(l.from, l.to, {span(0, corner[0] + x, 1), span(1, corner[1] + y, 1)});
        if (share > 0.0)
          found.push_back({blocks_.size(), line, std::size_t(y) * std::size_t(n) + std::size_t(x), share});
      }
    }
  }
}

void Inflows::find_cells(const amr::Mesh<2>& mesh) {
  blocks_.clear();
  cells_.clear();
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const std::size_t before = cells_.size();
    find_cells_of(mesh, i, cells_);
    if (cells_.size() > before) blocks_.push_back(i);
  }
}

void Inflows::pour(const amr::Mesh<2>& mesh, double t0, double t1, std::vector<double>& values) const {
  if (blocks_.empty()) return;
  const std::size_t block = values.size() / blocks_.size();
  std::vector<double> volumes;
  for (const Line& line : lines_) volumes.push_back(line.series.integral(t0, t1));
  for (const Cell& cell : cells_) {
    const auto shape = problem_.shape(mesh.level(blocks_[cell.block]));
    values[cell.block * block + cell.at] += cell.share * volumes[cell.line] / (shape.dx * shape.dy);
  }
}

double Inflows::stable_step(const amr::Mesh<2>& mesh, const amr::Fields& fields, double t0, double step, double cfl) {
  if (blocks_.empty()) return step;
  // In a dry cell waves are made by what comes in: g (Q dt / dx dy) = (cfl dx / dt)^2.
  for (const Cell& cell : cells_) {
    const auto shape = problem_.shape(mesh.level(blocks_[cell.block]));
    const double rise = cell.share * lines_[cell.line].most / (shape.dx * shape.dy);
    const double width = cfl * std::min(shape.dx, shape.dy);
    if (rise > 0.0) step = std::min(step, std::cbrt(width * width / (problem_.physics().gravity * rise)));
  }
  const std::size_t block = fields.layout().block_values();
  const auto reading = fields.make_reading();
  fields.read(blocks_, *reading);
  values_.resize(blocks_.size() * block);
  for (std::size_t k = 0; k < blocks_.size(); ++k) std::copy_n(reading->values(k), block, values_.data() + k * block);
  std::vector<double> after = values_;
  pour(mesh, t0, t0 + step, after);
  double fastest = 0.0;
  for (std::size_t k = 0; k < blocks_.size(); ++k)
    fastest = std::max(fastest, kernels::shallow_water::measure_block(problem_.shape(mesh.level(blocks_[k])),
                                                                      problem_.physics(), after.data() + k * block)
                                    .fastest);
  return fastest > 0.0 ? std::min(step, cfl / fastest) : step;
}

void Inflows::add(const amr::Mesh<2>& mesh, amr::Fields& fields, double t0, double t1) {
  pour(mesh, t0, t1, values_);
  if (problem_.is_single()) round_to_single(values_);
  write_blocks(fields, blocks_, values_.data());
}

}  // namespace amrbench::workloads::shallow_water
