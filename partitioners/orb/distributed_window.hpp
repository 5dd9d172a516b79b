#pragma once
// Stretches of the order of rule 1 as intervals of whole numbers: what orb_distributed() narrows.
#include <cstdint>
#include <limits>

#include "partitioners/orb/rules.hpp"
#include "partitioners/ordered_bits.hpp"

namespace amrbench::partitioners::detail {

/// A stretch of a cell's points in order: phase 0 by the coordinate on the axis, then by each coordinate, then by id.
struct Window {
  int phase = 0;
  std::uint64_t fixed[4] = {};  ///< keys of the phases before, equal for all its points
  std::uint64_t low = 0, high = 0;
  std::uint64_t before = 0, weight_before = 0, count = 0;
};

/// What a phase orders points by.
template <class T, int Dim>
AMRBENCH_HD inline std::uint64_t key(const OrbPoint<T, Dim>& p, int phase, int axis) {
  if (phase == 0) return ordered_bits(p.x[axis]);
  return phase <= Dim ? ordered_bits(p.x[phase - 1]) : p.id;
}

/// The largest key of a phase.
template <class T, int Dim>
std::uint64_t most_key(int phase) {
  return phase > Dim || sizeof(T) == 4 ? std::numeric_limits<std::uint32_t>::max()
                                       : std::numeric_limits<std::uint64_t>::max();
}

template <class T, int Dim>
AMRBENCH_HD inline bool in_window(const OrbPoint<T, Dim>& p, const Window& w, int axis) {
  for (int phase = 0; phase < w.phase; ++phase)
    if (key(p, phase, axis) != w.fixed[phase]) return false;
  const std::uint64_t k = key(p, w.phase, axis);
  return k >= w.low && k <= w.high;
}

/// A window's keys fall into at most 256 bins of 2^shift.
AMRBENCH_HD inline int shift_of(const Window& w) {
  const int bits = bit_width(w.high - w.low);
  return bits > 8 ? bits - 8 : 0;
}

}  // namespace amrbench::partitioners::detail
