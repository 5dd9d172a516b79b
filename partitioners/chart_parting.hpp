#pragma once
// Which points of a sphere are of its north: the first half of what a chart does (chart.hpp, which says by what rule).
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/chart.hpp"
#include "partitioners/points.hpp"

namespace amrbench::partitioners {

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

/// Which points are of the north, and how many slices are.
struct Parting {
  Turned turned;
  double radius = 1;
  std::vector<std::uint8_t> north;
  int north_parts = 0;
};

/// weights, parts, chart, errors: as of hemispheres(). threads >= 1; the same on any number of them. O(n).
Parting part_sphere(PointView<double> points, std::span<const std::uint64_t> weights, int parts, int threads,
                    Chart chart);

}  // namespace amrbench::partitioners
