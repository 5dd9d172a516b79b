#pragma once
// A kd-tree whose points come, go and move.
//
// Format and invariants:
// - planes cut all of space: along a node's axis points with x <= plane lie in the lower child, all others in the upper
//   one. So each point has one leaf, whatever came before, and a point outside of all others needs no larger root.
// - points live in leaves alone. A leaf owns a run of slots in blocks of memory (leaf_memory.hpp) and keeps its points
//   dense: an erased point's slot takes the leaf's last point. Holes would save that copy, but every later scan, box
//   and cut would have to step over them. Runs of leaves that became empty and blocks without runs are given back.
// - after adjust(): no leaf holds more than `bucket` points unless all of its points coincide (no plane can cut them);
//   no inner node holds fewer than merge * bucket points, no child of one is empty, and, with splitters other than
//   midpoint, leaves lie at most ceil(log2(n / bucket)) + 2 levels below the root and a child has at most `balance` of
//   a node's points if the node has more than 2 * bucket. Points whose coordinates tie stay together: where half cannot
//   be had the nearest cut is taken, and both bounds give way for such nodes.
// - the tree depends on the calls, on points and their order in each batch alone, not on threads.
//
// Why erase() asks for coordinates: they lead to the leaf by planes in O(log(n / bucket)). A map from identity to leaf
// would have to be written for all points of a leaf whenever that leaf splits or merges.
//
// Identities are the caller's; two points may share one, and coordinates too. Batches are read, not kept. No method is
// collective or thread-safe; each uses `threads` itself. Errors: support::InputError, before anything has changed.
// Source: document 001, section 2.8 (operations); weight balance: Z. Men and others, "Parallel kd-tree with batch
// updates", PACMMOD 3 (2025); depth by rebuilding the lowest ancestor that can: I. Galperin and R. L. Rivest,
// "Scapegoat trees", SODA 1993.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "partitioners/points.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/splitter.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners {

struct DynamicTreeOptions {
  Splitter splitter = Splitter::selection;  ///< median and selection: the median; midpoint; not sampled_median
  std::size_t bucket = 32;                  ///< >= 1, below 2^31
  double merge = 0.5;                       ///< in [0, 1): nodes of fewer than merge * bucket points become leaves
  double balance = 0.6;                     ///< in [0.55, 1]: largest share of a node's points in one child; 1: any
  bool weighted = false;
  int threads = 0;  ///< 0: all that OpenMP offers
};

/// Points with identities; weights: one a point in weighted trees, else empty.
struct PointBatch {
  std::span<const std::uint64_t> ids;
  PointView<double> points;
  std::span<const std::uint64_t> weights{};
};

/// What adjust() did.
struct Adjustments {
  std::size_t splits = 0;          ///< leaves above `bucket` that were cut
  std::size_t merges = 0;          ///< nodes that became leaves
  std::size_t lifts = 0;           ///< nodes that had an empty child, replaced by the other
  std::size_t rebuilds = 0;        ///< subtrees built anew for balance or depth
  std::size_t rebuilt_points = 0;  ///< points in these

  bool operator==(const Adjustments&) const = default;
};

/// The tree as one that does not change, for tests and for what works on KdTree. point[i] of the tree's order is
/// ids[i], coordinates[i * dim ...].
struct DynamicSnapshot {
  KdTree<std::uint32_t> tree;
  std::vector<std::uint64_t> ids;
  std::vector<double> coordinates;
  std::vector<std::uint64_t> weights;  ///< empty in trees without
};

class DynamicTree {
 public:
  DynamicTree() = default;
  DynamicTree(const DynamicTree&) = delete;
  DynamicTree& operator=(const DynamicTree&) = delete;
  virtual ~DynamicTree() = default;

  /// Adds points to their leaves. Coordinates must be finite. O(log(n / bucket)) a point.
  virtual void insert(const PointBatch& batch) = 0;
  /// Takes away, for each entry, one point of that identity at exactly these coordinates (weights are not looked at).
  /// found: one an entry, or empty; set to 1 where there was one, else 0. weights: the same, set to what the point
  /// weighed, 0 where there was none and in trees without. Returns how many there were. O(log(n / bucket) + bucket) a
  /// point.
  virtual std::size_t erase(const PointBatch& batch, std::span<std::uint8_t> found = {},
                            std::span<std::uint64_t> weights = {}) = 0;
  /// Moves, for each entry, one point of that identity from batch.points to `to`; its weight stays. In one pass where
  /// it stays in its leaf. All are taken away before any is put down again. Otherwise as erase().
  virtual std::size_t move(const PointBatch& batch, PointView<double> to, std::span<std::uint8_t> found = {}) = 0;
  /// Makes the invariants hold. O(leaves changed since the last call * depth), and O(log) a point that is put into
  /// another leaf.
  virtual Adjustments adjust() = 0;
  /// Builds the whole tree anew. O(n log(n / bucket)); memory: a record a point more.
  virtual void rebuild() = 0;

  /// Leaves along the curve, by number (of at()). O(leaves), kept until leaves change.
  virtual std::span<const std::uint32_t> leaves(TreeCurve curve) = 0;
  /// Where curves enter the root from now on, for a tree that is a part of another one.
  virtual void enter(const CurveEntrance& entrance) = 0;
  /// Points of each leaf along the curve, or their weights in weighted trees. O(leaves).
  virtual std::vector<std::uint64_t> leaf_loads(TreeCurve curve) = 0;
  /// Appends the identities of a leaf's points. O(points of it).
  virtual void append_ids(std::uint32_t leaf, std::vector<std::uint64_t>& ids) const = 0;
  /// Where parts begin in leaves(curve): part p has the leaves [cuts[p], cuts[p + 1]), so a part exceeds the mean by a
  /// leaf. By weight in weighted trees, else by points. O(leaves + parts); no points are looked at.
  virtual std::vector<std::int64_t> part_cuts(TreeCurve curve, int parts, SliceRule rule) = 0;
  /// Writes the part of each point to part[its identity]; all must be below part.size(). cuts: of part_cuts() since
  /// leaves last changed. O(n).
  virtual void write_parts(TreeCurve curve, std::span<const std::int64_t> cuts, std::span<std::int32_t> part) = 0;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t leaf_count() const = 0;
  /// Levels below the root, after adjust().
  [[nodiscard]] virtual int depth() const = 0;
  /// Bytes held: runs, nodes, leaves, room for batches.
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
  /// O(n). After adjust().
  [[nodiscard]] virtual DynamicSnapshot snapshot() const = 0;
};

/// An empty tree in 2 to 16 dimensions. Throws support::InputError for an option out of range.
std::unique_ptr<DynamicTree> make_dynamic_tree(int dim, const DynamicTreeOptions& options);

/// The least k with bucket * 2^k >= points: levels of a median tree.
int median_levels(std::size_t points, std::size_t bucket);

}  // namespace amrbench::partitioners
