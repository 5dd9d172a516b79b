#include "partitioners/kd_tree.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "partitioners/kd/dispatch.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

template <class Index, class T>
void check(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options) {
  if (points.dim < kMinDim || points.dim > kMaxDim) {
    throw support::InputError("points have " + std::to_string(points.dim) + " dimensions: a kd-tree takes 2 to 16");
  }
  if (points.data.size() % static_cast<std::size_t>(points.dim) != 0) {
    throw support::InputError(std::to_string(points.data.size()) + " coordinates are no whole number of points of " +
                              std::to_string(points.dim) + " dimensions");
  }
  if (options.bucket < 1) throw support::InputError("bucket is 0: a leaf must hold at least 1 point");
  if (options.parts < 0) throw support::InputError("parts is negative: use 1 or more");
  if (!weights.empty() && weights.size() != points.size()) {
    throw support::InputError(std::to_string(weights.size()) + " weights for " + std::to_string(points.size()) +
                              " points: give one a point or none");
  }
  if (points.size() >= std::numeric_limits<Index>::max()) {
    throw support::InputError(std::to_string(points.size()) + " points are too many for 32-bit indices");
  }
}

/// Does some level of the tree use `splitter`?
bool uses(const KdTreeOptions& options, Splitter splitter) {
  return options.parts == 0 &&
         (options.rule.below == splitter || (options.rule.top_levels > 0 && options.rule.top == splitter));
}

/// A sample depends on how records stand in memory, which building cells again changes.
bool needs_whole_tree(const KdTreeOptions& options) {
  return uses(options, Splitter::median) || uses(options, Splitter::sampled_median);
}

void check_room(std::size_t room, std::size_t points) {
  if (room != points)
    throw support::InputError("room for " + std::to_string(room) + " of " + std::to_string(points) + " points");
}

}  // namespace

template <class Index, class T>
KdTree<Index> build_kd_tree(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options) {
  check<Index>(points, weights, options);
  KdTree<Index> tree;
  tree.dim = points.dim;
  tree.level.assign(1, 0);
  if (points.empty()) return tree;
  const int threads = team_size(options.threads);
  if (uses(options, Splitter::median)) {
    kd::build_presorted(points, weights, options, threads, tree);
  } else {
    kd::build_from_records(points, weights, options, threads, tree);
  }
  return tree;
}

template <class Index, class T>
std::size_t curve_order(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                        TreeCurve curve, std::span<Index> order) {
  check<Index>(points, weights, options);
  check_curve(points.dim, curve);
  check_room(order.size(), points.size());
  if (points.empty()) return 0;
  const int threads = team_size(options.threads);
  if (!needs_whole_tree(options)) return kd::order_from_records(points, weights, options, threads, curve, order);
  const KdTree<Index> tree = build_kd_tree<Index>(points, weights, options);
  const auto along = curve_order(tree, curve, curve_start(tree.node_span(), options.entrance), threads);
  std::copy_n(along.data(), along.size(), order.data());
  return tree.peak_bytes;
}

template <class Index, class T>
std::size_t curve_slices(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                         TreeCurve curve, int slices, std::span<std::int32_t> part) {
  check<Index>(points, weights, options);
  check_curve(points.dim, curve);
  check_room(part.size(), points.size());
  if (points.empty()) return 0;
  if (!needs_whole_tree(options))
    return kd::slices_from_records<T, Index>(points, weights, options, team_size(options.threads), curve, slices, part);
  std::vector<Index> order(points.size());
  const std::size_t bytes = curve_order<Index>(points, weights, options, curve, std::span(order));
  const auto sliced = slice_order<Index>(order, weights, slices, options.threads);
  std::copy(sliced.begin(), sliced.end(), part.begin());
  return bytes + order.size() * sizeof(Index);
}

template KdTree<std::uint32_t> build_kd_tree(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&);
template std::size_t curve_order(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, TreeCurve,
                                 std::span<std::uint32_t>);
template std::size_t curve_slices<std::uint32_t>(PointView<double>, std::span<const std::uint64_t>,
                                                 const KdTreeOptions&, TreeCurve, int, std::span<std::int32_t>);

#if defined(AMRBENCH_ALL_KD_TREES)
template KdTree<std::uint32_t> build_kd_tree(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&);
template KdTree<std::uint64_t> build_kd_tree(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&);
template KdTree<std::uint64_t> build_kd_tree(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&);
template std::size_t curve_order(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&, TreeCurve,
                                 std::span<std::uint32_t>);
template std::size_t curve_order(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&, TreeCurve,
                                 std::span<std::uint64_t>);
template std::size_t curve_order(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, TreeCurve,
                                 std::span<std::uint64_t>);
template std::size_t curve_slices<std::uint32_t>(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&,
                                                 TreeCurve, int, std::span<std::int32_t>);
template std::size_t curve_slices<std::uint64_t>(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&,
                                                 TreeCurve, int, std::span<std::int32_t>);
template std::size_t curve_slices<std::uint64_t>(PointView<double>, std::span<const std::uint64_t>,
                                                 const KdTreeOptions&, TreeCurve, int, std::span<std::int32_t>);
#endif

}  // namespace amrbench::partitioners
