#pragma once
// What load balancing takes of a run's configuration, as plain data: the tables [partition] and [balance] of
// docs/config.md. Filled and checked by apps/.
#include <string>

#include "partitioners/orb/rules.hpp"

namespace amrbench::loadbalance {

/// [partition]: where blocks go.
struct PartitionConfig {
  std::string method = "morton";  ///< name in the registry of partitioners (partitioners/partitioner.hpp)
  /// How methods on a kd-tree split a node: "octree" follows the tree of the blocks itself, the others are those of
  /// partitioners/splitter.hpp, over the centres of the blocks that exist now.
  std::string splitter = "octree";
  int bucket = 1;  ///< most blocks in a leaf of a kd-tree, >= 1
  std::string slices =
      "midpoint";  ///< methods along a curve, and linear: how the order is cut (partitioners/slices.hpp)
  /// orb: sides this near to a box's longest count as equally long, in [0, 1).
  double side_tolerance = partitioners::kOrbSideTolerance;
  /// Where parts are slices of the keys: siblings that are all leaves stay on one rank.
  bool group_blocks = false;
  /// Methods whose parts are no slices of the keys: parts take the numbers of the ranks on which most of them lies
  /// (partitioners/rename_parts.hpp), so that fewer blocks move.
  bool rename = false;
  /// Methods whose parts are no slices of the keys: blocks go to so many nodes of consecutive ranks first, then to the
  /// ranks of each (partitioners/two_level.hpp). 0: one level; kNodesOfRun: the nodes that the ranks really are on.
  int nodes = 0;
};

inline constexpr int kNodesOfRun = -1;

/// [balance]: when blocks move, and what each weighs.
struct BalanceConfig {
  std::string policy = "every";  ///< name in policy_registry() (loadbalance/policy.hpp)
  double threshold = 0.1;        ///< "threshold": rebalance when (max - min) / mean of the ranks' loads exceeds it
  int every = 4;                 ///< "every_n": from one rebalance to the next, refinements that changed the mesh, >= 1
  double limit_move = 0.0;       ///< most of a rank's blocks that leave it at once, percent; 0 = all
  double sensitivity = 0.8;      ///< "feedback": how far shares follow idle time in one refinement, in (0, 1]
  std::string weights = "uniform";  ///< name in cost_model_registry() (loadbalance/cost_model.hpp)
};

}  // namespace amrbench::loadbalance
