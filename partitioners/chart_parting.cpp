#include "partitioners/chart_parting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "partitioners/slices.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

constexpr double kRoundness = 1e-3;

double distance_from_origin(const double* p) {
  return std::hypot(p[0], p[1], p[2]);
}

/// Throws where a point is not on the sphere of point 0.
void check_each(PointView<double> points, Chart chart) {
  const double radius = points.empty() ? 1 : distance_from_origin(points[0]);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double distance = distance_from_origin(points[i]);
    if (!(radius > 0) || !(std::abs(distance - radius) <= kRoundness * radius))
      throw support::InputError(
          fmt::format("--chart {}: point {} is {} from the origin, point 0 {}; all must lie on one sphere",
                      chart_name(chart), i, distance, radius));
  }
}

/// Points on either side of the planes across the axes.
struct SideCounts {
  std::array<std::int64_t, 3> above{}, below{};
};

SideCounts check_and_count(PointView<double> points, Chart chart, int threads) {
  if (points.dim != 3)
    throw support::InputError(fmt::format("--chart {}: points of {} dimensions; they must be of 3, on a sphere",
                                          chart_name(chart), points.dim));
  const double radius = points.empty() ? 1 : distance_from_origin(points[0]);
  // Squares tell at once but for points near the bounds, where rounding might decide.
  constexpr double kSure = 0.95 * 2 * kRoundness;
  const double square = radius * radius;
  const double least = square * (1 - kSure), most = square * (1 + kSure);
  const auto n = static_cast<std::int64_t>(points.size());
  const double* const p = points.data.data();
  std::int64_t sure = 0, a0 = 0, a1 = 0, a2 = 0, b0 = 0, b1 = 0, b2 = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sure, a0, a1, a2, b0, b1, b2)
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2];
    const double s = x * x + y * y + z * z;
    sure += static_cast<std::int64_t>(static_cast<int>(s >= least) & static_cast<int>(s <= most));
    a0 += x > 0 ? 1 : 0;
    a1 += y > 0 ? 1 : 0;
    a2 += z > 0 ? 1 : 0;
    b0 += x < 0 ? 1 : 0;
    b1 += y < 0 ? 1 : 0;
    b2 += z < 0 ? 1 : 0;
  }
  if (sure != n || !std::isnormal(square)) check_each(points, chart);
  return {{a0, a1, a2}, {b0, b1, b2}};
}

/// Weights of points, each 1 where they have none.
class PointMasses {
 public:
  explicit PointMasses(std::span<const std::uint64_t> weights)
      : weights_(std::any_of(weights.begin(), weights.end(), [](std::uint64_t w) { return w > 0; })
                     ? weights
                     : std::span<const std::uint64_t>{}) {}
  [[nodiscard]] bool even() const { return weights_.empty(); }
  [[nodiscard]] Mass operator[](std::size_t i) const { return weights_.empty() ? Mass{1} : Mass{weights_[i]}; }

 private:
  std::span<const std::uint64_t> weights_;
};

/// Weight on either side of the planes across the axes, and in all.
struct SideMasses {
  std::array<Mass, 3> above{}, below{};
  Mass total = 0;
};

SideMasses side_masses(PointView<double> points, const PointMasses& weight, const SideCounts& counts) {
  SideMasses m;
  if (weight.even()) {
    std::copy(counts.above.begin(), counts.above.end(), m.above.begin());
    std::copy(counts.below.begin(), counts.below.end(), m.below.begin());
    m.total = static_cast<Mass>(points.size());
    return m;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    m.total += weight[i];
    for (std::size_t d = 0; d < 3; ++d) {
      if (points[i][d] > 0) m.above[d] += weight[i];
      if (points[i][d] < 0) m.below[d] += weight[i];
    }
  }
  return m;
}

/// The axis whose equator halves the weight: z, x or y, the first within 1 % of the weight of the best.
int balanced_pole(const SideMasses& m) {
  const auto excess = [&](std::size_t d) {
    return m.above[d] > m.below[d] ? m.above[d] - m.below[d] : m.below[d] - m.above[d];
  };
  const Mass least = std::min({excess(0), excess(1), excess(2)});
  for (const std::size_t d : {std::size_t{2}, std::size_t{0}})
    if (excess(d) <= least + m.total / 100) return static_cast<int>(d);
  return 1;
}

/// Points within `height` of the equator, and the weight above them.
struct Band {
  std::vector<std::uint32_t> points;
  Mass before = 0;
};

Band band_of(PointView<double> points, const PointMasses& weight, std::size_t pole, double height, int threads) {
  const double* const z = points.data.data() + pole;
  const std::size_t n = points.size(), stretches = static_cast<std::size_t>(threads);
  std::vector<Band> found(stretches);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::size_t t = 0; t < stretches; ++t) {
    Band band;
    std::int64_t above = 0;
    for (std::size_t i = n * t / stretches; i < n * (t + 1) / stretches; ++i) {
      above += z[3 * i] > height ? 1 : 0;
      if (std::abs(z[3 * i]) <= height) band.points.push_back(static_cast<std::uint32_t>(i));
      if (!weight.even() && z[3 * i] > height) band.before += weight[i];
    }
    if (weight.even()) band.before = above;
    found[t] = std::move(band);
  }
  Band all;
  for (const Band& band : found) {
    all.points.insert(all.points.end(), band.points.begin(), band.points.end());
    all.before += band.before;
  }
  return all;
}

/// Says of the band's points whether they are of the first `wanted` of `parts` slices, from the north on.
void part_band(PointView<double> points, const PointMasses& weight, Mass total, int parts, int wanted, Band& band,
               Parting& parting) {
  struct Place {
    std::array<double, 3> from_north;
    std::uint32_t point;
  };
  std::vector<Place> places;
  places.reserve(band.points.size());
  for (const std::uint32_t i : band.points) {
    const std::array<double, 3> p = parting.turned(points[i]);
    places.push_back({{-p[2], p[0], p[1]}, i});
  }
  const auto earlier = [](const Place& p, const Place& q) {
    return std::tie(p.from_north, p.point) < std::tie(q.from_north, q.point);
  };
  Mass before = band.before;
  if (!weight.even()) {
    std::sort(places.begin(), places.end(), earlier);
    for (const Place& p : places) {
      parting.north[p.point] = slice_at(2 * before + weight[p.point], total, parts) < wanted ? 1 : 0;
      before += weight[p.point];
    }
    return;
  }
  // Places ascend by one point each: those of the north are so many of the first.
  std::size_t count = 0, end = places.size();
  while (count < end) {
    const std::size_t middle = count + (end - count) / 2;
    if (slice_at(2 * (before + static_cast<Mass>(middle)) + 1, total, parts) < wanted)
      count = middle + 1;
    else
      end = middle;
  }
  if (count < places.size())
    std::nth_element(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count), places.end(), earlier);
  for (std::size_t k = 0; k < places.size(); ++k) parting.north[places[k].point] = k < count ? 1 : 0;
}

}  // namespace

Parting part_sphere(PointView<double> points, std::span<const std::uint64_t> weights, int parts, int threads,
                    Chart chart) {
  const SideCounts counts = check_and_count(points, chart, threads);
  const PointMasses weight(weights);
  const SideMasses masses = side_masses(points, weight, counts);
  Parting parting;
  if (chart == Chart::conformal) parting.turned = {balanced_pole(masses), true};
  parting.north.resize(points.size());
  if (points.empty()) return parting;
  parting.radius = distance_from_origin(points[0]);
  const auto pole = static_cast<std::size_t>(parting.turned.pole);
  const double* const z = points.data.data() + pole;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::size_t i = 0; i < points.size(); ++i) parting.north[i] = z[3 * i] >= 0 ? 1 : 0;
  // As many slices as come nearest to what is above the equator, whose own points count half; then a band around it
  // that holds their end.
  const Mass total = masses.total, twice_above = total + masses.above[pole] - masses.below[pole];
  const auto wanted = static_cast<std::int32_t>((twice_above * static_cast<Mass>(parts) + total) / (2 * total));
  if (wanted == 0 || wanted == parts) return parting;  // too few slices for both: the equator it is
  parting.north_parts = wanted;
  for (double height = parting.radius / 64;; height *= 4) {
    Band band = band_of(points, weight, pole, height, threads);
    Mass inside = weight.even() ? static_cast<Mass>(band.points.size()) : 0;
    if (!weight.even())
      for (const std::uint32_t i : band.points) inside += weight[i];
    const Mass end = total * static_cast<Mass>(wanted);  // over parts
    const bool holds =
        band.before * static_cast<Mass>(parts) <= end && end <= (band.before + inside) * static_cast<Mass>(parts);
    if (!holds && height < 2 * parting.radius) continue;
    part_band(points, weight, total, parts, wanted, band, parting);
    return parting;
  }
}

}  // namespace amrbench::partitioners
