#pragma once
// Orders and slices of points along a curve, on records, without a tree of all points.
//
// 1. Nodes above a few thousand points are split as by Builder, level by level, and the curve is walked through them.
// 2. Its cells are done by one thread each. For the order a cell's tree is built, walked and forgotten. For slices
//    alone a node is split as far as the curve looks ahead, only if its points do not all fall in one slice.
// Only this folder and kd_tree.cpp include this.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/curve_walk.hpp"
#include "partitioners/kd/builder.hpp"
#include "partitioners/slices.hpp"

namespace amrbench::partitioners::kd {

template <class R>
class CurveBuilder : private Builder<R> {
  using Base = Builder<R>;
  using Base::build_subtree;
  using Base::copy_points;
  using Base::is_leaf;
  using Base::options_;
  using Base::order_;
  using Base::points_;
  using Base::records_;
  using Base::split;
  using Base::threads_;
  using typename Base::Index;
  using typename Base::Split;
  using typename Base::Work;

 public:
  using Base::Base;

  /// Writes the points along `curve`, those of a leaf by index, to `order`; returns the most bytes held at once.
  std::size_t order_along(TreeCurve curve, std::span<Index> order) {
    const std::size_t n = points_.size();
    records_.resize_discard(n);
    copy_points();
    support::PageBuffer<Index> tree_order(n);
    order_ = tree_order.data();
    std::vector<KdNode<Index>> nodes;
    std::vector<Work> works;
    build_upper(nodes, works);
    const CurveWalker<Index> walker(nodes, points_.dim, curve);
    const auto cells = walker.pieces(curve_start<Index>(nodes, options_.entrance), kCell);
    std::vector<std::size_t> start{0};
    for (const auto& cell : cells) start.push_back(start.back() + nodes[cell.node].count);
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t c = 0; c < cells.size(); ++c) order_cell(curve, cells[c], works[cells[c].node], &order[start[c]]);
    const std::size_t cell_bytes = 2 * kCell * (sizeof(PreNode<Index>) + sizeof(KdNode<Index>) + sizeof(double));
    return n * (sizeof(R) + sizeof(Index)) + nodes.size() * (sizeof(KdNode<Index>) + sizeof(Work)) +
           static_cast<std::size_t>(threads_) * cell_bytes;
  }

  /// Writes the slice of each point's place along `curve` (slices.hpp) to `part`; returns the most bytes held at once.
  std::size_t slice_along(TreeCurve curve, int slices, std::span<std::int32_t> part) {
    const std::size_t n = points_.size();
    records_.resize_discard(n);
    copy_points();
    const Work root{0, n, 0, options_.parts};
    Slicing slicing{curve, slices, weight_of(Team{threads_}, root), true, part};
    slicing.by_weight = slicing.total > 0;
    if (!slicing.by_weight) slicing.total = n;
    // Large nodes by all threads, one after another, then what is below by one thread each.
    const CurveEntrance& entrance = options_.entrance;
    std::vector<Stretch> large{{root, entrance.corner, entrance.travel.value_or(kOwnAxis), 0}}, cells, children;
    Scratch scratch;
    while (!large.empty()) {
      const Stretch at = large.back();
      large.pop_back();
      if (at.work.count <= subtree_size(n) || is_leaf(at.work)) {
        cells.push_back(at);
      } else {
        children.clear();
        add_children(Team{threads_}, slicing, at, scratch, children);
        large.insert(large.end(), children.begin(), children.end());
      }
    }
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
    for (std::size_t c = 0; c < cells.size(); ++c) slice_cell(slicing, cells[c]);
    return n * sizeof(R) + cells.size() * sizeof(Stretch);
  }

 private:
  static constexpr std::uint8_t kOwnAxis = 255;  ///< travel: along the node's own split
  struct Slicing {
    TreeCurve curve;
    int slices;
    std::uint64_t total;  ///< weight, or points where there is none
    bool by_weight;
    std::span<std::int32_t> part;
  };
  /// A node and what is below it, as far as the curve looks ahead.
  struct Scratch {
    std::vector<KdNode<Index>> nodes;
    std::vector<Work> works;
  };
  /// A node to be walked, and what lies before it along the curve.
  struct Stretch {
    Work work;
    std::uint8_t entry, travel;
    std::uint64_t before;
  };

  static constexpr std::size_t kCell = 8192;  ///< points whose records, nodes and order stay in a core's caches

  /// Nodes of more than kCell points and two levels below each, as far as the tree goes: a curve looks so far ahead.
  /// works: of each node.
  void build_upper(std::vector<KdNode<Index>>& nodes, std::vector<Work>& works) {
    const std::size_t small = subtree_size(points_.size());
    std::vector<int> levels_below{0};  // to be split, the node's own included
    works.push_back({0, points_.size(), 0, options_.parts});
    for (std::size_t first = 0; first < works.size();) {
      const std::size_t last = works.size();
      std::vector<std::size_t> large, few;
      for (std::size_t i = first; i < last; ++i) {
        if (works[i].count > kCell) levels_below[i] = 3;
        if (levels_below[i] > 0 && !is_leaf(works[i])) (works[i].count > small ? large : few).push_back(i);
      }
      std::vector<Split> splits(last - first);
      for (const std::size_t i : large) splits[i - first] = split(Team{threads_}, works[i]);
#pragma omp parallel for num_threads(threads_) schedule(dynamic)
      for (std::size_t k = 0; k < few.size(); ++k) splits[few[k] - first] = split(Single{}, works[few[k]]);
      for (std::size_t i = first; i < last; ++i) {
        const bool inner = levels_below[i] > 0 && !is_leaf(works[i]);
        const Split& s = splits[i - first];
        nodes.push_back({static_cast<Index>(works[i].first), static_cast<Index>(works[i].count),
                         inner ? static_cast<Index>(works.size()) : Index{0},
                         inner ? static_cast<std::uint32_t>(s.axis) : 0});
        if (!inner) continue;
        works.push_back(s.lower);
        works.push_back(s.upper);
        levels_below.insert(levels_below.end(), 2, levels_below[i] - 1);
      }
      first = last;
    }
  }

  /// Builds the tree of one cell and writes its points along the curve.
  void order_cell(TreeCurve curve, const CurveState<Index>& cell, const Work& work, Index* to) {
    Piece<Index> piece{0, work.first, {}};
    build_subtree(work, piece.nodes);
    KdTree<Index> tree;
    std::vector<Piece<Index>> pieces;
    pieces.push_back(std::move(piece));
    assemble(std::move(pieces), 1, tree);
    const auto nodes = tree.node_span();
    const CurveState<Index> start =
        cell.node == 0 ? curve_start(nodes, options_.entrance) : CurveState<Index>{0, cell.entry, cell.travel};
    CurveWalker<Index>(nodes, points_.dim, curve).walk(start, [&](const KdNode<Index>& leaf, Index) {
      to = std::copy_n(order_ + leaf.first, leaf.count, to);
    });
  }

  template <class Exec>
  [[nodiscard]] std::uint64_t weight_of(const Exec& exec, const Work& w) const {
    return static_cast<std::uint64_t>(exec.mass(records_.data() + w.first, w.count) >> kCountBits);
  }

  void slice_cell(const Slicing& s, const Stretch& root) {
    std::vector<Stretch> stack{root};
    Scratch scratch;
    while (!stack.empty()) {
      const Stretch at = stack.back();
      stack.pop_back();
      const R* r = records_.data() + at.work.first;
      // Middles of weights lie in [before, before + weight], of points half a point inside.
      const Mass first = 2 * static_cast<Mass>(at.before);
      const Mass length = 2 * static_cast<Mass>(s.by_weight ? weight_of(Single{}, at.work) : at.work.count);
      const std::int32_t slice = slice_at(first, s.total, s.slices);
      if (slice == slice_at(first + length - (s.by_weight ? 0 : 1), s.total, s.slices)) {
        for (std::size_t i = 0; i < at.work.count; ++i) s.part[r[i].id] = slice;
      } else if (is_leaf(at.work)) {
        slice_leaf(s, at);
      } else {
        add_children(Single{}, s, at, scratch, stack);
      }
    }
  }

  /// Appends the node's cells along the curve.
  template <class Exec>
  void add_children(const Exec& exec, const Slicing& s, const Stretch& at, Scratch& scratch,
                    std::vector<Stretch>& out) {
    expand(exec, at.work, s.curve, scratch);
    const auto& nodes = scratch.nodes;
    const std::uint8_t travel = at.travel == kOwnAxis ? static_cast<std::uint8_t>(nodes[0].axis) : at.travel;
    const auto cells = CurveWalker<Index>(nodes, points_.dim, s.curve).cells({0, at.entry, travel});
    std::uint64_t before = at.before;
    for (int c = 0; c < cells.count; ++c) {
      const auto& cell = cells.state[static_cast<std::size_t>(c)];
      const Work& work = scratch.works[cell.node];
      out.push_back({work, cell.entry, cell.travel, before});
      before += s.by_weight ? weight_of(exec, work) : work.count;
    }
  }

  /// A leaf's points go by index.
  void slice_leaf(const Slicing& s, const Stretch& at) {
    std::vector<std::pair<Index, std::uint64_t>> points;
    for (std::size_t i = at.work.first; i < at.work.first + at.work.count; ++i) {
      std::uint64_t weight = 1;
      if constexpr (R::kWeighted) weight = s.by_weight ? records_[i].weight : 1;
      points.push_back({records_[i].id, weight});
    }
    std::sort(points.begin(), points.end());
    Mass twice = 2 * static_cast<Mass>(at.before);
    for (const auto& [id, weight] : points) {
      s.part[id] = slice_at(twice + weight, s.total, s.slices);
      twice += 2 * static_cast<Mass>(weight);
    }
  }

  /// The node and as many levels below as the curve looks ahead.
  template <class Exec>
  void expand(const Exec& exec, const Work& root, TreeCurve curve, Scratch& scratch) {
    auto& [nodes, works] = scratch;
    const int levels = curve == TreeCurve::morton ? 1 : points_.dim == 2 ? 2 : 3;
    nodes.clear();
    works.assign(1, root);
    for (std::size_t i = 0; i < works.size(); ++i) {
      const Work w = works[i];
      KdNode<Index> node{static_cast<Index>(w.first), static_cast<Index>(w.count), 0, 0};
      if (w.level - root.level < levels && !is_leaf(w)) {
        const Split s = split(exec, w);
        node.child = static_cast<Index>(works.size());
        node.axis = static_cast<std::uint32_t>(s.axis);
        works.push_back(s.lower);
        works.push_back(s.upper);
      }
      nodes.push_back(node);
    }
  }
};

}  // namespace amrbench::partitioners::kd
