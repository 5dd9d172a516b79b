#pragma once
// What the host decides over ranks (distributed_levels.hpp) and what works on a rank's own points, on the CPU
// (distributed_local.hpp) or on a GPU (gpus/local.hpp), tell each other. No MPI here.
//
// The cells reached are numbered from left to right. A point's code is the number of its cell; at first all points are
// in cell 0. The second side is called "local" below, a class with these members, none of which communicates. Searches
// that go by codes stand before those that go by lists:
//   void count(span<CutSearch* const>, bool weighted, span<uint64_t>)
//                                       adds the bins of windows' points, of each search counts, then weights
//   void split(span<CutSearch* const>, span<const uint32_t> next)
//                                       lists the points in windows, and gives the cells' points before a window the
//                                       code of the left child, others that of the right one: those of the list that a
//                                       search goes by; where one goes by codes, all, by `next` in other cells
//   void collect(span<const CutSearch>, vector<CutCandidate>&)
//                                       appends the lists of searches that are not settled
// next[code] is the left child's code, or what the code becomes; at its end stands how many codes there are then. The
// first split of a level goes by codes. From then on a cell that is cut has two, and next[code] is the code.
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_window.hpp"
#include "partitioners/orb/key_bins.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners::detail {

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
  T scale = 0;                         ///< as of KeyBins; above 0: the window is the cell
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

/// What a pass asks of a point.
template <class T>
struct alignas(16) PointTest {
  T low, above;        ///< the window's coordinates: from low on, below `above`
  int axis;            ///< on which they lie
  std::uint32_t next;  ///< code of points before the window; of others one more
  T scale;             ///< as of CutSearch
  std::uint32_t s;     ///< of the searches at hand
};
/// With the window, for what is rarely asked. As it is here, all points stand before the window.
template <class T, int Dim>
struct CodeEntry {
  PointTest<T> test{std::numeric_limits<T>::infinity(), std::numeric_limits<T>::infinity(), 0, 0, 0, 0};
  Window window;

  CodeEntry() = default;
  CodeEntry(const CutSearch<T, Dim>& search, std::size_t s, std::uint32_t next) : window(search.window) {
    using Key = decltype(ordered_bits(T{}));
    const auto low = static_cast<Key>(window.phase > 0 ? window.fixed[0] : window.low);
    const auto high = static_cast<Key>(window.phase > 0 ? low : window.high);
    test = {from_ordered_bits(low), from_ordered_bits(high + 1),  search.axis, next,
            search.scale,           static_cast<std::uint32_t>(s)};
  }
};

/// By code, where searches go by codes; else empty. next: as of split(), or empty. Row: a CodeEntry, or more.
template <class Row, class T, int Dim>
std::vector<Row> table_of(std::span<CutSearch<T, Dim>* const> searches, std::size_t codes,
                          std::span<const std::uint32_t> next = {}) {
  std::vector<Row> table;
  for (std::size_t s = 0; s < searches.size() && !searches[s]->listed; ++s) {
    const CutSearch<T, Dim>& search = *searches[s];
    for (std::size_t c = table.size(); c < codes; ++c) table.emplace_back().test.next = next.empty() ? 0 : next[c];
    const CodeEntry<T, Dim> entry(search, s, table[search.code].test.next);
    for (std::uint32_t c = 0; c < search.codes; ++c) static_cast<CodeEntry<T, Dim>&>(table[search.code + c]) = entry;
  }
  return table;
}

/// As side() of the window.
template <class T, int Dim>
AMRBENCH_HD inline int side_of(const OrbPoint<T, Dim>& p, const PointTest<T>& test, const Window& w) {
  const T x = coordinate(p, test.axis);
  const int by_one = int{x >= test.low} + int{x >= test.above} - 1;  // no branch that is hard to foretell
  return by_one != 0 || w.phase == 0 ? by_one : side(p, w, test.axis);
}
/// The window's bin of a point; kBins where it is not inside.
template <class T, int Dim>
AMRBENCH_HD inline unsigned bin_of(const OrbPoint<T, Dim>& p, const PointTest<T>& test, const Window& w) {
  if (test.scale > 0) return value_bin(coordinate(p, test.axis), test.low, test.scale);
  if (side_of(p, test, w) != 0) return static_cast<unsigned>(kBins);
  return KeyBins<T, std::uint64_t>(w.low, w.high, 0).bin(key(p, w.phase, test.axis));
}

}  // namespace amrbench::partitioners::detail
