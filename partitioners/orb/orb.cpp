#include "partitioners/orb/orb.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "partitioners/orb/tree.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/metrics.hpp"
#include "support/registry.hpp"

namespace amrbench::partitioners {

namespace {

using support::InputError;

constexpr OrbMethod kMethods[] = {
    {"auto", "the fastest: multiway"},
    {"multiway", "64 cells a round: sampled brackets, one counting pass, exact resolution, one move"},
    {"bisection", "the document's: bisects all cuts of a level by counting passes, then a two-way partition"},
    {"sort", "reference: sorts every cell; one thread"},
};

std::string one_line(const auto* x, int dim) {
  std::string text;
  for (int a = 0; a < dim; ++a) text += fmt::format("{}{}", a ? ", " : "", x[a]);
  return text;
}

template <class T, int Dim>
void check_options(PointView<T> points, std::span<const double> weights, const OrbOptions& options) {
  const std::size_t n = points.size();
  if (points.dim != Dim) throw InputError(fmt::format("points have {} coordinates; {} are needed", points.dim, Dim));
  support::find_entry(kMethods, options.method, "method");
  std::string wrong_weights;
  if (!weights.empty() && weights.size() != n)
    wrong_weights = fmt::format("{} weights for {} points; one a point is needed", weights.size(), n);
  check_orb_options(options, n, wrong_weights);
}

template <class T, int Dim>
void check_domain(const OrbBox<T, Dim>& domain, const OrbBox<T, Dim>& box, PointView<T> points) {
  bool inside = true;
  for (std::size_t a = 0; a < Dim; ++a)
    inside = inside && domain.lower[a] <= box.lower[a] && domain.upper[a] >= box.upper[a] &&
             std::isfinite(domain.lower[a]) && std::isfinite(domain.upper[a]);
  if (inside) return;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t a = 0; a < Dim; ++a)
      if (!(points[i][a] >= domain.lower[a] && points[i][a] <= domain.upper[a]))
        throw InputError(fmt::format("point {} ({}) lies outside the domain", i, one_line(points[i], Dim)));
  throw InputError("the domain's corners must be finite");
}

/// The reference: every cell sorted in the order of rule 1, cut by rule 5 read off the sorted points.
template <class T, int Dim>
void orb_by_sort(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result) {
  using Point = OrbPoint<T, Dim>;
  std::vector<Point> points(input.count);
  for (std::uint64_t i = 0; i < input.count; ++i) points[i] = input.point(i);
  OrbTree<T, Dim>& tree = result.tree;
  std::vector<std::uint64_t> weights;
  for (std::size_t i = 1; i < tree.cells.size(); ++i) {
    const OrbCell<T, Dim> cell = tree.cells[i];
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(cell.begin);
    const auto end = begin + static_cast<std::ptrdiff_t>(cell.count);
    if (cell.leaves == 1) {
      std::sort(begin, end, [](const Point& p, const Point& q) { return p.id < q.id; });
      continue;
    }
    const int axis = cut_axis(cell.box, input.options.side_tolerance);
    std::sort(begin, end, [axis](const Point& p, const Point& q) { return orb_before(p, q, axis); });
    const OrbGoal goal = goal_of(tree, i, input.weighted());
    weights.clear();
    for (auto p = begin; p != end; ++p) weights.push_back(goal.weight > 0 ? input.weight(p->id) : 0);
    const auto cut = decide_cut(goal, first_search(goal), 0, 0, cell.count, weights.data());
    const auto right = begin + static_cast<std::ptrdiff_t>(cut.left);
    cut_cell(tree, i, axis, cut_between((right - 1)->x[axis], right->x[axis]), cut.left,
             input.weighted() ? cut.weight_left : cut.left);
  }
  write_leaves(input, points.data(), 1, result);
}

}  // namespace

std::span<const OrbMethod> orb_methods() {
  return kMethods;
}

void check_orb_options(const OrbOptions& options, std::uint64_t n, const std::string& wrong_weights) {
  if (options.leaves == 0) throw InputError("leaves is 0; at least 1 is needed");
  if (options.leaves > n)
    throw InputError(
        fmt::format("leaves is {}, but there are only {} points; a leaf needs a point", options.leaves, n));
  if (n > kOrbMaxPoints) throw InputError(fmt::format("{} points; at most 2^32 are possible", n));
  if (!wrong_weights.empty()) throw InputError(wrong_weights);
  if (!(options.side_tolerance >= 0 && options.side_tolerance < 1))
    throw InputError(fmt::format("side tolerance is {}; it must be in [0, 1)", options.side_tolerance));
}

template <class T, int Dim>
OrbBox<T, Dim> checked_bounding_box(const T* coordinates, std::uint64_t n, std::uint64_t first, int threads) {
  OrbBox<T, Dim> box;
  box.lower.fill(std::numeric_limits<T>::max());
  box.upper.fill(std::numeric_limits<T>::lowest());
  std::uint64_t bad = n;
#pragma omp parallel num_threads(threads)
  {
    OrbBox<T, Dim> mine = box;
    std::uint64_t my_bad = n;
    constexpr std::uint64_t kBlock = 1024;
#pragma omp for schedule(static)
    for (std::uint64_t start = 0; start < n; start += kBlock) {
      const std::uint64_t end = std::min(n, start + kBlock);
      bool finite = true;
      for (std::uint64_t i = start; i < end; ++i)
        for (std::size_t a = 0; a < Dim; ++a) {
          const T x = coordinates[i * Dim + a];
          mine.lower[a] = x < mine.lower[a] ? x : mine.lower[a];
          mine.upper[a] = x > mine.upper[a] ? x : mine.upper[a];
          finite = finite & (std::abs(x) <= std::numeric_limits<T>::max());
        }
      for (std::uint64_t i = start; !finite && i < end && my_bad == n; ++i)
        for (std::size_t a = 0; a < Dim; ++a)
          if (!std::isfinite(coordinates[i * Dim + a])) my_bad = std::min(my_bad, i);
    }
#pragma omp critical
    {
      bad = std::min(bad, my_bad);
      for (std::size_t a = 0; a < Dim; ++a) {
        box.lower[a] = std::min(box.lower[a], mine.lower[a]);
        box.upper[a] = std::max(box.upper[a], mine.upper[a]);
      }
    }
  }
  if (bad < n)
    throw InputError(fmt::format("point {} is ({}); coordinates must be finite", first + bad,
                                 one_line(coordinates + bad * Dim, Dim)));
  for (std::size_t a = 0; a < Dim; ++a) {  // no negative zero: it would show in the hash
    box.lower[a] += T(0);
    box.upper[a] += T(0);
  }
  return box;
}

template <class T, int Dim>
void orb(PointView<T> points, std::span<const double> weights, const OrbOptions& given, OrbResult<T, Dim>& result,
         const std::optional<OrbBox<T, Dim>>& domain) {
  check_options<T, Dim>(points, weights, given);
  OrbOptions options = given;
  if (options.threads <= 0) options.threads = omp_get_max_threads();
  const std::uint64_t n = points.size();
  OrbBox<T, Dim> box = checked_bounding_box<T, Dim>(points.data.data(), n, 0, options.threads);
  if (domain) {
    check_domain(*domain, box, points);
    box = *domain;
  }
  OrbInput<T, Dim> input{points.data.data(), n, nullptr, options};
  support::PageBuffer<std::uint64_t> units;
  std::uint64_t total = n;
  double unit = 1;
  if (!weights.empty()) {
    const int exponent = fixed_point_shift(n, checked_heaviest(weights, 0, options.threads), kOrbWeightBits);
    units.resize_discard(n);
    to_fixed_point(weights, exponent, units.span(), options.threads);
    input.weights = units.data();
    unit = std::ldexp(1.0, -exponent);
    total = 0;
#pragma omp parallel for num_threads(options.threads) reduction(+ : total) schedule(static)
    for (std::uint64_t i = 0; i < n; ++i) total += input.weights[i];
  }
  result.tree = make_orb_tree<T, Dim>(options.leaves, box, n, total, unit);
  result.levels.clear();
  detail::fit(result.labels, options.labels ? n : 0);
  detail::fit(result.permutation, options.permutation ? n : 0);
  detail::fit(result.points, options.points ? n * Dim : 0);
  const double start = support::Metrics::steady_seconds();
  if (options.method == "bisection") {
    orb_by_bisection(input, result);
  } else if (options.method == "sort") {
    orb_by_sort(input, result);
  } else {
    orb_multiway(input, result);
  }
  result.time_s = support::Metrics::steady_seconds() - start;
}

template <class T, int Dim>
std::uint64_t tree_hash(const OrbTree<T, Dim>& tree) {
  std::uint64_t hash = support::murmur64(tree.leaves + support::kGoldenRatio64 * Dim);
  const auto add = [&](std::uint64_t word) { hash = support::murmur64(hash ^ word) + support::kGoldenRatio64; };
  for (std::size_t i = 1; i < tree.cells.size(); ++i) {
    const OrbCell<T, Dim>& cell = tree.cells[i];
    add(cell.axis < 0 ? 0U : static_cast<std::uint32_t>(cell.axis) + 1U);
    add(cell.axis < 0 ? 0 : std::bit_cast<std::uint64_t>(static_cast<double>(cell.cut)));
    add(cell.count);
    add(cell.weight);
  }
  return hash;
}

std::uint64_t labels_hash(std::span<const std::uint32_t> labels, std::uint64_t first) {
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
  for (std::size_t i = 0; i < labels.size(); ++i)
    sum += support::murmur64((first + i) ^ support::murmur64(labels[i] + 1ULL));
  return sum;
}

template OrbBox<float, 2> checked_bounding_box<float, 2>(const float*, std::uint64_t, std::uint64_t, int);
template void orb<float, 2>(PointView<float>, std::span<const double>, const OrbOptions&, OrbResult<float, 2>&,
                            const std::optional<OrbBox<float, 2>>&);
template std::uint64_t tree_hash<float, 2>(const OrbTree<float, 2>&);
template OrbBox<float, 3> checked_bounding_box<float, 3>(const float*, std::uint64_t, std::uint64_t, int);
template void orb<float, 3>(PointView<float>, std::span<const double>, const OrbOptions&, OrbResult<float, 3>&,
                            const std::optional<OrbBox<float, 3>>&);
template std::uint64_t tree_hash<float, 3>(const OrbTree<float, 3>&);
template OrbBox<double, 2> checked_bounding_box<double, 2>(const double*, std::uint64_t, std::uint64_t, int);
template void orb<double, 2>(PointView<double>, std::span<const double>, const OrbOptions&, OrbResult<double, 2>&,
                             const std::optional<OrbBox<double, 2>>&);
template std::uint64_t tree_hash<double, 2>(const OrbTree<double, 2>&);
template OrbBox<double, 3> checked_bounding_box<double, 3>(const double*, std::uint64_t, std::uint64_t, int);
template void orb<double, 3>(PointView<double>, std::span<const double>, const OrbOptions&, OrbResult<double, 3>&,
                             const std::optional<OrbBox<double, 3>>&);
template std::uint64_t tree_hash<double, 3>(const OrbTree<double, 3>&);

}  // namespace amrbench::partitioners
