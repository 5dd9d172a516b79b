#pragma once
// Upper planes of a tree over ranks, found by reductions of the points of all ranks, the same on each.
//
// Cuts follow the rules of subtree.hpp: tight boxes, the longest side, the median by value or the middle; points whose
// coordinates tie stay together. So nodes are those that one rank would find among all these points. A median is found
// by counting in 256 bins of an interval of ordered integers, at most 8 reductions for all nodes of a level. No point
// leaves its rank here; rows (branch.hpp) are brought into the order of the leaves.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/dynamic/subtree.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners::dynamic {

/// Words of a row, the coordinates last.
struct RowForm {
  std::size_t head;  ///< words before the coordinates
  std::size_t dim;

  [[nodiscard]] std::size_t words() const { return head + dim; }
};

/// Leaves are nodes of at most `most` points (>= the bucket), and those whose points coincide.
struct CutRule {
  SubtreeRule tree;
  std::uint64_t most;
  int threads;
};

struct CutNode {
  double plane = 0;
  std::uint32_t axis = 0;
  std::uint32_t child = 0;  ///< the lower one, the upper is child + 1; 0: a leaf
  std::uint64_t count = 0;  ///< of all ranks
  bool tied = false;
  std::size_t begin = 0, end = 0;  ///< rows of this rank
};

/// Cuts stretches of rows: the one that ends at ends[i] is the root of a tree, nodes[i]; nodes are breadth first.
/// Collective; as many stretches on every rank.
std::vector<CutNode> cut_rows(const support::Communicator& comm, std::span<std::uint64_t> rows,
                              std::span<const std::size_t> ends, const RowForm& form, const CutRule& rule);

}  // namespace amrbench::partitioners::dynamic
