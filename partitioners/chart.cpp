#include "partitioners/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "partitioners/kd_tree.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/traversal.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr double kRoundness = 1e-3;

constexpr std::pair<std::string_view, Chart> kChartNames[] = {
    {"none", Chart::none}, {"hemispheres", Chart::hemispheres}, {"conformal", Chart::conformal}};

double distance_from_origin(const double* p) {
  return std::hypot(p[0], p[1], p[2]);
}

void check_sphere(PointView<double> points, Chart chart) {
  if (points.dim != 3)
    throw support::InputError(fmt::format("--chart {}: points of {} dimensions; they must be of 3, on a sphere",
                                          chart_name(chart), points.dim));
  const double radius = points.empty() ? 1 : distance_from_origin(points[0]);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double distance = distance_from_origin(points[i]);
    if (!(radius > 0) || !(std::abs(distance - radius) <= kRoundness * radius))
      throw support::InputError(
          fmt::format("--chart {}: point {} is {} from the origin, point 0 {}; all must lie on one sphere",
                      chart_name(chart), i, distance, radius));
  }
}

/// Weights of points, each 1 where they have none.
class PointMasses {
 public:
  explicit PointMasses(std::span<const std::uint64_t> weights)
      : weights_(std::any_of(weights.begin(), weights.end(), [](std::uint64_t w) { return w > 0; })
                     ? weights
                     : std::span<const std::uint64_t>{}) {}
  [[nodiscard]] Mass operator[](std::size_t i) const { return weights_.empty() ? Mass{1} : Mass{weights_[i]}; }

 private:
  std::span<const std::uint64_t> weights_;
};

/// Points as a chart looks at them: z towards its pole.
struct Turned {
  int pole = 2;
  bool oblique = false;  ///< longitude counted from atan(1 / 3), 18 degrees, off

  [[nodiscard]] std::array<double, 3> operator()(const double* p) const {
    const double x = p[(pole + 1) % 3], y = p[(pole + 2) % 3], z = p[pole];
    if (!oblique) return {x, y, z};
    constexpr double kCosine = 0.94868329805051380, kSine = 0.31622776601683793;
    return {kCosine * x - kSine * y, kSine * x + kCosine * y, z};
  }
};

/// The axis whose equator halves the weight: z, x or y, the first within 1 % of the weight of the best.
int balanced_pole(PointView<double> points, const PointMasses& weight) {
  std::array<Mass, 3> above{}, below{};
  Mass total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    total += weight[i];
    for (std::size_t d = 0; d < 3; ++d) {
      if (points[i][d] > 0) above[d] += weight[i];
      if (points[i][d] < 0) below[d] += weight[i];
    }
  }
  const auto excess = [&](std::size_t d) { return above[d] > below[d] ? above[d] - below[d] : below[d] - above[d]; };
  const Mass least = std::min({excess(0), excess(1), excess(2)});
  for (const std::size_t d : {std::size_t{2}, std::size_t{0}})
    if (excess(d) <= least + total / 100) return static_cast<int>(d);
  return 1;
}

/// Whether each point is of the north.
std::vector<std::uint8_t> northern(PointView<double> points, const PointMasses& weight, const Turned& turned, int parts,
                                   int& north_parts) {
  Mass total = 0, twice_above = 0;  // points on the equator count half
  std::vector<std::uint8_t> north(points.size());
  const auto pole = static_cast<std::size_t>(turned.pole);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double z = points[i][pole];
    north[i] = z >= 0 ? 1 : 0;
    total += weight[i];
    twice_above += (z > 0 ? 2 : z == 0 ? 1 : 0) * weight[i];
  }
  if (points.empty()) return north;
  // As many slices as come nearest to what is above the equator; then a band around it that holds their end.
  const auto wanted = static_cast<std::int32_t>((twice_above * static_cast<Mass>(parts) + total) / (2 * total));
  if (wanted == 0 || wanted == parts) return north;  // too few slices for both: the equator it is
  north_parts = wanted;
  const double radius = distance_from_origin(points[0]);
  for (double height = radius / 64;; height *= 4) {
    std::vector<std::uint32_t> band;
    Mass before = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (std::abs(points[i][pole]) <= height) band.push_back(static_cast<std::uint32_t>(i));
      if (points[i][pole] > height) before += weight[i];
    }
    std::sort(band.begin(), band.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::array<double, 3> p = turned(points[a]), q = turned(points[b]);
      return std::tuple(-p[2], p[0], p[1], a) < std::tuple(-q[2], q[0], q[1], b);
    });
    Mass inside = 0;
    for (const std::uint32_t i : band) inside += weight[i];
    const Mass end = total * static_cast<Mass>(wanted);  // over parts
    const bool holds = before * static_cast<Mass>(parts) <= end && end <= (before + inside) * static_cast<Mass>(parts);
    if (!holds && height < 2 * radius) continue;
    for (const std::uint32_t i : band) {
      north[i] = slice_at(2 * before + weight[i], total, parts) < wanted ? 1 : 0;
      before += weight[i];
    }
    return north;
  }
}

/// The place in the plane of a half whose pole is where p[2] is highest; p: as turned.
std::array<double, 2> equidistant(const std::array<double, 3>& p) {
  const double ring = std::hypot(p[0], p[1]);
  const double scale = ring > 0 ? std::atan2(ring, p[2]) / ring : 0;
  return {scale * p[0], scale * p[1]};
}

std::array<double, 2> stereographic(const std::array<double, 3>& p, double radius) {
  const double x = p[0] / radius, y = p[1] / radius, z = p[2] / radius;
  const double square = x * x + y * y, length = std::sqrt(square + z * z);
  // tan(angle / 2) = ring / (length + z) = (length - z) / ring; the far pole itself has no place.
  constexpr double kNearFarPole = 1e-24;
  const double scale = z >= 0 ? 1 / (length + z) : (length - z) / std::max(square, kNearFarPole);
  return {scale * x, scale * y};
}

}  // namespace

Chart chart_from_name(std::string_view name, std::string_view what) {
  for (const auto& [known, chart] : kChartNames)
    if (known == name) return chart;
  throw support::InputError(fmt::format("{} {}: must be none, hemispheres or conformal", what, name));
}

std::string_view chart_name(Chart chart) {
  return std::find_if(std::begin(kChartNames), std::end(kChartNames),
                      [&](const auto& known) { return known.second == chart; })
      ->first;
}

std::array<FlatHemisphere, 2> hemispheres(PointView<double> points, std::span<const std::uint64_t> weights, int parts,
                                          int threads, Chart chart) {
  check_sphere(points, chart);
  const PointMasses weight(weights);
  Turned turned;
  if (chart == Chart::conformal) turned = {balanced_pole(points, weight), true};
  const double radius = points.empty() ? 1 : distance_from_origin(points[0]);
  std::array<FlatHemisphere, 2> half;
  const std::vector<std::uint8_t> north = northern(points, weight, turned, parts, half[0].parts);
  if (half[0].parts > 0) half[1].parts = parts - half[0].parts;
  for (std::size_t i = 0; i < points.size(); ++i)
    half[north[i] != 0 ? 0 : 1].point.push_back(static_cast<std::uint32_t>(i));
  for (std::size_t h = 0; h < 2; ++h) {
    FlatHemisphere& to = half[h];
    to.flat.resize(2 * to.point.size());
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
    for (std::size_t k = 0; k < to.point.size(); ++k) {
      std::array<double, 3> p = turned(points[to.point[k]]);
      if (h == 1) p[2] = -p[2];
      const std::array<double, 2> flat = chart == Chart::conformal ? stereographic(p, radius) : equidistant(p);
      to.flat[2 * k] = flat[0];
      to.flat[2 * k + 1] = h == 0 ? flat[1] : -flat[1];
    }
  }
  return half;
}

std::vector<std::uint64_t> weights_of(const FlatHemisphere& half, std::span<const std::uint64_t> weights) {
  std::vector<std::uint64_t> own;
  if (weights.empty()) return own;
  own.reserve(half.point.size());
  for (const std::uint32_t i : half.point) own.push_back(weights[i]);
  return own;
}

CurveEntrance hemisphere_entrance(std::size_t half) {
  constexpr std::uint8_t kLowerLeft = 0, kUpperRight = 3, kAcross = 0;
  return {half == 0 ? kLowerLeft : kUpperRight, kAcross};
}

std::size_t charted_order(PointView<double> points, std::span<const std::uint64_t> weights,
                          const KdTreeOptions& options, TreeCurve curve, int parts, std::span<std::uint32_t> order,
                          Chart chart) {
  const auto half = hemispheres(points, weights, parts, options.threads, chart);
  std::size_t most = 0, next = 0;
  for (std::size_t h = 0; h < 2; ++h) {
    const std::vector<std::uint64_t> own = weights_of(half[h], weights);
    KdTreeOptions with = options;
    with.entrance = hemisphere_entrance(h);
    const std::span<std::uint32_t> places = order.subspan(next, half[h].point.size());
    const std::size_t bytes = curve_order<std::uint32_t>(PointView<double>{half[h].flat, 2}, own, with, curve, places);
    for (std::uint32_t& place : places) place = half[h].point[place];
    next += places.size();
    most = std::max(most, bytes + own.size() * sizeof(own[0]));
  }
  return most + points.size() * (2 * sizeof(double) + sizeof(std::uint32_t));
}

}  // namespace amrbench::partitioners
