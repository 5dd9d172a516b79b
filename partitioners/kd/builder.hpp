#pragma once
// The kd-tree build on records (every splitter but the presorted median).
//
// 1. Points are copied into records and checked.
// 2. Nodes above a size that depends on n alone are split by all threads together (Team), outermost first.
// 3. The subtrees below are built depth first, one thread each, the largest first; from some size on their records stay
//    in a core's caches. A leaf writes its points' indices to the order.
// 4. Nodes are renumbered breadth first.
// Only this folder and kd_tree.cpp include this.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partitioners/kd/exec.hpp"
#include "partitioners/kd/preorder.hpp"
#include "partitioners/kd/record.hpp"
#include "partitioners/kd/select.hpp"
#include "partitioners/kd_tree.hpp"
#include "support/error.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners::kd {

/// Points per subtree that one thread builds, so that there are at least some 32 of them.
inline std::size_t subtree_size(std::size_t n) {
  return std::clamp<std::size_t>(n / 32, 4096, std::size_t{1} << 18);
}

/// Throws InputError that names the first point with a coordinate that is NaN or infinite; there is one.
template <class T>
[[noreturn]] void refuse_first(PointView<T> points) {
  const auto dim = static_cast<std::size_t>(points.dim);
  const auto bad = std::find_if(points.data.begin(), points.data.end(), [](T v) { return !std::isfinite(v); });
  const auto at = static_cast<std::size_t>(bad - points.data.begin());
  throw support::InputError("point " + std::to_string(at / dim) + " has coordinate " + std::to_string(at % dim) +
                            " = " + std::to_string(*bad) + ": coordinates must be finite");
}

template <class R>
class Builder {
 protected:
  using Scalar = typename R::Scalar;
  using Index = typename R::Index;
  static constexpr int kDim = R::kDim;

  struct Work {
    std::size_t first;
    std::size_t count;
    int level;
    int parts;
  };
  struct Split {
    int axis;
    double value;
    Work lower, upper;
  };

 public:
  /// dim <= R::kDim; what records have beyond it is 0.
  Builder(PointView<Scalar> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options, int threads)
      : points_(points), weights_(weights), options_(options), threads_(threads) {}

  void build(KdTree<Index>& tree) {
    const std::size_t n = points_.size();
    records_.resize_discard(n);
    copy_points();
    tree.order.resize_discard(n);
    order_ = tree.order.data();
    std::vector<Piece<Index>> pieces;
    std::vector<Work> subtrees;
    build_top({0, n, 0, options_.parts}, pieces, subtrees);
    build_subtrees(pieces, subtrees);
    std::size_t nodes = 0;
    for (const auto& piece : pieces) nodes += piece.nodes.nodes.size();
    const std::size_t pre_bytes = nodes * sizeof(PreNode<Index>);
    const std::size_t order_bytes = n * sizeof(Index);
    const std::size_t record_bytes = n * sizeof(R);
    tree.peak_bytes =
        order_bytes + pre_bytes + std::max(record_bytes, nodes * (sizeof(KdNode<Index>) + sizeof(double)));
    records_ = {};
    assemble(std::move(pieces), threads_, tree);
  }

 protected:
  void copy_points() {
    const std::size_t n = points_.size();
    const auto dim = static_cast<std::size_t>(points_.dim);
    bool finite = true;
#pragma omp parallel for num_threads(threads_) schedule(static) reduction(&& : finite)
    for (std::size_t i = 0; i < n; ++i) {
      R r{};
      const Scalar* x = points_.data.data() + i * dim;
      bool ok = true;
      for (std::size_t d = 0; d < dim; ++d) {
        r.x[d] = x[d];
        ok = ok && std::isfinite(x[d]);
      }
      finite = finite && ok;
      r.id = static_cast<Index>(i);
      if constexpr (R::kWeighted) r.weight = weights_.empty() ? 0 : weights_[i];
      records_[i] = r;
    }
    if (!finite) refuse_first(points_);
  }

  [[nodiscard]] bool is_leaf(const Work& w) const {
    return options_.parts > 0 ? w.parts == 1 || w.count == 1 : w.count <= options_.bucket;
  }

  /// Splits large nodes in preorder; every smaller one becomes an empty piece to be built by one thread.
  void build_top(const Work& root, std::vector<Piece<Index>>& pieces, std::vector<Work>& subtrees) {
    const std::size_t small = subtree_size(points_.size());
    std::vector<Work> stack{root};
    while (!stack.empty()) {
      const Work w = stack.back();
      stack.pop_back();
      pieces.push_back({w.level, w.first, {}});
      subtrees.push_back(w);
      if (w.count <= small || is_leaf(w)) continue;
      subtrees.back().count = 0;  // nothing left to do
      split(Team{threads_}, w, 0, pieces.back().nodes, stack);
    }
  }

  void build_subtrees(std::vector<Piece<Index>>& pieces, const std::vector<Work>& subtrees) {
    std::vector<std::size_t> turn;
    for (std::size_t i = 0; i < subtrees.size(); ++i) {
      if (subtrees[i].count > 0) turn.push_back(i);
    }
    std::sort(turn.begin(), turn.end(), [&](std::size_t a, std::size_t b) {
      return subtrees[a].count != subtrees[b].count ? subtrees[a].count > subtrees[b].count : a < b;
    });
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t t = 0; t < turn.size(); ++t) build_subtree(subtrees[turn[t]], pieces[turn[t]].nodes);
  }

  void build_subtree(const Work& root, Preorder<Index>& out) {
    std::vector<Work> stack{root};
    while (!stack.empty()) {
      const Work w = stack.back();
      stack.pop_back();
      if (is_leaf(w)) {
        emit_leaf(w, root.level, out);
      } else {
        split(Single{}, w, root.level, out, stack);
      }
    }
  }

  void emit_leaf(const Work& w, int base, Preorder<Index>& out) {
    Index* order = order_ + w.first;
    for (std::size_t i = 0; i < w.count; ++i) order[i] = records_[w.first + i].id;
    std::sort(order, order + w.count);
    out.add(w.level - base, w.count, kLeaf, 0);
  }

  /// Splits one node, emits it and pushes its children, the lower one on top. Pieces of the top have base = level.
  template <class Exec>
  void split(const Exec& exec, const Work& w, int base, Preorder<Index>& out, std::vector<Work>& stack) {
    const Split s = split(exec, w);
    out.add(std::is_same_v<Exec, Team> ? 0 : w.level - base, w.count, static_cast<std::uint32_t>(s.axis), s.value);
    stack.push_back(s.upper);
    stack.push_back(s.lower);
  }

  template <class Exec>
  Split split(const Exec& exec, const Work& w) {
    R* r = records_.data() + w.first;
    const auto box = exec.box(r, w.count);
    int axis = longest_axis(box);
    Cut cut{};
    Work lower{w.first, 0, w.level + 1, 0};
    Work upper{w.first, w.count, w.level + 1, 0};
    if (options_.parts > 0) {
      const int parts = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(w.parts), w.count));
      const PartsCut wanted = parts_cut(box, parts, options_.compact_parts);
      axis = wanted.axis;
      lower.parts = wanted.lower;
      upper.parts = parts - lower.parts;
      cut = Selector<R>(r, w.count, axis)
                .share(exec, static_cast<std::uint64_t>(lower.parts), static_cast<std::uint64_t>(parts),
                       static_cast<std::size_t>(lower.parts), static_cast<std::size_t>(upper.parts));
    } else {
      cut = cut_node(exec, r, w, box.lo[axis], box.hi[axis], axis);
    }
    lower.count = cut.count;
    upper.first += cut.count;
    upper.count -= cut.count;
    return {axis, cut.value, lower, upper};
  }

  template <class Exec>
  Cut cut_node(const Exec& exec, R* r, const Work& w, Scalar lo, Scalar hi, int axis) {
    const Splitter splitter = options_.rule.at(w.level);
    if (splitter == Splitter::midpoint && lo < hi) {
      const Scalar value = middle(lo, hi);
      return {exec.partition(r, w.count, UpTo<R>{value, axis}), static_cast<double>(value)};
    }
    if (splitter == Splitter::sampled_median && w.count > kSampleAll) return cut_by_sample(exec, r, w.count, axis);
    return Selector<R>(r, w.count, axis).share(exec, 1, 2, 1, 1);
  }

  static constexpr std::size_t kSampleAll = 64;  ///< smaller nodes are their own sample

  /// Splits at the median of records taken at equal distances. How records stand in memory does not depend on threads.
  template <class Exec>
  Cut cut_by_sample(const Exec& exec, R* r, std::size_t n, int axis) {
    const std::size_t size = std::clamp<std::size_t>(n / 1000, kSampleAll - 1, 4095);
    std::vector<R> sample;
    sample.reserve(size);
    for (std::size_t i = 0; i < size; ++i) sample.push_back(r[(2 * i + 1) * n / (2 * size)]);
    const Cut middle_one = Selector<R>(sample.data(), size, axis).share(Single{}, 1, 2, 1, 1);
    // The largest key of the sample's lower half; some key of the sample is larger, so both sides get points.
    const R& pivot = *std::max_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(middle_one.count),
                                       KeyLess<R>{axis});
    return {exec.partition(r, n, up_to(pivot, axis)), static_cast<double>(pivot.x[axis])};
  }

  PointView<Scalar> points_;
  std::span<const std::uint64_t> weights_;
  const KdTreeOptions& options_;
  int threads_;
  support::PageBuffer<R> records_;
  Index* order_ = nullptr;
};

}  // namespace amrbench::partitioners::kd
