#pragma once
// The upper planes of a dynamic tree over ranks, found by reductions of the points of all ranks, the same on each.
//
// Cuts follow the rules of subtree.hpp: tight boxes, the longest side, the median by value or the middle; points whose
// coordinates tie stay together. A median is found by counting in 256 bins of an interval of ordered integers, at most
// 8 reductions for all nodes of a level. No point leaves its rank here.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "partitioners/points.hpp"
#include "partitioners/traversal.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners::dynamic {

/// What the upper tree is built by.
struct RanksTopRule {
  bool midpoint;
  std::size_t bucket;   ///< nodes of at most so many points are domains
  std::size_t domains;  ///< a power of two: how many there are at most
};

class RanksTop {
 public:
  /// One domain: all of space.
  RanksTop();

  /// Builds it for the points of all ranks. Domains are numbered along the curve. Collective.
  void build(const support::Communicator& comm, PointView<double> points, const RanksTopRule& rule, TreeCurve curve);

  /// The domain of a point. O(depth). Not collective, as all below.
  [[nodiscard]] std::uint32_t domain_of(const double* x) const {
    std::uint32_t at = 0;
    while (!nodes_[at].leaf()) at = nodes_[at].child + (x[nodes_[at].axis] > plane_[at] ? 1 : 0);
    return domain_[at];
  }
  [[nodiscard]] std::size_t domains() const { return entrance_.size(); }
  /// Levels above domain d's root; the deepest of all; where the curve enters d; its points when it was built.
  [[nodiscard]] int level(std::size_t d) const { return level_[d]; }
  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] const CurveEntrance& entrance(std::size_t d) const { return entrance_[d]; }
  [[nodiscard]] std::uint64_t built(std::size_t d) const { return built_[d]; }
  /// A cut was moved because coordinates tie, or points of a domain that could be cut coincide.
  [[nodiscard]] bool tied() const { return tied_; }

 private:
  void number_domains(int dim, TreeCurve curve);

  std::vector<KdNode<std::uint32_t>> nodes_;  ///< breadth first
  std::vector<double> plane_;                 ///< of each node
  std::vector<int> node_level_;
  std::vector<std::uint32_t> domain_;  ///< of each leaf among them
  std::vector<int> level_;             ///< this and below: of each domain
  std::vector<CurveEntrance> entrance_;
  std::vector<std::uint64_t> built_;
  int depth_ = 0;
  bool tied_ = false;
};

}  // namespace amrbench::partitioners::dynamic
