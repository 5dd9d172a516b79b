#pragma once
// Coordinates that are numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "partitioners/points.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

/// Throws support::InputError that names the first point with a coordinate that is NaN or infinite, if there is one.
/// first: the number of points[0]. O(n).
template <class T>
void check_finite(const PointView<T>& points, std::uint64_t first = 0) {
  const auto bad = std::find_if(points.data.begin(), points.data.end(), [](T v) { return !std::isfinite(v); });
  if (bad == points.data.end()) return;
  const auto at = static_cast<std::uint64_t>(bad - points.data.begin());
  const auto dim = static_cast<std::uint64_t>(points.dim);
  throw support::InputError(
      fmt::format("point {} has coordinate {} = {}: coordinates must be finite", first + at / dim, at % dim, *bad));
}

}  // namespace amrbench::partitioners
