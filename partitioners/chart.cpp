#include "partitioners/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "partitioners/chart_parting.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/traversal.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr std::pair<std::string_view, Chart> kChartNames[] = {
    {"none", Chart::none}, {"hemispheres", Chart::hemispheres}, {"conformal", Chart::conformal}};

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
  const double near = 1 / (length + z), far = (length - z) / std::max(square, kNearFarPole);
  const double scale = z >= 0 ? near : far;
  return {scale * x, scale * y};
}

/// Writes each point's place in the plane, block by block, so that a block's loops are over vectors.
class Flattening {
 public:
  Flattening(PointView<double> points, const Parting& parting, Chart chart, int threads)
      : points_(points), parting_(parting), chart_(chart), threads_(threads) {
    const std::size_t blocks = (points.size() + kBlock - 1) / kBlock;
    north_before_.resize(blocks + 1);
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::size_t b = 0; b < blocks; ++b) {
      std::uint32_t count = 0;
      for (std::size_t i = b * kBlock; i < std::min(points.size(), (b + 1) * kBlock); ++i) count += parting_.north[i];
      north_before_[b + 1] = count;
    }
    std::partial_sum(north_before_.begin(), north_before_.end(), north_before_.begin());
  }

  [[nodiscard]] std::size_t count(std::size_t half) const {
    return half == 0 ? north_before_.back() : points_.size() - north_before_.back();
  }

  /// Calls put(half, place in it, point, x, y) for every point; numbers ascend within a half.
  template <class Put>
  void write(const Put& put) const {
    const std::size_t blocks = north_before_.size() - 1;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t begin = b * kBlock, count = std::min(kBlock, points_.size() - begin);
      std::array<double, kBlock> x, y, z;
      for (std::size_t k = 0; k < count; ++k) {
        const std::array<double, 3> p = parting_.turned(points_[begin + k]);
        x[k] = p[0];
        y[k] = p[1];
        z[k] = parting_.north[begin + k] != 0 ? p[2] : -p[2];
      }
      flatten(count, x.data(), y.data(), z.data());
      std::size_t north = north_before_[b], south = begin - north;
      for (std::size_t k = 0; k < count; ++k) {
        const bool in_north = parting_.north[begin + k] != 0;
        put(in_north ? 0 : 1, in_north ? north : south, begin + k, x[k], in_north ? y[k] : -y[k]);
        north += in_north ? 1 : 0;
        south += in_north ? 0 : 1;
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 512;

  void flatten(std::size_t count, double* x, double* y, double* z) const {
    if (chart_ == Chart::conformal) {
      for (std::size_t k = 0; k < count; ++k) {
        const std::array<double, 2> flat = stereographic({x[k], y[k], z[k]}, parting_.radius);
        x[k] = flat[0];
        y[k] = flat[1];
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) {
        const std::array<double, 2> flat = equidistant({x[k], y[k], z[k]});
        x[k] = flat[0];
        y[k] = flat[1];
      }
    }
  }

  PointView<double> points_;
  const Parting& parting_;
  Chart chart_;
  int threads_;
  std::vector<std::uint32_t> north_before_;  ///< of each block, points of the north in front of it
};

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
  const int team = team_size(threads);
  const Parting parting = part_sphere(points, weights, parts, team, chart);
  std::array<FlatHemisphere, 2> half;
  half[0].parts = parting.north_parts;
  if (parting.north_parts > 0) half[1].parts = parts - parting.north_parts;
  const Flattening flat(points, parting, chart, team);
  for (std::size_t h = 0; h < 2; ++h) {
    half[h].point.resize(flat.count(h));
    half[h].flat.resize(2 * flat.count(h));
  }
  flat.write([&](std::size_t h, std::size_t k, std::size_t i, double x, double y) {
    half[h].flat[2 * k] = x;
    half[h].flat[2 * k + 1] = y;
    half[h].point[k] = static_cast<std::uint32_t>(i);
  });
  return half;
}

HemispheresByAxes hemispheres_by_axes(PointView<double> points, std::span<const std::uint64_t> weights, int parts,
                                      int threads, Chart chart, const std::array<double*, 2>& xy,
                                      std::uint32_t* point) {
  const int team = team_size(threads);
  const Parting parting = part_sphere(points, weights, parts, team, chart);
  const Flattening flat(points, parting, chart, team);
  const std::array<std::size_t, 2> first{0, flat.count(0)};
  flat.write([&](std::size_t h, std::size_t k, std::size_t i, double x, double y) {
    const std::size_t at = first[h] + k;
    xy[0][at] = x;
    xy[1][at] = y;
    point[at] = static_cast<std::uint32_t>(i);
  });
  HemispheresByAxes halves{{flat.count(0), flat.count(1)}, {}};
  if (parting.north_parts > 0) halves.parts = {parting.north_parts, parts - parting.north_parts};
  return halves;
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
