#pragma once
// Stretches of the order of rule 1 as intervals of whole numbers: what orb_distributed() narrows.
#include <cstdint>

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

/// Without an index that a GPU's registers do not have.
template <class T, int Dim>
AMRBENCH_HD inline T coordinate(const OrbPoint<T, Dim>& p, int along) {
  T x = p.x[0];
  for (int a = 1; a < Dim; ++a) {
    const T other = p.x[a];  // loaded in any case: else one load would have a choice of addresses
    x = along == a ? other : x;
  }
  return x;
}
/// What a phase orders points by.
template <class T, int Dim>
AMRBENCH_HD inline std::uint64_t key(const OrbPoint<T, Dim>& p, int phase, int axis) {
  if (phase > Dim) return p.id;
  return ordered_bits(coordinate(p, phase == 0 ? axis : phase - 1));
}

/// -1: the point stands before the window; 0: inside; 1: behind it.
template <class T, int Dim>
AMRBENCH_HD inline int side(const OrbPoint<T, Dim>& p, const Window& w, int axis) {
  for (int phase = 0; phase < w.phase; ++phase) {
    const std::uint64_t k = key(p, phase, axis);
    if (k != w.fixed[phase]) return k < w.fixed[phase] ? -1 : 1;
  }
  const std::uint64_t k = key(p, w.phase, axis);
  return k < w.low ? -1 : k > w.high ? 1 : 0;
}

/// Of this point alone.
template <class T, int Dim>
Window window_of(const OrbPoint<T, Dim>& p, int axis) {
  Window w{.phase = Dim + 1, .low = p.id, .high = p.id, .count = 1};
  for (int phase = 0; phase <= Dim; ++phase) w.fixed[phase] = key(p, phase, axis);
  return w;
}

/// A window's keys fall into at most 2^8 bins of 2^shift.
AMRBENCH_HD inline int shift_of(const Window& w) {
  const int bits = bit_width(w.high - w.low);
  return bits > 8 ? bits - 8 : 0;
}

}  // namespace amrbench::partitioners::detail
