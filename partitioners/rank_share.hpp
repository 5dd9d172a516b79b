#pragma once
// How points lie over ranks: what a method that works on all ranks asks first.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioners/check_together.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/weights.hpp"

namespace amrbench::partitioners {

/// A point's number is that of its rank's first point plus its place.
struct RankShare {
  std::vector<std::uint64_t> counts;  ///< points of each rank
  std::uint64_t all = 0;              ///< points on all ranks
  std::uint64_t first = 0;            ///< number of this rank's first point
  bool weighted = false;              ///< some rank has weights
};

/// mine: its points and weights count. One collective.
RankShare share_of_points(const support::Communicator& comm, const Problem& mine);

/// Throws support::InputError unless parts >= 1 and this rank's weights are one a point where any rank has some. Local:
/// call it in check_together().
void check_share(const support::Communicator& comm, const RankShare& share, const Problem& mine,
                 const PartitionOptions& options);

/// What checked_share() found.
struct CheckedShare {
  RankShare share;
  double heaviest = 0;  ///< of this rank's weights
};

/// share_of_points(), once every rank has passed check_share(), its weights are finite and not negative, and
/// more(share) has thrown nothing on any. Throws support::InputError, the same on every rank. Collective.
template <class More>
CheckedShare checked_share(const support::Communicator& comm, const Problem& mine, const PartitionOptions& options,
                           More&& more) {
  CheckedShare checked{share_of_points(comm, mine)};
  check_together(comm, [&] {
    check_share(comm, checked.share, mine, options);
    checked.heaviest = checked_heaviest(mine.weights, checked.share.first, options.threads);
    more(checked.share);
  });
  return checked;
}

/// This rank's weights as fixed_point_weights() gives them of all ranks' together; empty where no rank has weights.
/// heaviest: checked_heaviest() of this rank's. One collective, none without weights.
std::vector<std::uint64_t> fixed_point_share(const support::Communicator& comm, const RankShare& share,
                                             const Problem& mine, double heaviest, int threads);

/// Slices of this rank's points in their own order, which goes on from rank to rank. fixed_weights: from
/// fixed_point_share(). first: this rank's first place. Collective.
RankResult slice_in_place(const support::Communicator& comm, std::span<const std::uint64_t> fixed_weights,
                          std::size_t items, std::uint64_t first, int parts, SliceRule rule);

}  // namespace amrbench::partitioners
