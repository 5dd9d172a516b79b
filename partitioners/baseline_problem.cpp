#include "partitioners/baseline_problem.hpp"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "support/process_memory.hpp"
#include "support/superaccumulator.hpp"

namespace amrbench::partitioners {

using support::InputError;

std::size_t check_weights(const Problem& problem, const PartitionOptions& options, std::string_view method) {
  if (options.parts < 1) throw InputError(fmt::format("{}: {} parts; must be at least 1", method, options.parts));
  const bool has_points = !problem.points.empty();
  const std::size_t n = has_points || problem.graph == nullptr ? problem.points.size() : problem.graph->vertices();
  if (!problem.weights.empty() && problem.weights.size() != n)
    throw InputError(fmt::format("{}: {} weights for {} points", method, problem.weights.size(), n));
  checked_heaviest(problem.weights, 0, options.threads);
  return n;
}

std::size_t check_graph_problem(const Problem& problem, const PartitionOptions& options, std::string_view method) {
  if (problem.graph == nullptr)
    throw InputError(fmt::format("{} cuts a graph, and this input has none; use a grid or a .graph file", method));
  const std::size_t n = check_weights(problem, options, method);
  if (n != problem.graph->vertices())
    throw InputError(fmt::format("{}: a graph of {} vertices for {} points", method, problem.graph->vertices(), n));
  return n;
}

std::size_t check_point_problem(const Problem& problem, const PartitionOptions& options, std::string_view method) {
  const PointView<double>& points = problem.points;
  if (points.empty() && problem.graph != nullptr && problem.graph->vertices() > 0)
    throw InputError(fmt::format("{} works on points, and this input has none", method));
  const std::size_t n = check_weights(problem, options, method);
  if (points.dim != 2 && points.dim != 3)
    throw InputError(fmt::format("{}: points of {} dimensions; must be 2 or 3", method, points.dim));
  for (std::size_t k = 0; k < points.data.size(); ++k)
    if (!std::isfinite(points.data[k]))
      throw InputError(fmt::format("{}: point {} has a coordinate {}; coordinates must be finite", method,
                                   k / static_cast<std::size_t>(points.dim), points.data[k]));
  return n;
}

std::optional<PartitionResult> trivial_partition(std::size_t points, int parts) {
  if (parts > 1 && points > static_cast<std::size_t>(parts)) return std::nullopt;
  PartitionResult result;
  result.part.assign(points, 0);
  if (parts > 1) std::iota(result.part.begin(), result.part.end(), 0);
  return result;
}

bool equal_weights(std::span<const double> weights) {
  return std::all_of(weights.begin(), weights.end(), [&](double w) { return w == weights.front(); });
}

std::vector<std::int64_t> integer_weights(std::span<const double> weights, std::int64_t most) {
  if (equal_weights(weights)) return {};
  support::ExactSum sum;
  sum.add(weights);
  const double total = sum.to_double();
  const bool whole = total <= static_cast<double>(most) &&
                     std::all_of(weights.begin(), weights.end(), [](double w) { return w == std::floor(w); });
  std::vector<std::int64_t> integers(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // Dividing first: the total may be too large, or too small, for its reciprocal.
    const double share = whole ? weights[i] : weights[i] / total * static_cast<double>(most);
    integers[i] = static_cast<std::int64_t>(std::floor(share + (whole ? 0.0 : 0.5)));
  }
  return integers;
}

ResidentGrowth::ResidentGrowth() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  start_ = support::reset_peak_resident() ? support::peak_resident_bytes() : -1;
}

std::size_t ResidentGrowth::bytes() const {
  if (start_ < 0) return 0;
  return static_cast<std::size_t>(std::max<std::int64_t>(0, support::peak_resident_bytes() - start_));
}

}  // namespace amrbench::partitioners
