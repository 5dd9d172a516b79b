#include "partitioners/traversal.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "partitioners/curve_walk.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

std::string_view tree_curve_name(TreeCurve curve) {
  return curve == TreeCurve::morton ? "morton" : curve == TreeCurve::hilbert ? "hilbert" : "gensfc";
}

void check_curve(int dim, TreeCurve curve) {
  if (curve != TreeCurve::morton && dim != 2 && dim != 3) {
    throw support::InputError(std::string(tree_curve_name(curve)) + " is defined in 2 and 3 dimensions, not in " +
                              std::to_string(dim) + ": use morton");
  }
}

template <class Index>
support::PageBuffer<Index> curve_order(const KdTree<Index>& tree, TreeCurve curve, CurveState<Index> start,
                                       int threads) {
  check_curve(tree.dim, curve);
  const int team = team_size(threads);
  const std::size_t n = tree.order.size();
  support::PageBuffer<Index> order(n);
  const Index* source = tree.order.data();
  if (curve == TreeCurve::morton) {
#pragma omp parallel for num_threads(team) schedule(static)
    for (std::size_t i = 0; i < n; ++i) order[i] = source[i];
    return order;
  }
  const CurveWalker<Index> walker(tree.node_span(), tree.dim, curve);
  const auto pieces = walker.pieces(start, std::max<std::size_t>(n / 64, 4096));
  std::vector<std::size_t> begin(pieces.size());
  std::size_t next = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    begin[p] = next;
    next += tree.nodes[pieces[p].node].count;
  }
#pragma omp parallel for num_threads(team) schedule(dynamic)
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    Index* to = order.data() + begin[p];
    walker.walk(pieces[p], [&](const KdNode<Index>& leaf, Index) {
      const Index* from = source + leaf.first;
      for (Index i = 0; i < leaf.count; ++i) to[i] = from[i];
      to += leaf.count;
    });
  }
  return order;
}

template <class Index>
std::vector<Index> leaf_order(const KdTree<Index>& tree, TreeCurve curve, CurveState<Index> start, int threads) {
  check_curve(tree.dim, curve);
  const int team = team_size(threads);
  const CurveWalker<Index> walker(tree.node_span(), tree.dim, curve);
  const auto pieces = walker.pieces(start, std::max<std::size_t>(tree.order.size() / 64, 4096));
  std::vector<std::vector<Index>> leaves(pieces.size());
#pragma omp parallel for num_threads(team) schedule(dynamic)
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    walker.walk(pieces[p], [&](const KdNode<Index>&, Index node) { leaves[p].push_back(node); });
  }
  std::vector<Index> all;
  for (const auto& part : leaves) all.insert(all.end(), part.begin(), part.end());
  return all;
}

template <class Index>
support::PageBuffer<Index> curve_order(const KdTree<Index>& tree, TreeCurve curve, int threads) {
  return curve_order(tree, curve, curve_start(tree.node_span()), threads);
}

template <class Index>
std::vector<Index> leaf_order(const KdTree<Index>& tree, TreeCurve curve, int threads) {
  return leaf_order(tree, curve, curve_start(tree.node_span()), threads);
}

namespace {

template <class T, class Index>
double step_length(PointView<T> points, Index from, Index to) {
  double square = 0;
  for (int d = 0; d < points.dim; ++d) {
    const double step = static_cast<double>(points[to][d]) - static_cast<double>(points[from][d]);
    square += step * step;
  }
  return std::sqrt(square);
}

}  // namespace

template <class T, class Index>
double curve_length(PointView<T> points, std::span<const Index> order) {
  double sum = 0;
  for (std::size_t i = 1; i < order.size(); ++i) sum += step_length(points, order[i - 1], order[i]);
  return sum;
}

template <class T, class Index>
std::size_t curve_jumps(PointView<T> points, std::span<const Index> order, double reach) {
  std::size_t jumps = 0;
  for (std::size_t i = 1; i < order.size(); ++i) jumps += step_length(points, order[i - 1], order[i]) > reach ? 1 : 0;
  return jumps;
}

template support::PageBuffer<std::uint32_t> curve_order(const KdTree<std::uint32_t>&, TreeCurve, int);
template support::PageBuffer<std::uint64_t> curve_order(const KdTree<std::uint64_t>&, TreeCurve, int);
template std::vector<std::uint32_t> leaf_order(const KdTree<std::uint32_t>&, TreeCurve, int);
template std::vector<std::uint64_t> leaf_order(const KdTree<std::uint64_t>&, TreeCurve, int);
template support::PageBuffer<std::uint32_t> curve_order(const KdTree<std::uint32_t>&, TreeCurve,
                                                        CurveState<std::uint32_t>, int);
template support::PageBuffer<std::uint64_t> curve_order(const KdTree<std::uint64_t>&, TreeCurve,
                                                        CurveState<std::uint64_t>, int);
template std::vector<std::uint32_t> leaf_order(const KdTree<std::uint32_t>&, TreeCurve, CurveState<std::uint32_t>, int);
template double curve_length(PointView<float>, std::span<const std::uint32_t>);
template double curve_length(PointView<double>, std::span<const std::uint32_t>);
template double curve_length(PointView<float>, std::span<const std::uint64_t>);
template double curve_length(PointView<double>, std::span<const std::uint64_t>);
template std::size_t curve_jumps(PointView<float>, std::span<const std::uint32_t>, double);
template std::size_t curve_jumps(PointView<double>, std::span<const std::uint32_t>, double);
template std::size_t curve_jumps(PointView<float>, std::span<const std::uint64_t>, double);
template std::size_t curve_jumps(PointView<double>, std::span<const std::uint64_t>, double);

}  // namespace amrbench::partitioners
