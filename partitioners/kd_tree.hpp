#pragma once
// kd-trees over points, in breadth-first linear storage.
//
// Format and invariants:
// - nodes[0] is the root; nodes of a level stand together, from left to right, and levels follow one another. The two
//   children of a node are neighbours: `child` (lower side) and `child + 1` (upper side). So the children of two
//   siblings that both have some stand four in a row, and a child's number is above its parent's.
// - node i covers order[first .. first + count); its children cut that stretch in two, and neither is empty. `order` is
//   a permutation of the points: the Morton order of the tree (lower side first everywhere). Points of a leaf stand by
//   ascending index.
// - along node i's axis every point of the lower child is <= split[i] and every point of the upper child >= split[i].
// - a leaf has at most `bucket` points, however many of them coincide. Without points there are no nodes.
// - the tree depends on the points (and weights) alone, not on threads.
//
// Index is std::uint32_t for fewer than 2^32 - 1 points (a node is 16 bytes, and `split` 8 more) and std::uint64_t, for
// twice that, above. A tree of n points has fewer than 2n nodes; with 32-bit indices there must be fewer than 2^32.
//
// Complexity: O(n) work a level. Memory besides input and result: one record a point (coordinates, index, weight if
// any, padded: 32 bytes in 3-D with double) and 16 bytes a node; the presorted median takes 4 * (dim + 1) + 1 bytes a
// point in place of records, and 32 bytes a point while it sorts.
// Source: document 001, sections 2.3.1 (build), 2.4.2 (threads) and 2.7 (linear storage).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "partitioners/points.hpp"
#include "partitioners/splitter.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

inline constexpr int kMinDim = 2;
inline constexpr int kMaxDim = 16;

template <class Index>
struct KdNode {
  Index first;         ///< its points: order[first .. first + count)
  Index count;         ///< >= 1
  Index child;         ///< lower child's number, the upper one's is child + 1; 0: a leaf
  std::uint32_t axis;  ///< of the split; 0 in leaves

  [[nodiscard]] bool leaf() const { return child == 0; }
};

template <class Index>
struct KdTree {
  support::PageBuffer<KdNode<Index>> nodes;
  support::PageBuffer<double> split;  ///< one a node, 0 in leaves
  support::PageBuffer<Index> order;   ///< one a point
  std::vector<std::size_t> level;  ///< level l's nodes: level[l] .. level[l + 1) - 1; levels + 1 numbers (1: no nodes)
  int dim = 0;
  std::size_t peak_bytes = 0;  ///< most memory held at once while it was built, this tree included

  [[nodiscard]] int levels() const { return static_cast<int>(level.size()) - 1; }
  [[nodiscard]] std::span<const KdNode<Index>> node_span() const { return {nodes.data(), nodes.size()}; }
  [[nodiscard]] std::span<const Index> order_span() const { return {order.data(), order.size()}; }
};

/// Where a curve begins; trees themselves do not depend on it.
struct CurveEntrance {
  std::uint8_t corner = 0;             ///< of the root's box; bit d: at the upper side of axis d
  std::optional<std::uint8_t> travel;  ///< the axis along which it leaves; empty: that of the first split
};

struct KdTreeOptions {
  SplitRule rule{};
  std::size_t bucket = 32;  ///< >= 1: most points of a leaf
  int threads = 0;          ///< 0: all that OpenMP offers
  /// >= 1: a parts-aware tree. Its leaves are the parts; `rule` and `bucket` do not count. A node that serves p parts
  /// splits its weight floor(p/2) : ceil(p/2) as exactly as points allow, so unweighted parts differ by one point at
  /// most. There are min(parts, points) leaves.
  int parts = 0;
  /// Of a parts-aware tree: a node of few parts is cut as parts/compact_cut.hpp says, others in halves of their parts.
  bool compact_parts = false;
  CurveEntrance entrance{};  ///< of orders and slices along a curve through the tree (traversal.hpp)
};

/// Builds the tree of `points` in dim 2 to 16. weights: one a point from fixed_point_weights(), or empty; they count
/// for medians and parts only. Throws support::InputError: a dimension out of range, data that is no multiple of it, a
/// coordinate that is NaN or infinite (with the index of the first such point), too many points for Index, a bucket of
/// 0, weights of another number.
template <class Index = std::uint32_t, class T>
KdTree<Index> build_kd_tree(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options);

}  // namespace amrbench::partitioners
