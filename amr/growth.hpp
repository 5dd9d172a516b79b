#pragma once
// Whether the blocks that a refinement is about to make find room in the node's memory.
#include <cstdint>

#include "kernels/layout.hpp"
#include "support/mpi.hpp"

namespace amrbench::amr {

class Growth {
 public:
  /// `comm` of all ranks. Collective.
  Growth(const support::Communicator& comm, const kernels::BlockLayout& layout);

  /// Throws support::RunError where `more` blocks of all ranks, spread evenly, take more than this node has left: the
  /// system would kill a rank without a word while they are made. Swap counts as room. What a node has left is read
  /// only when much is asked for, and differs from node to node: not collective, and not alike on all ranks.
  void check(std::int64_t more) const;

 private:
  double bytes_per_block_;  ///< of this node, for one more block of all ranks together
};

}  // namespace amrbench::amr
