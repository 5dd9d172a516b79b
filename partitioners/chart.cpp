#include "partitioners/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "partitioners/kd_tree.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/traversal.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr double kRoundness = 1e-3;

double distance_from_origin(const double* p) {
  return std::hypot(p[0], p[1], p[2]);
}

void check_sphere(PointView<double> points) {
  if (points.dim != 3)
    throw support::InputError(
        fmt::format("--chart hemispheres: points of {} dimensions; they must be of 3, on a sphere", points.dim));
  const double radius = points.empty() ? 1 : distance_from_origin(points[0]);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double distance = distance_from_origin(points[i]);
    if (!(radius > 0) || !(std::abs(distance - radius) <= kRoundness * radius))
      throw support::InputError(
          fmt::format("--chart hemispheres: point {} is {} from the origin, point 0 {}; all must lie on one sphere", i,
                      distance, radius));
  }
}

/// Whether each point is of the north.
std::vector<std::uint8_t> northern(PointView<double> points, std::span<const std::uint64_t> weights, int parts,
                                   int& north_parts) {
  const bool by_weight = std::any_of(weights.begin(), weights.end(), [](std::uint64_t w) { return w > 0; });
  const auto weight = [&](std::size_t i) { return by_weight ? Mass{weights[i]} : Mass{1}; };
  Mass total = 0, twice_above = 0;  // points on the equator count half
  std::vector<std::uint8_t> north(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    north[i] = points[i][2] >= 0 ? 1 : 0;
    total += weight(i);
    twice_above += (points[i][2] > 0 ? 2 : points[i][2] == 0 ? 1 : 0) * weight(i);
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
      if (std::abs(points[i][2]) <= height) band.push_back(static_cast<std::uint32_t>(i));
      if (points[i][2] > height) before += weight(i);
    }
    std::sort(band.begin(), band.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double *p = points[a], *q = points[b];
      return std::tuple(-p[2], p[0], p[1], a) < std::tuple(-q[2], q[0], q[1], b);
    });
    Mass inside = 0;
    for (const std::uint32_t i : band) inside += weight(i);
    const Mass end = total * static_cast<Mass>(wanted);  // over parts
    const bool holds = before * static_cast<Mass>(parts) <= end && end <= (before + inside) * static_cast<Mass>(parts);
    if (!holds && height < 2 * radius) continue;
    for (const std::uint32_t i : band) {
      north[i] = slice_at(2 * before + weight(i), total, parts) < wanted ? 1 : 0;
      before += weight(i);
    }
    return north;
  }
}

}  // namespace

Chart chart_from_name(std::string_view name, std::string_view what) {
  if (name == "none") return Chart::none;
  if (name == "hemispheres") return Chart::hemispheres;
  throw support::InputError(fmt::format("{} {}: must be none or hemispheres", what, name));
}

std::array<FlatHemisphere, 2> hemispheres(PointView<double> points, std::span<const std::uint64_t> weights, int parts,
                                          int threads) {
  check_sphere(points);
  std::array<FlatHemisphere, 2> half;
  const std::vector<std::uint8_t> north = northern(points, weights, parts, half[0].parts);
  if (half[0].parts > 0) half[1].parts = parts - half[0].parts;
  for (std::size_t i = 0; i < points.size(); ++i)
    half[north[i] != 0 ? 0 : 1].point.push_back(static_cast<std::uint32_t>(i));
  for (std::size_t h = 0; h < 2; ++h) {
    FlatHemisphere& to = half[h];
    to.flat.resize(2 * to.point.size());
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
    for (std::size_t k = 0; k < to.point.size(); ++k) {
      const double* p = points[to.point[k]];
      const double ring = std::hypot(p[0], p[1]);
      const double scale = ring > 0 ? std::atan2(ring, h == 0 ? p[2] : -p[2]) / ring : 0;
      to.flat[2 * k] = scale * p[0];
      to.flat[2 * k + 1] = (h == 0 ? scale : -scale) * p[1];
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
                          const KdTreeOptions& options, TreeCurve curve, int parts, std::span<std::uint32_t> order) {
  const auto half = hemispheres(points, weights, parts, options.threads);
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
