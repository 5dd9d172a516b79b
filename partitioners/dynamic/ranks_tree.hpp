#pragma once
// A kd-tree whose points come, go and move, over ranks.
//
// It is one tree, the one that a DynamicTree would be: its upper nodes stand on every rank and cut space into domains,
// each a subtree that one rank keeps. Batches are led through the upper planes and go to their domains' ranks in one
// exchange of bounded messages, for move() in two: a point that leaves its domain goes to the rank of its new one.
// adjust() decides by the whole tree's bounds. Where an upper node is out of balance or too deep, planes are found anew
// below it, by reductions, and its points go to their new domains; nothing else is touched.
//
// A domain above 2 * max(ceil(n / domains), bucket) points is cut at its root, and two that are siblings and have fewer
// than half of that together become one; the tree stays as it is. Domains are numbered along the curve and dealt out in
// stretches, so the leaves of all ranks stand in the curve's order and parts are slices over ranks' sums. When a rank
// has a tenth more points than a new dealing would give to any, domains go to their new ranks whole, in one exchange.
//
// Invariants after adjust():
// - nodes and leaves, and what dynamic_tree.hpp promises of them, are those of a DynamicTree that got the same calls
// and
//   was rebuilt when it got its first points, on any number of ranks.
// - parts are the same on any number of ranks. Along Morton's curve they are that tree's; other curves look ahead over
//   cells of a node, but not beyond the domains, and may pass a node of a domain's size in another order.
// - a part exceeds the mean by a leaf at most, in weighted trees by the weight of one.
//
// Domains are cut and dealt out by points in weighted trees too; weights count where parts are cut. Points with the
// same identity at the same place must weigh the same: which of them goes first is not settled. Source: document 001,
// sections 2.8 (operations) and 2.9 (top nodes, bounded rounds, local subtrees).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/dynamic/branch.hpp"
#include "partitioners/dynamic/dynamic_tree.hpp"
#include "partitioners/dynamic/ranks_top.hpp"
#include "partitioners/dynamic/row_cutter.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

struct RanksTreeOptions {
  DynamicTreeOptions tree;
  TreeCurve curve = TreeCurve::gensfc;   ///< morton above 3 dimensions
  std::size_t domains = 64;              ///< 1 to 2^20, a power of two: about so many; ranks beyond have no points
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
  DynamicRanksTree(const DynamicRanksTree&) = delete;
  DynamicRanksTree& operator=(const DynamicRanksTree&) = delete;
  ~DynamicRanksTree();

  /// This rank's share of a batch, none too; weights: one a point in weighted trees. Adds points; the first ones make
  /// the upper tree.
  void insert(const PointBatch& batch);
  /// As DynamicTree::erase(); the number is that of all ranks.
  std::size_t erase(const PointBatch& batch);
  /// As DynamicTree::move(): all are taken away before any is put down again. Where entries outnumber points that are
  /// alike, those which leave their domain come first. The number is that of all ranks.
  std::size_t move(const PointBatch& batch, PointView<double> to);
  /// Makes the invariants hold. Sums over all ranks. As DynamicTree::adjust(), and where upper planes are found anew as
  /// rebuild() for the points below them.
  Adjustments adjust();
  /// Builds all anew. O(n / ranks * log(n / bucket)) a rank where points are spread, and reductions: at most 8 of 2 KiB
  /// a domain on each upper level.
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
  /// Domains of all ranks, how often upper planes were found anew, and domains that went to another rank whole, which
  /// alone depends on the number of ranks. Not collective.
  [[nodiscard]] std::size_t domains() const;
  [[nodiscard]] std::size_t remakes() const { return remakes_; }
  [[nodiscard]] std::size_t moves() const { return moves_; }
  /// Over all ranks.
  [[nodiscard]] std::size_t leaf_count() const;
  /// Levels below the root, after adjust(). Not collective.
  [[nodiscard]] int depth() const { return static_cast<int>(top_.root().height); }

 private:
  struct Rows;
  struct Domain;
  using Words = dynamic::Words;
  enum class Change : std::uint8_t { insert, erase, move };
  /// more: points that all ranks want to add. Throws support::InputError.
  void check(const PointBatch& batch, PointView<double> to, Change change, std::size_t more) const;
  [[nodiscard]] Rows send(const PointBatch& batch, PointView<double> to);
  [[nodiscard]] Rows by_domain(const Words& in, std::size_t width) const;
  /// Words of a row before its coordinates: identity, and weight if any.
  [[nodiscard]] dynamic::RowForm form() const {
    return {options_.tree.weighted ? std::size_t{2} : std::size_t{1}, static_cast<std::size_t>(dim_)};
  }
  [[nodiscard]] Words rows_of(const PointBatch& batch) const;
  void insert_rows(const Rows& rows);
  /// This rank's domains: a stretch.
  [[nodiscard]] std::span<Domain> here();
  [[nodiscard]] std::span<const Domain> here() const;

  // ranks_domains.cpp
  [[nodiscard]] std::uint64_t share() const;
  [[nodiscard]] Adjustments adjust_pass(std::uint32_t deepest);
  void gather_states();
  void note_ties();
  void build(Words rows);
  void remake(std::span<const std::uint32_t> nodes, Words& rows);
  bool split_domains();
  bool join_domains();
  void regroup();
  void find_here();
  void settle(const Words& rows);
  [[nodiscard]] std::vector<int> dealt() const;
  void carry(std::span<const int> owner, const Words& rows);
  void pack_for(int rank, std::span<const int> owner, const Words& rows, Words& out) const;
  void take(std::span<const int> owner, const Words& rows, const Words& in, std::span<const std::size_t> counts);

  const support::Communicator& comm_;
  int dim_;
  RanksTreeOptions options_;
  dynamic::RanksTop top_;
  std::vector<Domain> domains_;      ///< along the curve
  std::size_t first_ = 0, end_ = 0;  ///< this rank's
  std::size_t size_ = 0, remakes_ = 0, moves_ = 0;
  std::uint32_t tied_levels_ = 0;  ///< what ties add to the depth
};

}  // namespace amrbench::partitioners
