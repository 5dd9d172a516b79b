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

/// What a phase orders points by. Without an index that a GPU's registers do not have.
template <class T, int Dim>
AMRBENCH_HD inline std::uint64_t key(const OrbPoint<T, Dim>& p, int phase, int axis) {
  if (phase > Dim) return p.id;
  const int along = phase == 0 ? axis : phase - 1;
  T x = p.x[0];
  for (int a = 1; a < Dim; ++a) x = along == a ? p.x[a] : x;
  return ordered_bits(x);
}

template <class T, int Dim>
AMRBENCH_HD inline bool in_window(const OrbPoint<T, Dim>& p, const Window& w, int axis) {
  for (int phase = 0; phase < w.phase; ++phase)
    if (key(p, phase, axis) != w.fixed[phase]) return false;
  const std::uint64_t k = key(p, w.phase, axis);
  return k >= w.low && k <= w.high;
}

/// A window's keys fall into at most 2^bin_bits bins of 2^shift.
AMRBENCH_HD inline int shift_of(const Window& w, int bin_bits = 8) {
  const int bits = bit_width(w.high - w.low);
  return bits > bin_bits ? bits - bin_bits : 0;
}

}  // namespace amrbench::partitioners::detail
