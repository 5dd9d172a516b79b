#pragma once
// What the host decides over ranks (distributed_levels.hpp, distributed_search.hpp) and what works on a rank's own
// points, on the CPU (distributed_local.hpp) or on a GPU (gpus/local.hpp), tell each other. No MPI here.
//
// The cells reached are numbered from left to right. A point's code is the number of its cell; at first all points are
// in cell 0. The second side is called "local" below, a class with these members, none of which communicates:
//   void count(span<CutSearch* const>, bool weighted, span<uint64_t>)
//                                       adds the bins of windows' points, of each search counts, then weights
//   void keep(span<CutSearch* const>)   lists the points in windows; `listed` is still that of the windows before
//   void collect(span<const CutSearch>, vector<CutCandidate>&)
//                                       appends the points in windows of searches that are not settled
//   void part(span<const CellPart>)     gives the points of each cell reached their next codes
#include <cstdint>
#include <optional>

#include "partitioners/orb/distributed_window.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

/// A pass divides a window into so many bins.
constexpr int kBinBits = 11;
constexpr std::size_t kBins = std::size_t{1} << kBinBits;

/// The search for a cell's cut.
template <class T, int Dim>
struct CutSearch {
  std::size_t number = 0;  ///< of the searches of a level
  std::size_t cell = 0;    ///< of the tree
  std::uint32_t code = 0;  ///< of the cell's points
  int axis = 0;
  OrbGoal goal{};
  LimitSearch<std::uint64_t> limit{};  ///< of the first k points; asks for the last of them
  Window window;                       ///< holds that point
  bool listed = false;                 ///< the local has a list of the window's points; else it goes by codes
  std::optional<CutPlace> place;       ///< of the whole cell, once it is known
  std::optional<OrbPoint<T, Dim>> first_right;
  std::optional<T> last_left;  ///< its coordinate
  bool settled = false;        ///< all three are known
};

/// A point that all ranks order.
template <class T, int Dim>
struct CutCandidate {
  OrbPoint<T, Dim> point;
  std::uint32_t search;
  std::uint64_t weight;
};

/// What becomes of a cell's points after a level.
template <class T, int Dim>
struct CellPart {
  std::uint32_t code = 0;  ///< from now on; of the points right of a cut, one more
  std::int32_t cut = 0;    ///< 1: the cell was cut
  std::int32_t axis = 0;
  OrbPoint<T, Dim> pivot{};  ///< the first point of the right
};

}  // namespace amrbench::partitioners::detail
