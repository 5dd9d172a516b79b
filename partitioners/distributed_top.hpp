#pragma once
// The upper nodes of a kd-tree whose points are spread over ranks, decided by all of them level by level.
//
// Nodes of more than `cell_points` points are split, and two levels below each of them, as far as the tree goes: a
// curve looks so far ahead, so its walk can stop at every cell of at most `cell_points` points. Every rank ends with
// the same nodes, in the numbering of KdTree, and its own records grouped by them. Each level costs two reductions of
// boxes, one of counts, and the passes of its cuts (distributed_cut.hpp). Only distributed_*.cpp include this.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioners/distributed_cut.hpp"
#include "partitioners/kd/record.hpp"
#include "partitioners/kd_tree.hpp"

namespace amrbench::partitioners::kd {

/// What a node of the top has besides its KdNode.
struct TopNode {
  std::size_t begin = 0, end = 0;  ///< this rank's records
  std::uint64_t weight = 0;
  int level = 0;
  int parts = 0;
  int lower_parts = 0;   ///< of a split parts-aware node: those below the cut
  int splits_below = 0;  ///< levels to split from here on, this one included
};

template <class R>
class TopBuilder {
  using Scalar = typename R::Scalar;
  using NodeBox = Box<Scalar, R::kDim>;
  static constexpr std::size_t kDim = static_cast<std::size_t>(R::kDim);

 public:
  /// Borrows all but numbers for its life; `records` are reordered.
  TopBuilder(const support::Communicator& comm, std::vector<R>& records, const KdTreeOptions& options, int threads,
             std::uint64_t cell_points)
      : comm_(comm), records_(records), options_(options), threads_(threads), cell_points_(cell_points) {}

  /// count, weight: of all ranks' records; count >= 1. Collective.
  void build(std::uint64_t count, std::uint64_t weight) {
    count_ = count;
    nodes.push_back({0, count, 0, 0});
    top.push_back({0, records_.size(), weight, 0, options_.parts, 0, 0});
    for (std::size_t first = 0; first < nodes.size();) {
      const std::size_t last = nodes.size();
      std::vector<std::size_t> active;
      for (std::size_t i = first; i < last; ++i) {
        if (nodes[i].count > cell_points_) top[i].splits_below = 3;
        if (top[i].splits_below > 0 && !leaf(i)) active.push_back(i);
      }
      if (!active.empty()) split(active);
      first = last;
    }
  }

  std::vector<KdNode<std::uint64_t>> nodes;
  std::vector<TopNode> top;  ///< of each node
  int passes = 0;            ///< reductions of bins

  /// By the tree's own rule.
  [[nodiscard]] bool leaf(std::size_t i) const {
    return options_.parts > 0 ? top[i].parts == 1 || nodes[i].count == 1 : nodes[i].count <= options_.bucket;
  }

 private:
  /// Tight boxes of nodes on all ranks.
  std::vector<NodeBox> boxes(const std::vector<std::size_t>& active) const {
    std::vector<Scalar> low, high;
    for (const std::size_t i : active) {
      const R* r = records_.data() + top[i].begin;
      const std::size_t n = top[i].end - top[i].begin;
      const NodeBox box = n > Team::kChunk ? Team{threads_}.box(r, n) : Single{}.box(r, n);
      low.insert(low.end(), box.lo.begin(), box.lo.end());
      high.insert(high.end(), box.hi.begin(), box.hi.end());
    }
    support::all_min(comm_, std::span(low));
    support::all_max(comm_, std::span(high));
    std::vector<NodeBox> result(active.size());
    for (std::size_t a = 0; a < active.size(); ++a) {
      std::copy_n(low.begin() + static_cast<std::ptrdiff_t>(a * kDim), kDim, result[a].lo.begin());
      std::copy_n(high.begin() + static_cast<std::ptrdiff_t>(a * kDim), kDim, result[a].hi.begin());
    }
    return result;
  }

  void split(const std::vector<std::size_t>& active) {
    const std::vector<NodeBox> box = boxes(active);
    std::vector<std::size_t> cut(active.size());
    std::vector<CutSearch> searches;
    std::vector<std::size_t> searched;
    for (std::size_t a = 0; a < active.size(); ++a) {
      const std::size_t i = active[a];
      const int axis = axis_of(i, box[a]);
      nodes[i].axis = static_cast<std::uint32_t>(axis);
      const Scalar lo = box[a].lo[static_cast<std::size_t>(axis)], hi = box[a].hi[static_cast<std::size_t>(axis)];
      if (options_.parts == 0 && options_.rule.at(top[i].level) == Splitter::midpoint && lo < hi) {
        cut[a] = top[i].begin + partition_by_team(records_.data() + top[i].begin, top[i].end - top[i].begin,
                                                  UpTo<R>{middle(lo, hi), axis}, threads_);
      } else {
        searches.push_back(search_of(i, axis, static_cast<double>(lo), static_cast<double>(hi)));
        searched.push_back(a);
      }
    }
    CutSearches<R> cuts(comm_, records_, count_, threads_);
    cuts.run(searches);
    passes += cuts.passes();
    for (std::size_t s = 0; s < searches.size(); ++s) cut[searched[s]] = searches[s].cut;
    add_children(active, cut);
  }

  /// Across which the node is cut; notes how its parts are shared.
  int axis_of(std::size_t i, const NodeBox& box) {
    if (options_.parts == 0) return longest_axis(box);
    const PartsCut cut = parts_cut(box, parts_of(i), options_.compact_parts);
    top[i].lower_parts = cut.lower;
    return cut.axis;
  }

  /// Parts that the node serves, no more than it has points.
  [[nodiscard]] int parts_of(std::size_t i) const {
    return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(top[i].parts), nodes[i].count));
  }

  CutSearch search_of(std::size_t i, int axis, double low, double high) {
    CutSearch s;
    s.begin = top[i].begin;
    s.end = top[i].end;
    s.axis = axis;
    s.low = low;
    s.high = high;
    s.mass = (static_cast<Mass>(top[i].weight) << kCountBits) + static_cast<Mass>(nodes[i].count);
    s.most = nodes[i].count - 1;
    if (options_.parts > 0) {
      const auto parts = static_cast<std::uint64_t>(parts_of(i));
      s.num = s.least = static_cast<std::uint64_t>(top[i].lower_parts);
      s.den = parts;
      s.most = nodes[i].count - (parts - s.least);
    }
    return s;
  }

  void add_children(const std::vector<std::size_t>& active, const std::vector<std::size_t>& cut) {
    std::vector<std::uint64_t> lower(2 * active.size());  // counts and weights
    for (std::size_t a = 0; a < active.size(); ++a) {
      const R* r = records_.data() + top[active[a]].begin;
      const std::size_t n = cut[a] - top[active[a]].begin;
      const Mass mass = n > Team::kChunk ? Team{threads_}.mass(r, n) : Single{}.mass(r, n);
      lower[2 * a] = n;
      lower[2 * a + 1] = static_cast<std::uint64_t>(mass >> kCountBits);
    }
    support::all_sum(comm_, std::span(lower));
    for (std::size_t a = 0; a < active.size(); ++a) {
      const std::size_t i = active[a];
      const TopNode node = top[i];
      const std::uint64_t below = lower[2 * a], weight = lower[2 * a + 1];
      const int parts = parts_of(i);
      nodes[i].child = nodes.size();
      nodes.push_back({nodes[i].first, below, 0, 0});
      nodes.push_back({nodes[i].first + below, nodes[i].count - below, 0, 0});
      top.push_back({node.begin, cut[a], weight, node.level + 1, node.lower_parts, 0, node.splits_below - 1});
      top.push_back(
          {cut[a], node.end, node.weight - weight, node.level + 1, parts - node.lower_parts, 0, node.splits_below - 1});
    }
  }

  const support::Communicator& comm_;
  std::vector<R>& records_;
  const KdTreeOptions& options_;
  int threads_;
  std::uint64_t cell_points_;
  std::uint64_t count_ = 0;
};

}  // namespace amrbench::partitioners::kd
