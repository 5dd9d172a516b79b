#pragma once
// The upper nodes of a dynamic tree over ranks, the same on every rank. Its leaves are domains, each the root of a
// branch (branch.hpp) that one rank keeps. Nothing here is collective.
//
// Decisions are those of tree_adjust.hpp, for nodes above the domains' roots. Edits (remake, lift, split, join) leave
// numbers of nodes as they are and give domains labels; number_domains() ends them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/dynamic/branch.hpp"
#include "partitioners/dynamic/row_cutter.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners::dynamic {

struct TopNode {
  double plane = 0;
  std::uint32_t axis = 0;
  std::uint32_t child = 0;   ///< the lower one, the upper is child + 1; 0: a domain
  std::uint32_t domain = 0;  ///< its number, between edits and number_domains() its label
  std::uint32_t count = 0;   ///< as of set_states()
  std::uint32_t height = 0;  ///< levels below, those of branches included
  bool changed = false;
  bool tied = false;

  [[nodiscard]] bool leaf() const { return child == 0; }
};

/// Bounds of tree_adjust.hpp at this moment.
struct TopLimits {
  double merge;    ///< nodes of fewer points become leaves
  double balance;  ///< largest share of a node's points in one child
  std::size_t bucket;
  std::uint32_t deepest;  ///< level of a leaf
  bool balanced;          ///< by weight and depth
};

/// What an adjustment is to do.
struct TopPlan {
  std::vector<std::uint32_t> remade;  ///< nodes whose subtrees are built anew
  std::vector<std::uint32_t> lifted;  ///< nodes that have an empty child; those above stand in front
  std::vector<std::pair<std::uint32_t, std::uint32_t>> visited;  ///< domains that decide themselves, with their levels
  Adjustments counted;
};

/// A domain's place.
struct DomainPlace {
  std::uint32_t label;
  CurveEntrance entrance;  ///< where the curve enters its branch
};

class RanksTop {
 public:
  /// One domain, labelled 0: all of space.
  RanksTop() : nodes_(1) {}

  /// The domain of a point. O(depth).
  [[nodiscard]] std::uint32_t domain_of(const double* x) const {
    std::uint32_t at = 0;
    while (!nodes_[at].leaf()) at = nodes_[at].child + (x[nodes_[at].axis] > nodes_[at].plane ? 1 : 0);
    return nodes_[at].domain;
  }
  [[nodiscard]] const TopNode& root() const { return nodes_[0]; }

  /// Counts, heights and changes of all nodes from those of the domains.
  void set_states(std::span<const BranchState> states);
  [[nodiscard]] TopPlan decide(const TopLimits& limits) const;
  /// Domains below a node.
  [[nodiscard]] std::vector<std::uint32_t> domains_below(std::uint32_t node) const;
  /// Pairs of domains that are siblings and have fewer than `least` points together, with their common node.
  struct Siblings {
    std::uint32_t node, lower, upper;
  };
  [[nodiscard]] std::vector<Siblings> small_siblings(std::uint64_t least) const;
  /// Of a node with two domains below it.
  [[nodiscard]] BranchCut cut(std::uint32_t node) const;

  /// Puts trees in the place of these nodes: cut[i] is the root of the one at nodes[i]. label: of its first leaf in
  /// the order of `cut`; later leaves have the next ones.
  void remake(std::span<const std::uint32_t> nodes, std::span<const CutNode> cut, std::uint32_t label);
  /// Puts the child that has points in the place of a node.
  void lift(std::uint32_t node);
  /// Cuts a domain: its lower half keeps the label, the upper one gets `label`.
  void split(std::uint32_t domain, const BranchCut& cut, std::uint32_t label);
  /// Makes a node a domain, with the label of its lower half.
  void join(std::uint32_t node);
  /// Numbers nodes breadth first and domains along the curve, in whose order they are returned.
  std::vector<DomainPlace> number_domains(int dim, TreeCurve curve);

 private:
  struct Visit {
    std::uint32_t node, level;
  };
  void decide(const TopLimits& limits, const Visit& visit, TopPlan& plan, std::vector<Visit>& stack) const;
  [[nodiscard]] bool must_rebuild(const TopLimits& limits, const Visit& visit, bool deep) const;

  std::vector<TopNode> nodes_;  ///< [0] is the root
};

}  // namespace amrbench::partitioners::dynamic
