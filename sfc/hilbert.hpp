#pragma once
// The Hilbert curve as a finite automaton on Morton digits, from the coarsest level down.
//
// Skilling's transformation (AIP Conf. Proc. 707, 381 (2004)) turns, level by level from the top, the axes of all lower
// levels: for each axis i it either inverts axis 0 or swaps axes 0 and i, as bit i says; a Gray code of the level's
// bits, reversed when the bits above it have odd parity, is then the digit of the index. What the levels above leave
// behind is thus a signed permutation of the axes and a parity. The reachable ones, with those of equal behaviour
// merged, are the automaton's states; the tables below are computed by the compiler from that description.
//
// Consequences: the automaton starts in one state whatever the number of levels, so the index of a cell's parent is the
// cell's index without its last digit; consecutive cells share a face.
#include <cstdint>

#include "sfc/host_device.hpp"

namespace amrbench::sfc {

namespace detail {

/// What Skilling's loop has done to the axes so far: working axis i is true axis `axis[i]`, inverted where flip[i].
template <int Dim>
struct HilbertTurn {
  int axis[Dim]{};
  bool flip[Dim]{};
  bool odd = false;

  constexpr bool operator==(const HilbertTurn& o) const {
    for (int i = 0; i < Dim; ++i) {
      if (axis[i] != o.axis[i] || flip[i] != o.flip[i]) return false;
    }
    return odd == o.odd;
  }
};

/// One level: reads a Morton digit, turns the axes for the levels below, returns the digit of the Hilbert index.
template <int Dim>
constexpr int hilbert_step(HilbertTurn<Dim>& turn, int morton_digit) {
  bool bit[Dim]{};
  for (int i = 0; i < Dim; ++i) bit[i] = (((morton_digit >> turn.axis[i]) & 1) != 0) != turn.flip[i];
  int digit = 0;
  bool gray = turn.odd;
  bool parity = false;
  for (int i = 0; i < Dim; ++i) {
    gray = gray != bit[i];
    parity = parity != bit[i];
    digit = digit * 2 + (gray ? 1 : 0);
    if (bit[i]) {
      turn.flip[0] = !turn.flip[0];
    } else {
      const int axis = turn.axis[0];
      const bool flip = turn.flip[0];
      turn.axis[0] = turn.axis[i];
      turn.flip[0] = turn.flip[i];
      turn.axis[i] = axis;
      turn.flip[i] = flip;
    }
  }
  turn.odd = turn.odd != parity;
  return digit;
}

/// The automaton of one level a step: digit[s][m] and next[s][m] for state s and Morton digit m; starts in state 0.
template <int Dim>
struct HilbertAutomaton {
  static constexpr int kDigits = 1 << Dim;
  static constexpr int kMaxStates = Dim == 2 ? 16 : 96;
  int states = 0;
  int digit[kMaxStates][kDigits]{};
  int next[kMaxStates][kDigits]{};
};

/// All reachable turns, unmerged.
template <int Dim>
constexpr HilbertAutomaton<Dim> hilbert_reachable() {
  HilbertAutomaton<Dim> a;
  HilbertTurn<Dim> turns[HilbertAutomaton<Dim>::kMaxStates]{};
  for (int i = 0; i < Dim; ++i) turns[0].axis[i] = i;
  a.states = 1;
  for (int s = 0; s < a.states; ++s) {
    for (int m = 0; m < a.kDigits; ++m) {
      HilbertTurn<Dim> turn = turns[s];
      a.digit[s][m] = hilbert_step(turn, m);
      int found = 0;
      while (found < a.states && !(turns[found] == turn)) ++found;
      if (found == a.states) turns[a.states++] = turn;
      a.next[s][m] = found;
    }
  }
  return a;
}

template <int Dim>
constexpr bool hilbert_same(const HilbertAutomaton<Dim>& a, const int* group, int s, int t) {
  for (int m = 0; m < a.kDigits; ++m) {
    if (a.digit[s][m] != a.digit[t][m] || group[a.next[s][m]] != group[a.next[t][m]]) return false;
  }
  return true;
}

/// Reachable states with those of equal behaviour merged (Moore's partition refinement).
template <int Dim>
constexpr HilbertAutomaton<Dim> hilbert_automaton() {
  const HilbertAutomaton<Dim> a = hilbert_reachable<Dim>();
  int group[HilbertAutomaton<Dim>::kMaxStates]{};
  int leader[HilbertAutomaton<Dim>::kMaxStates]{};
  int groups = 1;
  for (int before = 0; before != groups;) {
    before = groups;
    int refined[HilbertAutomaton<Dim>::kMaxStates]{};
    groups = 0;
    for (int s = 0; s < a.states; ++s) {
      int g = 0;
      while (g < groups && !(group[leader[g]] == group[s] && hilbert_same(a, group, s, leader[g]))) ++g;
      if (g == groups) leader[groups++] = s;
      refined[s] = g;
    }
    for (int s = 0; s < a.states; ++s) group[s] = refined[s];
  }
  HilbertAutomaton<Dim> merged;
  merged.states = groups;
  for (int g = 0; g < groups; ++g) {
    for (int m = 0; m < a.kDigits; ++m) {
      merged.digit[g][m] = a.digit[leader[g]][m];
      merged.next[g][m] = group[a.next[leader[g]][m]];
    }
  }
  return merged;
}

}  // namespace detail

/// Tables that advance `Levels` levels a look-up. Entry [state | digits] holds (next state | digits on the other
/// curve); states are stored shifted left by kBits, so that an entry's upper part is the next look-up's base.
template <int Dim, int Levels>
struct HilbertTable {
  static constexpr int kBits = Dim * Levels;
  static constexpr unsigned kMask = (1U << kBits) - 1;
  static constexpr int kStates = detail::hilbert_automaton<Dim>().states;
  std::uint16_t from_morton[kStates << kBits]{};
  std::uint16_t to_morton[kStates << kBits]{};
};

template <int Dim, int Levels>
constexpr HilbertTable<Dim, Levels> make_hilbert_table() {
  using Table = HilbertTable<Dim, Levels>;
  static_assert((Table::kStates << Table::kBits) <= 0x10000);
  const auto automaton = detail::hilbert_automaton<Dim>();
  constexpr int kDigitMask = (1 << Dim) - 1;
  Table table;
  for (int s = 0; s < Table::kStates; ++s) {
    for (int m = 0; m < (1 << Table::kBits); ++m) {
      int state = s;
      int index = 0;
      for (int shift = Table::kBits - Dim; shift >= 0; shift -= Dim) {
        const int digit = (m >> shift) & kDigitMask;
        index = index << Dim | automaton.digit[state][digit];
        state = automaton.next[state][digit];
      }
      table.from_morton[s << Table::kBits | m] = static_cast<std::uint16_t>(state << Table::kBits | index);
      table.to_morton[s << Table::kBits | index] = static_cast<std::uint16_t>(state << Table::kBits | m);
    }
  }
  return table;
}

template <int Dim, int Levels>
inline constexpr HilbertTable<Dim, Levels> kHilbertTable = make_hilbert_table<Dim, Levels>();

/// Levels a look-up that measured fastest (bench/key_bench.cpp).
template <int Dim>
inline constexpr int kHilbertLevels = Dim == 2 ? 4 : 3;

/// Runs a code of `bits` levels through one of the tables of HilbertTable<Dim, Levels>. bits >= 0, Dim * bits <= 64.
/// O(bits / Levels). Device code passes a table it has placed in its own memory.
template <int Dim, int Levels>
AMRBENCH_HD inline std::uint64_t hilbert_translate(const std::uint16_t* table, std::uint64_t code, int bits) {
  using Table = HilbertTable<Dim, Levels>;
  std::uint64_t out = 0;
  unsigned state = 0;
  int shift = Dim * bits - Table::kBits;
  for (; shift >= 0; shift -= Table::kBits) {
    const unsigned entry = table[state | (static_cast<unsigned>(code >> shift) & Table::kMask)];
    out = out << Table::kBits | (entry & Table::kMask);
    state = entry & ~Table::kMask;
  }
  // Fewer than Levels levels are left: look them up followed by zeros, and drop what those gave.
  const int rest = shift + Table::kBits;
  if (rest > 0) {
    const int pad = Table::kBits - rest;
    const unsigned entry = table[state | (static_cast<unsigned>(code << pad) & Table::kMask)];
    out = out << rest | (entry & Table::kMask) >> pad;
  }
  return out;
}

/// Hilbert index of the cell with the given Morton code, and back, on the cube of 2^bits cells a side (host).
template <int Dim>
inline std::uint64_t hilbert_from_morton(std::uint64_t morton, int bits) {
  constexpr int kLevels = kHilbertLevels<Dim>;
  return hilbert_translate<Dim, kLevels>(kHilbertTable<Dim, kLevels>.from_morton, morton, bits);
}

template <int Dim>
inline std::uint64_t hilbert_to_morton(std::uint64_t index, int bits) {
  constexpr int kLevels = kHilbertLevels<Dim>;
  return hilbert_translate<Dim, kLevels>(kHilbertTable<Dim, kLevels>.to_morton, index, bits);
}

}  // namespace amrbench::sfc
