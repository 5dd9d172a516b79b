#pragma once
// Orthogonal recursive bisection of points that are spread over ranks: the tree and labels of orb() on all points in
// rank order, on every number of ranks. Points stay where they are until all cuts are known.
//
// A level's cuts are searched together: each cell keeps a window of the order of rule 1 that holds its cut, first an
// interval of coordinates, then, where coordinates are equal, of the other coordinates and of ids. A pass divides every
// window by 256, one reduction of counts and weights for all cells, until few points are left in each; those go to all
// ranks, which order them. Messages of a pass: 256 (512 with weights) words a cell, whatever the number of points.
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/orb/orb.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

template <class T, int Dim>
struct OrbDistributed {
  OrbTree<T, Dim> tree;                       ///< of all points, on every rank
  support::PageBuffer<std::uint32_t> labels;  ///< leaf of each point of this rank, as it was passed
  std::uint32_t first_leaf = 0;               ///< this rank's leaves after the move: first_leaf ..
  std::uint32_t end_leaf = 0;                 ///< .. end_leaf - 1
  std::vector<OrbPoint<T, Dim>> points;       ///< their points, by leaf, then by number over all ranks
  int passes = 0;                             ///< reductions of histograms, over all levels
  double cut_s = 0;
  double move_s = 0;
};

/// points, weights: this rank's; weights on all ranks with points, or on none. Every rank may hold any number of
/// points, none too; a point's number is that of its rank's first plus its place. Of the options leaves and
/// side_tolerance count; one thread a rank. Collective. Errors as of orb(), the same on every rank.
template <class T, int Dim>
OrbDistributed<T, Dim> orb_distributed(const support::Communicator& comm, PointView<T> points,
                                       std::span<const double> weights, const OrbOptions& options);

}  // namespace amrbench::partitioners
