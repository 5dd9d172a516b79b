#include "partitioners/dynamic/dynamic_tree.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "partitioners/dynamic/curve_leaves.hpp"
#include "partitioners/dynamic/tree_adjust.hpp"
#include "partitioners/dynamic/tree_batches.hpp"
#include "partitioners/dynamic/tree_branch.hpp"
#include "partitioners/dynamic/tree_impl.hpp"
#include "partitioners/dynamic/tree_rework.hpp"
#include "partitioners/threads.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace dynamic {

template <class R>
Tree<R>::Tree(int dim, const DynamicTreeOptions& options, int threads)
    : dim_(dim),
      options_(options),
      threads_(threads),
      rule_{options.splitter == Splitter::midpoint, options.bucket, options.balance} {
  pool_.reset();
  leaves_.emplace_back();
}

template <class R>
std::span<const std::uint32_t> Tree<R>::leaves(TreeCurve curve) {
  if (order_curve_ != curve) {
    order_ = leaves_along(pool_, dim_, curve, team(size_), entrance_);
    order_curve_ = curve;
  }
  return order_;
}

template <class R>
std::vector<std::uint64_t> Tree<R>::leaf_loads(TreeCurve curve) {
  const auto order = leaves(curve);
  std::vector<std::uint64_t> weight(order.size());
#pragma omp parallel for num_threads(team(size_)) schedule(static)
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Leaf<R>& leaf = leaves_[order[i]];
    weight[i] = R::kWeighted && options_.weighted ? leaf.weight : leaf.count;
  }
  return weight;
}

template <class R>
std::vector<std::int64_t> Tree<R>::part_cuts(TreeCurve curve, int parts, SliceRule rule) {
  const std::vector<std::uint64_t> loads = leaf_loads(curve);
  return slice_on_ranks(support::Communicator(), loads, loads.size(), parts, rule);
}

template <class R>
void Tree<R>::write_parts(TreeCurve curve, std::span<const std::int64_t> cuts, std::span<std::int32_t> part) {
  const auto order = leaves(curve);
  const std::size_t parts = cuts.empty() ? 0 : cuts.size() - 1;
#pragma omp parallel for num_threads(team(size_)) schedule(dynamic)
  for (std::size_t p = 0; p < parts; ++p) {
    for (std::int64_t i = cuts[p]; i < cuts[p + 1]; ++i) {
      for (const R& r : leaves_[order[static_cast<std::size_t>(i)]].points()) part[r.id] = static_cast<std::int32_t>(p);
    }
  }
}

template <class R>
std::size_t Tree<R>::memory_bytes() const {
  const std::size_t numbers = unused_leaves_.capacity() + changed_.capacity() + order_.capacity();
  return memory_.bytes() + pool_.bytes() + leaves_.capacity() * sizeof(Leaf<R>) + numbers * sizeof(std::uint32_t) +
         entries_.bytes() + spare_.bytes();
}

template <class R>
DynamicSnapshot Tree<R>::snapshot() const {
  DynamicSnapshot shot;
  shot.tree.dim = dim_;
  shot.tree.level.assign(1, 0);
  if (size_ == 0) return shot;
  // Places of leaves in Morton order, then nodes breadth first.
  std::vector<std::uint32_t> first(leaves_.size());
  for (const std::uint32_t number : leaves_along(pool_, dim_, TreeCurve::morton, 1)) {
    first[number] = static_cast<std::uint32_t>(shot.ids.size());
    for (const R& r : leaves_[number].points()) {
      shot.ids.push_back(r.id);
      shot.coordinates.insert(shot.coordinates.end(), r.x, r.x + dim_);
      if constexpr (R::kWeighted) {
        if (options_.weighted) shot.weights.push_back(r.weight);
      }
    }
  }
  std::vector<std::uint32_t> number{0};
  std::vector<std::uint32_t> child;
  for (std::size_t begin = 0; begin < number.size();) {
    const std::size_t end = number.size();
    shot.tree.level.push_back(end);
    for (std::size_t i = begin; i < end; ++i) {
      const Node node = pool_.nodes[number[i]];
      child.push_back(node.leaf() ? 0 : static_cast<std::uint32_t>(number.size()));
      if (!node.leaf()) number.insert(number.end(), {node.child, node.child + 1});
    }
    begin = end;
  }
  const std::size_t nodes = number.size();
  shot.tree.nodes.resize_discard(nodes);
  shot.tree.split.resize_discard(nodes);
  for (std::size_t i = nodes; i-- > 0;) {
    const Node node = pool_.nodes[number[i]];
    auto& to = shot.tree.nodes[i];
    to = {0, pool_.info[number[i]].count, child[i], node.axis};
    to.first = node.leaf() ? first[node.leaf_number()] : shot.tree.nodes[child[i]].first;
    shot.tree.split[i] = node.leaf() ? 0 : node.plane;
  }
  shot.tree.order.resize_discard(size_);
  for (std::size_t i = 0; i < size_; ++i) shot.tree.order[i] = static_cast<std::uint32_t>(i);
  return shot;
}

namespace {

template <int D, bool Weighted>
std::unique_ptr<TreeBranch> make(int dim, const DynamicTreeOptions& options, int threads) {
  return std::make_unique<Tree<kd::Record<double, D, std::uint64_t, Weighted>>>(dim, options, threads);
}

}  // namespace

std::unique_ptr<TreeBranch> make_branch(int dim, const DynamicTreeOptions& options) {
  using support::InputError;
  if (dim < kMinDim || dim > kMaxDim)
    throw InputError("points have " + std::to_string(dim) + " dimensions: a kd-tree takes 2 to 16");
  if (options.bucket < 1 || options.bucket >= std::size_t{1} << 31)
    throw InputError("bucket is " + std::to_string(options.bucket) + ": must be from 1 to 2^31 - 1");
  if (!(options.merge >= 0 && options.merge < 1))
    throw InputError("merge is " + std::to_string(options.merge) + ": must be at least 0 and below 1");
  if (!(options.balance >= 0.55 && options.balance <= 1))
    throw InputError("balance is " + std::to_string(options.balance) + ": must be from 0.55 to 1");
  if (options.splitter == Splitter::sampled_median)
    throw InputError("splitter sampled_median: a dynamic tree takes midpoint, median or selection");
  const int threads = team_size(options.threads);
  // The common cases have records of their own; the others carry a weight always and zeros up to the next dimension.
  if (dim == 2) return options.weighted ? make<2, true>(dim, options, threads) : make<2, false>(dim, options, threads);
  if (dim == 3) return options.weighted ? make<3, true>(dim, options, threads) : make<3, false>(dim, options, threads);
  if (dim <= 6) return make<6, true>(dim, options, threads);
  if (dim <= 10) return make<10, true>(dim, options, threads);
  return make<16, true>(dim, options, threads);
}

}  // namespace dynamic

std::unique_ptr<DynamicTree> make_dynamic_tree(int dim, const DynamicTreeOptions& options) {
  return dynamic::make_branch(dim, options);
}

int median_levels(std::size_t points, std::size_t bucket) {
  int levels = 0;
  while (bucket << levels < points) ++levels;
  return levels;
}

}  // namespace amrbench::partitioners
