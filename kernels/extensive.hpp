#pragma once
// How values cross a change of level, cell by cell; one source for all back ends, for doubles and vectors of them.
// Variables are extensive (docs/miniamr.md). The order of additions is part of the result.
#include "sfc/host_device.hpp"

namespace amrbench::kernels {

/// What each of the 4 fine cells behind a coarse face sees of a coarse value.
template <class T>
AMRBENCH_HD inline T face_quarter(const T& coarse) {
  return coarse * 0.25;
}
/// What a coarse cell sees of the 4 fine cells before it; v10 lies one further along the face's first axis, v01 along
/// the second.
template <class T>
AMRBENCH_HD inline T face_sum(const T& v00, const T& v01, const T& v10, const T& v11) {
  return v00 + v01 + v10 + v11;
}
/// A split gives each fine cell an eighth.
template <class T>
AMRBENCH_HD inline T cell_eighth(const T& coarse) {
  return coarse * 0.125;
}
/// A merge sums 8 cells by pairs in x, then y, then z; f(x, y, z) is the fine cell there, 0 or 1 each. So summed, eight
/// equal values give exactly eight times one.
template <class F>
AMRBENCH_HD inline auto cell_sum(const F& f) {
  const auto lower = (f(0, 0, 0) + f(1, 0, 0)) + (f(0, 1, 0) + f(1, 1, 0));
  const auto upper = (f(0, 0, 1) + f(1, 0, 1)) + (f(0, 1, 1) + f(1, 1, 1));
  return lower + upper;
}

}  // namespace amrbench::kernels
