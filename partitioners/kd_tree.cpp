#include "partitioners/kd_tree.hpp"

#include <limits>
#include <string>

#include "partitioners/kd_dispatch.hpp"
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

}  // namespace

template <class Index, class T>
KdTree<Index> build_kd_tree(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options) {
  check<Index>(points, weights, options);
  KdTree<Index> tree;
  tree.dim = points.dim;
  tree.level.assign(1, 0);
  if (points.empty()) return tree;
  const int threads = team_size(options.threads);
  const bool presorted = options.parts == 0 && (options.rule.below == Splitter::median ||
                                                (options.rule.top_levels > 0 && options.rule.top == Splitter::median));
  if (presorted) {
    kd::build_presorted(points, weights, options, threads, tree);
  } else {
    kd::build_from_records(points, weights, options, threads, tree);
  }
  return tree;
}

template KdTree<std::uint32_t> build_kd_tree(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&);
template KdTree<std::uint32_t> build_kd_tree(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&);
template KdTree<std::uint64_t> build_kd_tree(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&);
template KdTree<std::uint64_t> build_kd_tree(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&);

}  // namespace amrbench::partitioners
