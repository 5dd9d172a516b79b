#include "partitioners/traversal.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "partitioners/curve_rules.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

/// Calls leaf(node) for every leaf below `root` in curve order.
template <class Index>
class Walker {
 public:
  Walker(const KdTree<Index>& tree, TreeCurve curve) : nodes_(tree.node_span()), dim_(tree.dim), curve_(curve) {}

  /// Cells of an inner node, in curve order.
  [[nodiscard]] CurveCells<Index> cells(const CurveState<Index>& s) const {
    CurveCells<Index> out;
    if (curve_ == TreeCurve::gensfc) {
      gensfc_cells(nodes_, dim_, s, out);
    } else if (curve_ == TreeCurve::hilbert) {
      hilbert_cells(nodes_, dim_, s, out);
    } else {
      out.add(nodes_[s.node].child, 0, 0);
      out.add(nodes_[s.node].child + 1, 0, 0);
    }
    return out;
  }

  template <class Leaf>
  void walk(const CurveState<Index>& root, Leaf leaf) const {
    std::vector<CurveState<Index>> stack{root};
    while (!stack.empty()) {
      const CurveState<Index> s = stack.back();
      stack.pop_back();
      if (nodes_[s.node].leaf()) {
        leaf(nodes_[s.node], s.node);
        continue;
      }
      const auto out = cells(s);
      for (int i = out.count; i-- > 0;) stack.push_back(out.state[static_cast<std::size_t>(i)]);
    }
  }

  /// The tree cut into pieces of at most 1/64 of the points where it can be, in curve order.
  [[nodiscard]] std::vector<CurveState<Index>> pieces() const {
    std::vector<CurveState<Index>> done;
    if (nodes_.empty()) return done;
    const std::size_t most = std::max<std::size_t>(nodes_[0].count / 64, 4096);
    // The curve enters at the lowest corner and travels along the first split.
    std::vector<CurveState<Index>> stack{{0, 0, static_cast<std::uint8_t>(nodes_[0].axis)}};
    while (!stack.empty()) {
      const CurveState<Index> s = stack.back();
      stack.pop_back();
      if (nodes_[s.node].count <= most || nodes_[s.node].leaf()) {
        done.push_back(s);
        continue;
      }
      const auto out = cells(s);
      for (int i = out.count; i-- > 0;) stack.push_back(out.state[static_cast<std::size_t>(i)]);
    }
    return done;
  }

 private:
  std::span<const KdNode<Index>> nodes_;
  int dim_;
  TreeCurve curve_;
};

void check_dim(int dim, TreeCurve curve) {
  if (curve != TreeCurve::morton && dim != 2 && dim != 3) {
    throw support::InputError(std::string(tree_curve_name(curve)) + " is defined in 2 and 3 dimensions, not in " +
                              std::to_string(dim) + ": use morton");
  }
}

}  // namespace

std::string_view tree_curve_name(TreeCurve curve) {
  return curve == TreeCurve::morton ? "morton" : curve == TreeCurve::hilbert ? "hilbert" : "gensfc";
}

template <class Index>
support::PageBuffer<Index> curve_order(const KdTree<Index>& tree, TreeCurve curve, int threads) {
  check_dim(tree.dim, curve);
  const int team = team_size(threads);
  const std::size_t n = tree.order.size();
  support::PageBuffer<Index> order(n);
  const Index* source = tree.order.data();
  if (curve == TreeCurve::morton) {
#pragma omp parallel for num_threads(team) schedule(static)
    for (std::size_t i = 0; i < n; ++i) order[i] = source[i];
    return order;
  }
  const Walker<Index> walker(tree, curve);
  const auto pieces = walker.pieces();
  std::vector<std::size_t> start(pieces.size());
  std::size_t next = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    start[p] = next;
    next += tree.nodes[pieces[p].node].count;
  }
#pragma omp parallel for num_threads(team) schedule(dynamic)
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    Index* to = order.data() + start[p];
    walker.walk(pieces[p], [&](const KdNode<Index>& leaf, Index) {
      const Index* from = source + leaf.first;
      for (Index i = 0; i < leaf.count; ++i) to[i] = from[i];
      to += leaf.count;
    });
  }
  return order;
}

template <class Index>
std::vector<Index> leaf_order(const KdTree<Index>& tree, TreeCurve curve, int threads) {
  check_dim(tree.dim, curve);
  const int team = team_size(threads);
  const Walker<Index> walker(tree, curve);
  const auto pieces = walker.pieces();
  std::vector<std::vector<Index>> leaves(pieces.size());
#pragma omp parallel for num_threads(team) schedule(dynamic)
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    walker.walk(pieces[p], [&](const KdNode<Index>&, Index node) { leaves[p].push_back(node); });
  }
  std::vector<Index> all;
  for (const auto& part : leaves) all.insert(all.end(), part.begin(), part.end());
  return all;
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
template double curve_length(PointView<float>, std::span<const std::uint32_t>);
template double curve_length(PointView<double>, std::span<const std::uint32_t>);
template double curve_length(PointView<float>, std::span<const std::uint64_t>);
template double curve_length(PointView<double>, std::span<const std::uint64_t>);
template std::size_t curve_jumps(PointView<float>, std::span<const std::uint32_t>, double);
template std::size_t curve_jumps(PointView<double>, std::span<const std::uint32_t>, double);
template std::size_t curve_jumps(PointView<float>, std::span<const std::uint64_t>, double);
template std::size_t curve_jumps(PointView<double>, std::span<const std::uint64_t>, double);

}  // namespace amrbench::partitioners
