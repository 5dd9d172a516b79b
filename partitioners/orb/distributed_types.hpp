#pragma once
// What the host decides over ranks (distributed_levels.hpp, distributed_search.hpp) and what works on a rank's own
// points, on the CPU (distributed_local.hpp) or on a GPU (gpus/local.hpp), tell each other. No MPI here.
//
// The cells reached are numbered from left to right. A point's code is the number of its cell; at first all points are
// in cell 0. The second side is called "local" below, a class with these members, none of which communicates:
//   void count(span<CutSearch* const>, bool weighted, span<uint64_t>)
//                                       adds the bins of windows' points, of each search counts, then weights
//   void split(span<CutSearch* const>, span<const uint32_t> next)
//                                       gives the points of these searches' cells, before a window the code of the left
//                                       child, else of the right one, and lists those inside. Where a search goes by
//                                       codes, all other points take theirs from `next`; a search with a list leaves
//                                       all points that are not in it alone
//   void collect(span<const CutSearch>, vector<CutCandidate>&)
//                                       appends the points in windows of searches that are not settled
// next[code] is the left child's code, or what the code becomes; at its end stands the number of codes from then on. A
// level's first split goes by codes. From then on a search's cell has two codes, and next[code] is the code.
#include <cstdint>
#include <optional>

#include "partitioners/orb/distributed_window.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

/// A pass divides a window into so many bins.
constexpr int kBinBits = 11;
constexpr std::size_t kBins = std::size_t{1} << kBinBits;

/// The bin of a coordinate, by the distance from `lower`: never falls as x rises.
template <class T>
AMRBENCH_HD inline unsigned value_bin(T x, T lower, T scale) {
  const auto bin = static_cast<unsigned>((x - lower) * scale);
  return bin < kBins ? bin : static_cast<unsigned>(kBins - 1);
}

/// The search for a cell's cut.
template <class T, int Dim>
struct CutSearch {
  std::size_t number = 0;             ///< of the searches of a level
  std::size_t cell = 0;               ///< of the tree
  std::uint32_t code = 0, codes = 1;  ///< of the cell's points: code .. code + codes - 1
  int axis = 0;
  OrbGoal goal{};
  LimitSearch<std::uint64_t> limit{};  ///< of the first k points; asks for the last of them
  Window window;                       ///< holds that point
  T lower = 0, scale = 0;              ///< above 0: the window is the cell, bins are value_bin(); else of keys
  bool listed = false;                 ///< the local has a list with the window's points; else it goes by codes
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

}  // namespace amrbench::partitioners::detail
