#pragma once
// A kd-tree whose points come, go and move, over ranks.
//
// Planes of an upper tree, the same on every rank, cut space into domains; each belongs to one rank, which keeps a
// DynamicTree of its points. Batches are led through the upper planes and go to their domains' ranks in one exchange of
// bounded messages, for move() in two: a point that leaves its domain goes to the rank of its new one. Domains are
// numbered along the curve and dealt out in stretches, so the leaves of all ranks stand in the curve's order and parts
// are slices over ranks' sums. The curve enters each domain's tree where it leaves the one before.
//
// Invariants after adjust(), for splitters other than midpoint where no coordinates tie:
// - points, leaves and parts are the same on any number of ranks: domains depend on the points alone, not on ranks.
// - every domain holds what dynamic_tree.hpp promises of a tree, so no leaf is above the bucket.
// - no domain has more than 2 * max(ceil(n / domains), bucket) points, and a leaf lies at most ceil(log2(n / bucket)) +
//   4 levels below the root. With ties, and with midpoint, a domain has at most twice what the largest had when built.
// - a part exceeds the mean by a leaf at most, in weighted trees by the weight of one.
// These are not the parts of one DynamicTree: that one's bounds of depth and balance look at the whole tree, so it
// builds subtrees anew that span domains, and its leaves' planes follow from that. Here the upper tree is built anew as
// a whole, when a domain has outgrown the bound above: at least n / domains updates after the last time.
//
// Domains are cut and dealt out by points in weighted trees too; weights count where parts are cut. Points with the
// same identity at the same place must weigh the same: which of them goes first is not settled. Source: document 001,
// sections 2.8 (operations) and 2.9 (top nodes, bounded rounds, local subtrees).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/dynamic/dynamic_tree.hpp"
#include "partitioners/dynamic/ranks_top.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

struct RanksTreeOptions {
  DynamicTreeOptions tree;
  TreeCurve curve = TreeCurve::gensfc;   ///< morton above 3 dimensions
  std::size_t domains = 64;              ///< 1 to 2^20, a power of two; ranks beyond have no points
  std::size_t message_bytes = 1U << 20;  ///< most from one rank to another at once, but one number
};

/// Points of this rank and the part of each.
struct RankParts {
  std::vector<std::uint64_t> ids;
  std::vector<std::int32_t> part;
};

/// Fewer than 2^31 - 1 points over all ranks. Everything but the methods that say so is collective. Errors:
/// support::InputError, the same on every rank, before anything has changed.
class DynamicRanksTree {
 public:
  /// Keeps `comm`, which must outlive it; throws as make_dynamic_tree(). Empty.
  DynamicRanksTree(const support::Communicator& comm, int dim, const RanksTreeOptions& options);

  /// This rank's share of a batch, none too; weights: one a point in weighted trees. Adds points; the first ones make
  /// the upper tree.
  void insert(const PointBatch& batch);
  /// As DynamicTree::erase(); the number is that of all ranks.
  std::size_t erase(const PointBatch& batch);
  /// As DynamicTree::move(): all are taken away before any is put down again. Where entries outnumber points that are
  /// alike, those which leave their domain come first. The number is that of all ranks.
  std::size_t move(const PointBatch& batch, PointView<double> to);
  /// Makes the invariants hold. Sums over all ranks; an upper tree built anew counts as one rebuild of all points.
  Adjustments adjust();
  /// Builds the upper tree and all domains anew. O(n / ranks * log(n / bucket)) a rank where points are spread, and
  /// reductions: at most 8 of 2 KiB a domain on each upper level.
  void rebuild();

  /// Where parts begin in the leaves of all ranks, as DynamicTree::part_cuts().
  std::vector<std::int64_t> part_cuts(int parts, SliceRule rule);
  /// The part of each point here, leaves along the curve. cuts: of part_cuts() since leaves last changed.
  RankParts parts_here(std::span<const std::int64_t> cuts);

  /// Over all ranks, as of the last collective call. Not collective.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Points on this rank; bytes that it holds. Not collective.
  [[nodiscard]] std::size_t points_here() const;
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Domains of all ranks, and how often the upper tree was built. Not collective.
  [[nodiscard]] std::size_t domains() const { return top_.domains(); }
  [[nodiscard]] std::size_t builds() const { return builds_; }
  /// Over all ranks.
  [[nodiscard]] std::size_t leaf_count() const;
  /// Levels below the root of the upper tree, after adjust().
  [[nodiscard]] int depth() const;

 private:
  struct Rows;
  using Words = std::vector<std::uint64_t>;
  enum class Change : std::uint8_t { insert, erase, move };
  /// more: points that all ranks want to add. Throws support::InputError.
  void check(const PointBatch& batch, PointView<double> to, Change change, std::size_t more) const;
  [[nodiscard]] Rows send(const PointBatch& batch, PointView<double> to);
  [[nodiscard]] Rows by_domain(const Words& in, std::size_t width) const;
  /// Words of a row before its coordinates: identity, and weight if any.
  [[nodiscard]] std::size_t head() const { return options_.tree.weighted ? 2 : 1; }
  void insert_rows(const Rows& rows);
  void build(const PointBatch& points);
  [[nodiscard]] bool outgrown() const;
  void count();

  const support::Communicator& comm_;
  int dim_;
  RanksTreeOptions options_;
  dynamic::RanksTop top_;
  std::vector<int> owner_;                           ///< of each domain, not falling
  std::size_t first_ = 0;                            ///< this rank's first domain
  std::vector<std::unique_ptr<DynamicTree>> trees_;  ///< of this rank's domains
  std::vector<std::uint64_t> counts_;                ///< of each domain, as of the last adjust() or build
  std::uint64_t largest_ = 0;                        ///< domain when it was built, where coordinates tie
  std::size_t size_ = 0, builds_ = 0;
};

}  // namespace amrbench::partitioners
