#pragma once
// The walk along a curve through the nodes of a kd-tree: by traversal.cpp through whole trees, by distributed_tree.cpp
// through the top of one whose lower nodes lie on several ranks.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/curve_rules.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners {

/// Walks the nodes of a tree along a curve; the tree must outlive it.
template <class Index>
class CurveWalker {
 public:
  CurveWalker(std::span<const KdNode<Index>> nodes, int dim, TreeCurve curve)
      : nodes_(nodes), dim_(dim), curve_(curve) {}

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

  /// Calls leaf(node, number) for every leaf below `root` in curve order.
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

  /// What is below `start` cut into cells of at most `most` points where it can be, in curve order.
  [[nodiscard]] std::vector<CurveState<Index>> pieces(const CurveState<Index>& start, std::size_t most) const {
    std::vector<CurveState<Index>> done;
    if (nodes_.empty()) return done;
    std::vector<CurveState<Index>> stack{start};
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

}  // namespace amrbench::partitioners
