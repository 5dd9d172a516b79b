#include "partitioners/curve_methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/distributed_tree.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/octree.hpp"
#include "partitioners/parts/parts_curve.hpp"
#include "partitioners/parts/parts_tree.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

using Index = std::uint32_t;

RankResult on_ranks(const support::Communicator& comm, const Problem& mine, const DistributedTreeOptions& options) {
  DistributedTree tree = distributed_tree(comm, mine.points, mine.weights, options);
  return {std::move(tree.part), std::move(tree.position), tree.memory_bytes, tree.stages};
}

class CurveMethod : public Partitioner {
 public:
  explicit CurveMethod(TreeCurve curve) : curve_(curve) {}

  [[nodiscard]] bool order_costs() const override { return true; }
  [[nodiscard]] bool runs_on_ranks(const PartitionOptions& options) const override {
    if (options.chart != Chart::none || splits_by_parts(options.splitter)) return false;
    if (options.splitter == kOctree) return true;
    // The sample of that splitter follows the order of points in one memory.
    const SplitRule rule = split_rule_from_name(options.splitter);
    return rule.below != Splitter::sampled_median && (rule.top_levels == 0 || rule.top != Splitter::sampled_median);
  }
  RankResult partition_on_ranks(const support::Communicator& comm, const Problem& mine,
                                const PartitionOptions& options) override {
    if (options.splitter == kOctree) return octree_on_ranks(comm, tree_curve_name(curve_), mine, options);
    DistributedTreeOptions tree;
    tree.tree.rule = split_rule_from_name(options.splitter);
    tree.tree.bucket = options.bucket;
    tree.tree.threads = options.threads;
    tree.curve = curve_;
    tree.slices = options.parts;
    tree.slice_rule = options.slices;
    tree.message_bytes = options.message_bytes;
    return on_ranks(comm, mine, tree);
  }

  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    if (options.splitter == kOctree && options.chart != Chart::none)
      throw support::InputError(fmt::format("--chart {}: splitter octree has no plane; use midpoint, median or another",
                                            chart_name(options.chart)));
    if (options.splitter == kOctree) return octree_partition(tree_curve_name(curve_), problem, options);
    check_weights({problem.points, problem.weights}, options, tree_curve_name(curve_));
    const auto weights = fixed_point_weights(problem.weights, options.threads);
    KdTreeOptions tree_options;
    const bool by_parts = splits_by_parts(options.splitter);
    if (!by_parts) tree_options.rule = split_rule_from_name(options.splitter);
    tree_options.bucket = options.bucket;
    tree_options.threads = options.threads;
    PartitionResult result;
    std::size_t bytes = 0;
    if (by_parts) {
      tree_options.parts = options.parts;
      tree_options.compact_parts = options.splitter == kCompactPartsSplitter;
      result.order.resize(problem.points.size());
      result.part.resize(problem.points.size());
      bytes = parts_curve(problem.points, weights, tree_options, curve_, options.chart, result.order, result.part);
      if (options.slices == SliceRule::exact && !weights.empty())
        result.part = slice_order<Index>(result.order, weights, options.parts, options.threads, options.slices);
    } else if (options.chart != Chart::none) {
      result.order.resize(problem.points.size());
      bytes = charted_order(problem.points, weights, tree_options, curve_, options.parts, result.order, options.chart);
      result.part = slice_order<Index>(result.order, weights, options.parts, options.threads, options.slices);
    } else if (options.order || options.slices == SliceRule::exact) {
      result.order.resize(problem.points.size());
      bytes = curve_order<Index>(problem.points, weights, tree_options, curve_, std::span<Index>(result.order));
      result.part = slice_order<Index>(result.order, weights, options.parts, options.threads, options.slices);
    } else {
      result.part.resize(problem.points.size());
      bytes = curve_slices<Index>(problem.points, weights, tree_options, curve_, options.parts,
                                  std::span<std::int32_t>(result.part));
    }
    result.memory_bytes = weights.size() * sizeof(weights[0]) + bytes;
    return result;
  }

 private:
  TreeCurve curve_;
};

class PartsTreeMethod : public Partitioner {
 public:
  PartsTreeMethod(TreeCurve curve, bool compact) : curve_(curve), compact_(compact) {}

  [[nodiscard]] bool runs_on_ranks(const PartitionOptions& options) const override {
    return options.chart == Chart::none;
  }
  RankResult partition_on_ranks(const support::Communicator& comm, const Problem& mine,
                                const PartitionOptions& options) override {
    if (options.parts < 1) throw support::InputError("parts is " + std::to_string(options.parts) + ": use 1 or more");
    DistributedTreeOptions tree;
    tree.tree.parts = options.parts;
    tree.tree.compact_parts = compact_;
    tree.tree.threads = options.threads;
    tree.curve = curve_;
    tree.message_bytes = options.message_bytes;
    return on_ranks(comm, mine, tree);
  }

  [[nodiscard]] bool order_costs() const override { return true; }
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    check_weights({problem.points, problem.weights}, options, "kd_parts");
    const int dim = problem.points.dim;
    if (problem.weights.empty() && !problem.points.empty()) {
      PartitionResult result;
      if (options.chart != Chart::none && cut_chart(problem.points, options, result)) return result;
      if (dim == 2) return cut_plain<2>(problem.points, options);
      if (dim == 3) return cut_plain<3>(problem.points, options);
    }
    const auto weights = fixed_point_weights(problem.weights, options.threads);
    PartitionResult result;
    result.part.resize(problem.points.size());
    result.order.resize(problem.points.size());
    result.memory_bytes = weights.size() * sizeof(weights[0]);
    KdTreeOptions tree_options;
    tree_options.parts = options.parts;
    tree_options.compact_parts = compact_;
    tree_options.threads = options.threads;
    if (options.chart == Chart::none ||
        !cut_hemispheres(problem.points, weights, options.chart, tree_options, result)) {
      const auto tree = build_kd_tree<Index>(problem.points, weights, tree_options);
      number_leaves(tree, tree.order_span(), tree_options, {}, 0, 0, result);
      result.memory_bytes += tree.peak_bytes;
    }
    return result;
  }

 private:
  /// Points of one tree without weights.
  template <int D>
  PartitionResult cut_plain(PointView<double> points, const PartitionOptions& options) const {
    PartitionResult result;
    const std::size_t n = points.size();
    result.part.resize(n);
    if (options.order) result.order.resize(n);
    kd::AxisMemory<D> memory(n), order(n);
    kd::points_by_axes<D>(points, team_size(options.threads), memory.points());
    KdTreeOptions with;
    with.parts = options.parts;
    with.threads = options.threads;
    cut_stretch<D>(memory.points(), order.points(), n, with, 0, 0, result);
    result.memory_bytes += memory.bytes() + order.bytes();
    return result;
  }

  /// Points of either hemisphere, without weights; false where there are too few parts for both, and nothing is done.
  bool cut_chart(PointView<double> points, const PartitionOptions& options, PartitionResult& result) const {
    const std::size_t n = points.size();
    kd::AxisMemory<2> memory(n);
    const kd::AxisPoints<2> to = memory.points();
    const auto half = hemispheres_by_axes(points, {}, options.parts, options.threads, options.chart, to.x, to.id);
    if (half.parts[0] == 0) return false;
    kd::AxisMemory<2> order(std::max(half.count[0], half.count[1]));
    result.part.resize(n);
    if (options.order) result.order.resize(n);
    KdTreeOptions with;
    with.threads = options.threads;
    for (std::size_t h = 0; h < 2; ++h) {
      const std::size_t first = h == 0 ? 0 : half.count[0];
      with.parts = half.parts[h];
      with.entrance = hemisphere_entrance(h);
      cut_stretch<2>(memory.points(first), order.points(), half.count[h], with, h == 0 ? 0 : half.parts[0], first,
                     result);
    }
    result.memory_bytes += memory.bytes() + order.bytes() + n;
    return true;
  }

  /// Cuts n points, perhaps none, into options.parts, numbered from first_part on; they stand from `place` on in the
  /// order, if there is one.
  template <int D>
  void cut_stretch(const kd::AxisPoints<D>& points, const kd::AxisPoints<D>& order, std::size_t n,
                   const KdTreeOptions& options, int first_part, std::size_t place, PartitionResult& result) const {
    if (n == 0) return;
    const auto tree = kd::build_parts_tree<D>(points, order, n, options.parts, compact_, team_size(options.threads));
    number_leaves(tree, {order.id, n}, options, {}, first_part, place, result);
    result.memory_bytes = std::max(result.memory_bytes, tree.nodes.size() * (sizeof(KdNode<Index>) + sizeof(double)));
  }

  /// Parts of either hemisphere; false where there are too few for both, and nothing is done.
  bool cut_hemispheres(PointView<double> points, std::span<const std::uint64_t> weights, Chart chart,
                       KdTreeOptions options, PartitionResult& result) const {
    const auto half = hemispheres(points, weights, options.parts, options.threads, chart);
    if (half[0].parts == 0) return false;
    std::size_t most = 0;
    for (std::size_t h = 0; h < 2; ++h) {
      options.parts = half[h].parts;
      options.entrance = hemisphere_entrance(h);
      const std::vector<std::uint64_t> own = weights_of(half[h], weights);
      const auto tree = build_kd_tree<Index>(PointView<double>{half[h].flat, 2}, own, options);
      number_leaves(tree, tree.order_span(), options, half[h].point, h == 0 ? 0 : half[0].parts,
                    h == 0 ? 0 : half[0].point.size(), result);
      most = std::max(most, tree.peak_bytes + own.size() * sizeof(own[0]));
    }
    result.memory_bytes += most + points.size() * (2 * sizeof(double) + sizeof(Index));
    return true;
  }

  /// Parts first_part and on, along the curve, of the tree's points, whose numbers are `in_leaves`, leaf by leaf; they
  /// stand from `place` on in the order, if there is one. point: numbers of those numbers, or empty.
  void number_leaves(const KdTree<Index>& tree, std::span<const Index> in_leaves, const KdTreeOptions& options,
                     std::span<const Index> point, int first_part, std::size_t place, PartitionResult& result) const {
    const auto leaves = leaf_order(tree, tree.dim <= 3 ? curve_ : TreeCurve::morton,
                                   curve_start(tree.node_span(), options.entrance), options.threads);
    std::vector<std::size_t> start{place};
    for (const Index leaf : leaves) start.push_back(start.back() + tree.nodes[leaf].count);
    const bool ordered = !result.order.empty();
#pragma omp parallel for num_threads(team_size(options.threads)) schedule(static)
    for (std::size_t p = 0; p < leaves.size(); ++p) {
      const auto& leaf = tree.nodes[leaves[p]];
      const std::int32_t number = first_part + static_cast<std::int32_t>(p);
      for (Index i = 0; i < leaf.count; ++i) {
        const Index in_tree = in_leaves[leaf.first + i];
        const Index own = point.empty() ? in_tree : point[in_tree];
        if (ordered) result.order[start[p] + i] = own;
        result.part[own] = number;
      }
      if (ordered) std::sort(&result.order[start[p]], &result.order[start[p]] + leaf.count);
    }
  }

  TreeCurve curve_;
  bool compact_;
};

}  // namespace

std::unique_ptr<Partitioner> make_curve_method(TreeCurve curve) {
  return std::make_unique<CurveMethod>(curve);
}
std::unique_ptr<Partitioner> make_parts_tree_method(TreeCurve curve, bool compact) {
  return std::make_unique<PartsTreeMethod>(curve, compact);
}

}  // namespace amrbench::partitioners
