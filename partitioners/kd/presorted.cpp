// The build with the presorted median: every list is sorted once and partitioned from level to level. Subtrees that one
// thread builds get numbers, coordinates and marks of their own, so that they stay in its caches.
#include <cmath>

#include "partitioners/kd/builder.hpp"
#include "partitioners/kd/dispatch.hpp"
#include "partitioners/kd/lists.hpp"
#include "partitioners/ordered_bits.hpp"
#include "partitioners/radix_sort.hpp"

namespace amrbench::partitioners::kd {
namespace {

template <class T, class Index>
class PresortedBuilder {
  struct Work {
    std::size_t first;
    std::size_t count;
    int level;
  };

 public:
  PresortedBuilder(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                   int threads)
      : points_(points), weights_(weights), options_(options), threads_(threads) {}

  void build(KdTree<Index>& tree) {
    sort_lists();
    const std::size_t n = points_.size();
    upper_.resize_discard(n);
    spare_.resize_discard(n);
    std::vector<Piece<Index>> pieces;
    std::vector<Work> subtrees;
    build_top(pieces, subtrees);
    // The order overwrites the first list: a subtree reads its stretch before it writes there.
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t s = 0; s < subtrees.size(); ++s) {
      if (subtrees[s].count > 0) build_subtree(subtrees[s], pieces[s].nodes);
    }
    std::size_t nodes = 0;
    for (const auto& piece : pieces) nodes += piece.nodes.nodes.size();
    const std::size_t list_bytes = n * ((static_cast<std::size_t>(points_.dim) + 1) * sizeof(Index) + 1);
    const std::size_t pre_bytes = nodes * sizeof(PreNode<Index>);
    tree.peak_bytes = std::max(
        {sort_bytes_, list_bytes + pre_bytes, n * sizeof(Index) + pre_bytes + nodes * (sizeof(KdNode<Index>) + 8)});
    tree.order = std::move(lists_[0]);
    lists_.clear();
    spare_ = {};
    upper_ = {};
    assemble(std::move(pieces), threads_, tree);
  }

 private:
  void sort_lists() {
    const std::size_t n = points_.size();
    const auto dim = static_cast<std::size_t>(points_.dim);
    using Pair = KeyValue<decltype(ordered_bits(T{})), Index>;
    support::PageBuffer<Pair> pairs(n), spare(n);
    bool finite = true;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(&& : finite)
    for (std::size_t i = 0; i < n * dim; ++i) finite = finite && std::isfinite(points_.data[i]);
    if (!finite) refuse_first(points_);
    lists_.resize(dim);
    for (std::size_t d = 0; d < dim; ++d) {
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::size_t i = 0; i < n; ++i) pairs[i] = {ordered_bits(points_.data[i * dim + d]), static_cast<Index>(i)};
      radix_sort(pairs, spare, threads_);
      lists_[d].resize_discard(n);
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::size_t i = 0; i < n; ++i) lists_[d][i] = pairs[i].value;
    }
    sort_bytes_ = n * (2 * sizeof(Pair) + dim * sizeof(Index));
  }

  void build_top(std::vector<Piece<Index>>& pieces, std::vector<Work>& subtrees) {
    const std::size_t small = subtree_size(points_.size());
    Lists<T, Index> lists{points_.dim,         {},
                          points_.data.data(), weights_.empty() ? nullptr : weights_.data(),
                          upper_.data(),       spare_.data()};
    for (auto& l : lists_) lists.list.push_back(l.data());
    std::vector<Work> stack{{0, points_.size(), 0}};
    while (!stack.empty()) {
      const Work w = stack.back();
      stack.pop_back();
      pieces.push_back({w.level, w.first, {}});
      subtrees.push_back(w);
      if (w.count <= small || w.count <= options_.bucket) continue;
      subtrees.back().count = 0;
      const int axis = longest_axis(lists, w.first, w.count);
      const Cut cut = cut_lists(lists, w.first, w.count, axis, options_.rule.at(w.level));
      split_lists(lists, w.first, w.count, axis, cut.count, threads_);
      pieces.back().nodes.add(0, w.count, static_cast<std::uint32_t>(axis), cut.value);
      stack.push_back({w.first + cut.count, w.count - cut.count, w.level + 1});
      stack.push_back({w.first, cut.count, w.level + 1});
    }
  }

  void build_subtree(const Work& root, Preorder<Index>& out) {
    const auto dim = static_cast<std::size_t>(points_.dim);
    const std::size_t n = root.count;
    // Numbers by place in the first list; spare_ maps ids to them (no other thread uses these ids).
    std::vector<Index> ids(n), numbers(n * dim), spare(n);
    std::vector<T> x(n * dim);
    std::vector<std::uint64_t> weight(weights_.empty() ? 0 : n);
    std::vector<std::uint8_t> upper(n);
    for (std::size_t k = 0; k < n; ++k) {
      ids[k] = lists_[0][root.first + k];
      spare_[ids[k]] = static_cast<Index>(k);
      std::copy_n(points_[ids[k]], dim, x.data() + k * dim);
      if (!weight.empty()) weight[k] = weights_[ids[k]];
    }
    Lists<T, Index> lists{points_.dim,  {},          x.data(), weight.empty() ? nullptr : weight.data(),
                          upper.data(), spare.data()};
    for (std::size_t d = 0; d < dim; ++d) {
      lists.list.push_back(numbers.data() + d * n);
      for (std::size_t k = 0; k < n; ++k) lists.list[d][k] = spare_[lists_[d][root.first + k]];
    }
    std::vector<Work> stack{{0, n, root.level}};
    while (!stack.empty()) {
      const Work w = stack.back();
      stack.pop_back();
      if (w.count <= options_.bucket) {
        Index* order = lists_[0].data() + root.first + w.first;
        for (std::size_t i = 0; i < w.count; ++i) order[i] = ids[lists.list[0][w.first + i]];
        std::sort(order, order + w.count);
        out.add(w.level - root.level, w.count, kLeaf, 0);
        continue;
      }
      const int axis = longest_axis(lists, w.first, w.count);
      const Cut cut = cut_lists(lists, w.first, w.count, axis, options_.rule.at(w.level));
      split_lists(lists, w.first, w.count, axis, cut.count);
      out.add(w.level - root.level, w.count, static_cast<std::uint32_t>(axis), cut.value);
      stack.push_back({w.first + cut.count, w.count - cut.count, w.level + 1});
      stack.push_back({w.first, cut.count, w.level + 1});
    }
  }

  PointView<T> points_;
  std::span<const std::uint64_t> weights_;
  const KdTreeOptions& options_;
  int threads_;
  std::vector<support::PageBuffer<Index>> lists_;
  support::PageBuffer<Index> spare_;
  support::PageBuffer<std::uint8_t> upper_;
  std::size_t sort_bytes_ = 0;
};

}  // namespace

template <class T, class Index>
void build_presorted(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                     int threads, KdTree<Index>& tree) {
  PresortedBuilder<T, Index>(points, weights, options, threads).build(tree);
}

template void build_presorted(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                              KdTree<std::uint32_t>&);
#if defined(AMRBENCH_ALL_KD_TREES)
template void build_presorted(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                              KdTree<std::uint32_t>&);
template void build_presorted(PointView<float>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                              KdTree<std::uint64_t>&);
template void build_presorted(PointView<double>, std::span<const std::uint64_t>, const KdTreeOptions&, int,
                              KdTree<std::uint64_t>&);
#endif

}  // namespace amrbench::partitioners::kd
