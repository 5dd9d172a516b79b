#pragma once
// Space-filling curves as traversals of a kd-tree.
//
// - morton, any dimension: the lower child first everywhere, which is the tree's own order.
// - hilbert, dimension 2 and 3: Hilbert's rule at nodes that are fully resolved (below); elsewhere, where that curve is
//   not defined, the child at the entry first, both children entered like their parent.
// - gensfc, dimension 2 and 3: Hilbert's rule over the 2, 4 or 8 cells that a node resolves into, cis and trans rules
//   where it resolves into 2.
//
// A node resolves into 4 cells when both children split along one axis that is not its own, and in 3-D into 8 when the
// four grandchildren all split along the third axis. The state of a node is the corner where the curve enters and the
// axis along which it travels: it leaves at the corner opposite the entry along that axis, and the next cell's entry is
// that corner seen from the other side of the common face. States follow from the parent's alone, so parts of the tree
// are traversed in any order, by any number of threads, with one result. Stacks are explicit: the depth of the tree
// does not matter.
//
// On a grid of 2^k points a side under `midpoint` with bucket 1, hilbert and gensfc step from a point to a neighbour
// across a face, always. On other inputs curve_length() and curve_jumps() measure how far steps go.
// Source: document 001, sections 3.1 (2-D rules), 4.1-4.3 (3-D rules, look-ahead, resolution), 4.5 (parallel).
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "partitioners/points.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

enum class TreeCurve : std::uint8_t { morton, hilbert, gensfc };

std::string_view tree_curve_name(TreeCurve curve);

/// A node to be traversed, entered at corner `entry` (bit d: at the upper side of axis d), to be left at
/// entry ^ (1 << travel).
template <class Index>
struct CurveState {
  Index node;
  std::uint8_t entry;
  std::uint8_t travel;
};

/// Where a curve begins: it enters the root at the lowest corner and travels along the first split, unless told
/// otherwise.
template <class Index>
CurveState<Index> curve_start(std::span<const KdNode<Index>> nodes, const CurveEntrance& entrance = {}) {
  return {0, entrance.corner, entrance.travel.value_or(static_cast<std::uint8_t>(nodes.empty() ? 0 : nodes[0].axis))};
}

/// Points along the curve: a permutation. Points of a leaf stand as in tree.order. Throws support::InputError for
/// hilbert and gensfc in other dimensions than 2 and 3. O(nodes + points); memory beside the result O(depth) a thread.
template <class Index>
support::PageBuffer<Index> curve_order(const KdTree<Index>& tree, TreeCurve curve, int threads = 0);

/// The same of build_kd_tree(points, weights, options) without keeping that tree: cells of a few thousand points are
/// built, walked and forgotten by one thread each, so memory besides input and result is a record and an index a point
/// (3-D double: 36 bytes). `median` and `sampled_median` build the tree. order: one a point. Returns the most bytes
/// held at once besides input and order. Errors as of both.
template <class Index, class T>
std::size_t curve_order(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                        TreeCurve curve, std::span<Index> order);

/// The slice (slices.hpp) of each point's place in that order, without the order: nodes whose points all fall in one
/// slice are not built, so the work grows with the number of slices. part: one a point. slices >= 1. Memory besides the
/// input and `part`: a record a point. Errors as above.
template <class Index, class T>
std::size_t curve_slices(PointView<T> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                         TreeCurve curve, int slices, std::span<std::int32_t> part);

/// Throws support::InputError unless `curve` is defined in `dim` dimensions.
void check_curve(int dim, TreeCurve curve);

/// The leaves' numbers along the curve.
template <class Index>
std::vector<Index> leaf_order(const KdTree<Index>& tree, TreeCurve curve, int threads = 0);

/// The same of a tree that is a part of another one, which enters it in state `start`.
template <class Index>
support::PageBuffer<Index> curve_order(const KdTree<Index>& tree, TreeCurve curve, CurveState<Index> start,
                                       int threads);
template <class Index>
std::vector<Index> leaf_order(const KdTree<Index>& tree, TreeCurve curve, CurveState<Index> start, int threads);

/// Sum of the Euclidean lengths of the order's steps. O(n).
template <class T, class Index>
double curve_length(PointView<T> points, std::span<const Index> order);

/// Number of steps longer than `reach` (on a grid of spacing 1, a reach of 1 counts all that leave a point's face
/// neighbours). O(n).
template <class T, class Index>
std::size_t curve_jumps(PointView<T> points, std::span<const Index> order, double reach);

}  // namespace amrbench::partitioners
