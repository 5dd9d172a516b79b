#pragma once
// Orthogonal recursive bisection of points that are spread over ranks: the tree and labels of orb() on all points in
// rank order, on every number of ranks.
//
// Up to 2^14 points go to all ranks, each of which cuts all of them. More points stay where they are while the cells
// that several ranks share the leaves of are cut together, level by level: every cut is found exactly by reductions of
// histograms (distributed_levels.hpp). Then points move once, to the owners of their leaves, who cut the rest by
// orb_multiway().
//
// Collectives of a call: 2 to check the input; few points: 1 more. Else 1 for weights, 3 to 5 a shared level, more
// where very many points share coordinates, 1 to plan the move, and 1 to gather what owners cut; points, weights and
// labels go as messages on the same communicator.
//
// Memory besides the input, at its highest on each rank: its points before the move, those after it in two orders, and
// what orb_multiway() takes. While cells are cut: 4 bytes a point.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/orb/orb.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

template <class T, int Dim>
struct OrbDistributed {
  OrbTree<T, Dim> tree;                          ///< of all points, on every rank
  support::PageBuffer<std::uint32_t> labels;     ///< leaf of each point of this rank, as it was passed
  std::uint32_t first_leaf = 0;                  ///< this rank's leaves after the move: first_leaf ..
  std::uint32_t end_leaf = 0;                    ///< .. end_leaf - 1
  support::PageBuffer<OrbPoint<T, Dim>> points;  ///< their points, by leaf, then by number over all ranks
  int passes = 0;                                ///< reductions of histograms, over all shared levels
  int collectives = 0;                           ///< of MPI, of this call, its checks included
  double cut_s = 0;                              ///< cuts, together and alone
  double move_s = 0;                             ///< points, labels and subtrees to other ranks and back

  std::shared_ptr<void> memory;  ///< kept for a next call
};

/// points, weights: this rank's; weights on all ranks with points, or on none. Every rank may hold any number of
/// points, none too; a point's number is that of its rank's first plus its place. Of the options leaves, threads and
/// side_tolerance count. Collective. Errors as of orb(), the same on every rank.
/// reused: an earlier result whose memory may serve again, which saves its first touch.
template <class T, int Dim>
OrbDistributed<T, Dim> orb_distributed(const support::Communicator& comm, PointView<T> points,
                                       std::span<const double> weights, const OrbOptions& options,
                                       OrbDistributed<T, Dim> reused = {});

}  // namespace amrbench::partitioners
