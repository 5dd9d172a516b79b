#pragma once
// What a user may want of a placement besides evenness: families that stay together, and few blocks that move at once
// (miniAMR's --group_blocks and --limit_move; Mantevo miniAMR, ref/sfc.c and its README).
#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/placement.hpp"
#include "support/mpi.hpp"

namespace amrbench::loadbalance {

/// Moves each cut out of the middle of eight siblings that are all leaves, to the nearer end of the family (from its
/// middle to its begin). keys: this rank's, in the order that is cut. cuts[p] stay in order. One gather of at most 14
/// keys a rank where `comm` has more than one. O(ranks + parts). Collective.
void keep_families(const support::Communicator& comm, std::span<const std::uint64_t> keys,
                   std::span<std::int64_t> cuts);

/// Lets every rank send at most `percent` of a hundred of the blocks it has: cuts move towards where they are wanted as
/// far as that goes, so blocks go to ranks next to them along the curve. rank_sizes: blocks of each rank now. O(ranks).
/// Local.
void limit_cuts(std::span<std::int64_t> cuts, std::span<const std::int64_t> rank_sizes, double percent);

/// The same for blocks that go to any rank: of those that are to leave a rank the first ones do. owners: who has each
/// block now; `ranks` of them. O(blocks). Local: a rank may give its own blocks alone.
void limit_moves(std::span<std::int32_t> to, std::span<const std::int32_t> owners, int ranks, double percent);

}  // namespace amrbench::loadbalance
