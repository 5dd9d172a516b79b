#pragma once
// A dynamic tree that is the lower part of a larger one, whose upper nodes stand elsewhere (ranks_tree.hpp): what the
// larger one must know of its root, decisions by the larger one's bounds, and the branch as words that can be sent.
//
// A row is a point in words of 64 bits: identity, weight in weighted trees, coordinates. Between adjust_branch() of all
// that changed and the next batch a branch may be packed, cut at its root, joined with its sibling and unpacked on
// another rank, and stays the same tree.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/dynamic/dynamic_tree.hpp"

namespace amrbench::partitioners::dynamic {

using Words = std::vector<std::uint64_t>;
using WordView = std::span<const std::uint64_t>;

/// Of a branch's root: points and levels below it, and whether a batch has written a leaf since the last adjustment.
struct BranchState {
  std::uint32_t count = 0;
  std::uint32_t height = 0;
  bool changed = false;
};

/// How a branch's root is cut.
struct BranchCut {
  double plane;
  std::uint32_t axis;
  bool tied;  ///< away from the middle because coordinates tie
  BranchState below[2];
};

/// Nodes in preorder, two words each, and the rows of leaves in that order.
struct PackedView {
  WordView nodes, rows;
};
struct PackedBranch {
  Words nodes, rows;

  [[nodiscard]] PackedView view() const { return {nodes, rows}; }
};

/// The branches below a packed root that is no leaf. row_words: of a point. O(nodes).
std::pair<PackedView, PackedView> cut_at_root(const PackedView& packed, std::size_t row_words);
/// The branch of which these are what lies below the root.
PackedBranch join(const BranchCut& cut, const PackedView& lower, const PackedView& upper);

class TreeBranch : public DynamicTree {
 public:
  /// Brings counts up to date. O(leaves changed * depth).
  virtual BranchState branch_state() = 0;
  /// One pass of adjust() with the root at `level` of a tree whose leaves lie at most `deepest` below its root. After
  /// branch_state().
  virtual Adjustments adjust_branch(std::uint32_t level, std::uint32_t deepest) = 0;
  /// The root must not be a leaf.
  [[nodiscard]] virtual BranchCut root_cut() const = 0;
  [[nodiscard]] virtual bool is_leaf() const = 0;

  /// O(points), as all below.
  [[nodiscard]] virtual PackedBranch pack() const = 0;
  virtual void unpack(const PackedView& packed) = 0;
  /// Appends all points, in no order that is promised.
  virtual void append_rows(Words& rows) const = 0;
  /// Builds the branch of these points alone. O(n log(n / bucket)).
  virtual void assign(std::span<const WordView> pieces) = 0;
};

/// As make_dynamic_tree().
std::unique_ptr<TreeBranch> make_branch(int dim, const DynamicTreeOptions& options);

}  // namespace amrbench::partitioners::dynamic
