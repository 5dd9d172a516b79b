#include "partitioners/parts/parts_curve.hpp"

#include <algorithm>
#include <vector>

#include "partitioners/curve_walk.hpp"
#include "partitioners/threads.hpp"

namespace amrbench::partitioners {

namespace {

using Index = std::uint32_t;

/// Orders the points of one part, which stand in `points`, as a curve that enters its cell in `state` does.
class PartOrder {
 public:
  PartOrder(PointView<double> all, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
            TreeCurve curve)
      : all_(all), weights_(weights), options_(options), curve_(curve) {
    options_.parts = 0;
    options_.threads = 1;
  }

  void write(const CurveState<Index>& state, std::span<const Index> points, std::span<Index> order) {
    const auto dim = static_cast<std::size_t>(all_.dim);
    x_.clear();
    own_weights_.clear();
    for (const Index i : points) {
      x_.insert(x_.end(), all_[i], all_[i] + dim);
      if (!weights_.empty()) own_weights_.push_back(weights_[i]);
    }
    options_.entrance = {state.entry, state.travel};
    curve_order<Index>(PointView<double>{x_, all_.dim}, own_weights_, options_, curve_, order);
    for (Index& place : order) place = points[place];
  }

 private:
  PointView<double> all_;
  std::span<const std::uint64_t> weights_;
  KdTreeOptions options_;
  TreeCurve curve_;
  std::vector<double> x_;
  std::vector<std::uint64_t> own_weights_;
};

std::size_t flat_parts_curve(PointView<double> points, std::span<const std::uint64_t> weights,
                             const KdTreeOptions& options, TreeCurve curve, std::span<Index> order,
                             std::span<std::int32_t> part) {
  check_curve(points.dim, curve);
  const auto tree = build_kd_tree<Index>(points, weights, options);
  const CurveWalker<Index> walker(tree.node_span(), tree.dim, curve);
  const auto leaves = walker.pieces(curve_start(tree.node_span(), options.entrance), 0);
  std::vector<std::size_t> start{0};
  for (const auto& leaf : leaves) start.push_back(start.back() + tree.nodes[leaf.node].count);
#pragma omp parallel num_threads(team_size(options.threads))
  {
    PartOrder inside(points, weights, options, curve);
#pragma omp for schedule(dynamic)
    for (std::size_t p = 0; p < leaves.size(); ++p) {
      const auto& node = tree.nodes[leaves[p].node];
      const std::span<Index> places = order.subspan(start[p], node.count);
      inside.write(leaves[p], tree.order_span().subspan(node.first, node.count), places);
      for (const Index i : places) part[i] = static_cast<std::int32_t>(p);
    }
  }
  return tree.peak_bytes + leaves.size() * (sizeof(leaves[0]) + sizeof(start[0]));
}

}  // namespace

std::size_t parts_curve(PointView<double> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                        TreeCurve curve, Chart chart, std::span<Index> order, std::span<std::int32_t> part) {
  if (chart == Chart::none) return flat_parts_curve(points, weights, options, curve, order, part);
  const auto half = hemispheres(points, weights, options.parts, options.threads, chart);
  if (half[0].parts == 0) return flat_parts_curve(points, weights, options, curve, order, part);
  std::size_t most = 0, next = 0;
  for (std::size_t h = 0; h < 2; ++h) {
    const std::vector<std::uint64_t> own = weights_of(half[h], weights);
    KdTreeOptions with = options;
    with.parts = half[h].parts;
    with.entrance = hemisphere_entrance(h);
    const std::span<Index> places = order.subspan(next, half[h].point.size());
    std::vector<std::int32_t> own_part(places.size());
    const std::size_t bytes = flat_parts_curve(PointView<double>{half[h].flat, 2}, own, with, curve, places, own_part);
    const std::int32_t first = h == 0 ? 0 : half[0].parts;
    for (std::size_t k = 0; k < own_part.size(); ++k) part[half[h].point[k]] = first + own_part[k];
    for (Index& place : places) place = half[h].point[place];
    next += places.size();
    most = std::max(most, bytes + own.size() * sizeof(own[0]) + own_part.size() * sizeof(own_part[0]));
  }
  return most + points.size() * (2 * sizeof(double) + sizeof(Index));
}

}  // namespace amrbench::partitioners
