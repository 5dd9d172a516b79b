#include "workloads/shallow_water/side_inflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "support/error.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

constexpr std::array<std::string_view, 4> kSideNames{"west", "east", "south", "north"};

TimeSeries read_positive(const std::string& file, std::string_view column, std::string_view what) {
  TimeSeries series = read_time_series(file, column);
  const double least = *std::ranges::min_element(series.values());
  if (least < 0.0) throw support::InputError(fmt::format("{}: a {} of {}; it must be 0 or more", file, what, least));
  return series;
}

/// The largest value from t0 to t1.
double largest(const TimeSeries& series, double t0, double t1) {
  double most = std::max(series.value(t0), series.value(t1));
  const auto& times = series.times();
  for (auto k = static_cast<std::size_t>(std::ranges::upper_bound(times, t0) - times.begin());
       k < times.size() && times[k] < t1; ++k)
    most = std::max(most, series.values()[k]);
  return most;
}

}  // namespace

SideInflows::SideInflows(std::span<const InflowConfig> inflows, const Setup& setup,
                         const std::array<bool, 2>& periodic) {
  for (std::size_t k = 0; k < inflows.size(); ++k)
    if (!inflows[k].side.empty()) add(inflows[k], k, setup, periodic);
}

void SideInflows::add(const InflowConfig& inflow, std::size_t number, const Setup& setup,
                      const std::array<bool, 2>& periodic) {
  const auto refuse = [&](const std::string& why) {
    throw support::InputError(fmt::format("inflow.{}.{}", number, why));
  };
  const auto name = std::ranges::find(kSideNames, inflow.side);
  if (name == kSideNames.end())
    refuse(fmt::format("side = \"{}\": must be one of {}", inflow.side, fmt::join(kSideNames, ", ")));
  const auto face = static_cast<std::size_t>(name - kSideNames.begin()), across = face / 2, along = 1 - across;
  if (periodic[across]) refuse(fmt::format("side = \"{}\": with mesh.periodic there is no such side", inflow.side));
  const Side kind = setup.sides[face].kind;
  if (kind != Side::wall && kind != Side::open)
    refuse(fmt::format("side = \"{}\": the problem has a condition of its own there", inflow.side));
  const double place = face % 2 == 0 ? setup.low[across] : setup.high[across];
  const double extent = setup.high[along] - setup.low[along];
  Part part{static_cast<int>(face), setup.low[along], setup.high[along], TimeSeries({0.0}, {0.0}), {}};
  if (inflow.from != inflow.to) {
    const double slack = 1e-9 * (setup.high[across] - setup.low[across]);
    for (const auto& end : {inflow.from, inflow.to})
      if (!(std::abs(end[across] - place) <= slack) || !(end[along] >= setup.low[along]) ||
          !(end[along] <= setup.high[along]))
        refuse(fmt::format("side = \"{}\": [{}, {}] does not lie on it; it is at {} = {} m, from {} to {} m",
                           inflow.side, end[0], end[1], across == 0 ? "x" : "y", place, setup.low[along],
                           setup.high[along]));
    part.low = std::min(inflow.from[along], inflow.to[along]);
    part.high = std::max(inflow.from[along], inflow.to[along]);
    if (!(part.high - part.low > 1e-9 * extent)) refuse("from, to: a part of a side has a length");
  }
  for (const Part& other : parts_)
    if (other.face == part.face && other.low < part.high && part.low < other.high)
      refuse(fmt::format("side = \"{}\": overlaps another inflow of this side", inflow.side));
  if (inflow.series.empty()) refuse("series: missing; name a CSV file of discharges");
  part.discharge = read_positive(inflow.series, "discharge_m3_s", "discharge");
  if (!inflow.depths.empty()) part.depth = read_positive(inflow.depths, "depth_m", "depth");
  parts_.push_back(std::move(part));
}

double SideInflows::volume(double t0, double t1) const {
  double sum = 0.0;
  for (const Part& part : parts_) sum += part.discharge.integral(t0, t1);
  return sum;
}

bool SideInflows::is_at(int face, double low, double high) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.face == face && part.low < high && low < part.high; });
}

void SideInflows::find(int face, double low, double size, int n, double t0, double t1,
                       kernels::shallow_water::Inflow<double>* cells) const {
  std::fill_n(cells, n, kernels::shallow_water::Inflow<double>{});
  for (const Part& part : parts_) {
    if (part.face != face) continue;
    const double discharge = t1 > t0 ? part.discharge.integral(t0, t1) / (t1 - t0) : part.discharge.value(t0);
    const double depth = part.depth ? part.depth->value(0.5 * (t0 + t1)) : 0.0;
    for (int m = 0; m < n; ++m) {
      const double begin = std::max(part.low, low + m * size), end = std::min(part.high, low + (m + 1) * size);
      if (!(end > begin)) continue;
      cells[m].discharge += discharge * ((end - begin) / (part.high - part.low)) / size;
      cells[m].depth = std::max(cells[m].depth, depth);
    }
  }
}

double SideInflows::stable_step(int face, double across, double t0, double longest, double cfl, double gravity) const {
  for (const Part& part : parts_) {
    if (part.face != face) continue;
    // Critical flow has |u| + c = 2 c; slower flow is bounded by the cell before it. Discharges beyond the step asked
    // for do not count, so look as far as the discharge of now lets one, then again with the largest until then.
    const auto bound = [&](double discharge, double depth) {
      const double q = discharge / (part.high - part.low);
      double fastest = 2.0 * kernels::shallow_water::critical_speed(q, gravity);
      if (depth > 0.0) fastest = std::max(fastest, q / depth + std::sqrt(gravity * depth));
      return fastest > 0.0 ? cfl * across / fastest : longest;
    };
    const auto depth_from = [&](double t) { return part.depth ? part.depth->value(t) : 0.0; };
    const double first = std::min(longest, bound(part.discharge.value(t0), depth_from(t0)));
    const double most = largest(part.discharge, t0, t0 + first);
    longest = std::min({first, bound(most, depth_from(t0)), bound(most, depth_from(t0 + first))});
  }
  return longest;
}

}  // namespace amrbench::workloads::shallow_water
