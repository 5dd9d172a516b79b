#pragma once
// What the host decides over ranks (distributed_rounds.hpp, distributed_search.hpp) and what works on a rank's own
// points, on the CPU (distributed_local.hpp) or on a GPU (gpus/local.hpp), tell each other. No MPI here.
//
// The second is called "local" below, a class with these members; all but count_points() may be called on any rank at
// any time, and none of them communicates:
//   std::uint64_t count_points()
//   void start_round(span<const unique_ptr<RoundCell>>)  the cells of a round, whose ranges hold its points
//   void sample(span<const SampleStretch>, vector<SampledPoint>&)  appends one point at random of each stretch's parts
//   void classify()                                      walks all points down; sets `passed` and `passed_weight`
//   void start_level(span<CutSearch>)                    makes lists of the points in brackets; may set `lost`
//   void count(span<CutSearch* const>, bool weighted, size_t width, span<uint64_t>)
//                                                        adds bins of the last windows' points: counts, then weights
//   void keep(CutSearch&, const Window&)                 lists the points inside the window, which is in the last one
//   void collect(span<const CutSearch>, vector<CutCandidate>&)  appends the points in last windows of open searches
//   void apply(span<const SettledCut>)                   sends points of brackets, or of whole cells, on
//   void group(span<const CellSlots>)                    brings points into the order of the cells reached
//   void take_all()                                      no round was needed: all points in the order of the input
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_window.hpp"
#include "partitioners/orb/round_tree.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

template <class T, int Dim>
struct SampledPoint {
  OrbPoint<T, Dim> point;
  std::uint32_t cell;
  std::uint64_t weight;
};

/// The search for a cell's cut.
template <class T, int Dim>
struct CutSearch {
  enum class State { open, settled, missed };

  std::size_t number = 0;  ///< of the searches of a level
  std::size_t cell = 0;    ///< of the tree
  std::size_t round_cell = 0, node = 1;
  int axis = 0;
  OrbGoal goal{};
  bool bracket = false;       ///< the first window is the node's bracket; else the whole cell, which is a round's cell
  bool fallback = false;      ///< a bracket that misses is followed by the whole cell
  bool lost = false;          ///< this rank has too many points in the bracket to list them
  bool known = false;         ///< `before` and `count` of the last window are those of all ranks
  bool stepped_back = false;  ///< narrowed too far once: windows only grow from here
  bool listed = false;        ///< the local has a list of the points in the last window
  std::vector<Window> windows;
  State state = State::open;
  OrbPoint<T, Dim> pivot{};  ///< settled: the first point of the right

  /// From here on in the whole cell.
  void search_all(const OrbBox<T, Dim>& box) {
    const auto a = static_cast<std::size_t>(axis);
    windows.assign(1, {.low = ordered_bits(box.lower[a]), .high = ordered_bits(box.upper[a]), .count = goal.count});
    bracket = lost = false;
    known = true;
    stepped_back = listed = false;
  }
};

/// A point that all ranks order.
template <class T, int Dim>
struct CutCandidate {
  OrbPoint<T, Dim> point;
  std::uint32_t search;
  std::uint64_t weight;
};

/// A cell of the round whose cut was found; without a bracket its tree is one level deep.
template <class T, int Dim>
struct SettledCut {
  std::size_t round_cell = 0, node = 1, search = 0;
  bool bracket = false;
  int axis = 0;
  OrbPoint<T, Dim> pivot{};
};

}  // namespace amrbench::partitioners::detail
