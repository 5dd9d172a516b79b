#pragma once
// Averaging stencils: a cell becomes the mean of itself and its neighbours (miniAMR; docs/miniamr.md).
//
// Reference, one block with one layer of ghost cells, variable by variable:
//   for all cells: out(x,y,z) = (u(x-1,y,z) + u(x,y-1,z) + u(x,y,z-1) + u(x,y,z) + u(x,y,z+1) + u(x,y+1,z) +
//   u(x+1,y,z)) / 7
// Bytes: one read and one write of 8 bytes an update. Operations: 6 additions, 1 division an update (7 points).
//
// The cell function is one for all back ends; it works on a double and on a vector of them alike. Its order of
// operations is part of the result: no contraction, no reassociation.
#include "kernels/fused.hpp"
#include "sfc/host_device.hpp"
#if !defined(__CUDACC__)
#include "kernels/simd.hpp"
#endif

namespace amrbench::kernels {

/// s / Divisor, correctly rounded. With fused multiply-add: q = s * y with y = 1/Divisor rounded, then q + (s - Divisor
/// q) y. The error of y is a quarter of its last place for 7 and three tenths for 27, so q is off by at most one last
/// place, the remainder is exact, and by Markstein's theorem (IBM J. Res. Dev. 34, 1990) the corrected quotient is the
/// correctly rounded one. Where the quotient is subnormal the last bit may differ from a division's, and the quotient
/// of -0 is +0. Three operations that pipeline instead of a division that does not: 16 cycles a vector of 8 on the
/// processors at hand.
template <int Divisor, class T>
AMRBENCH_HD inline T divided(const T& s) {
  if constexpr (kHasFma) {
    const T y = T{} + 1.0 / Divisor;
    const T q = s * y;
    return fused(fused(T{} - double{Divisor}, q, s), y, q);
  } else {
    return s / double{Divisor};
  }
}
template <class T>
AMRBENCH_HD inline T seventh(const T& s) {
  return divided<7>(s);
}
template <class T>
AMRBENCH_HD inline T twenty_seventh(const T& s) {
  return divided<27>(s);
}

template <class T>
AMRBENCH_HD inline T average7(const T& xm, const T& ym, const T& zm, const T& c, const T& zp, const T& yp,
                              const T& xp) {
  return seventh(xm + ym + zm + c + zp + yp + xp);
}

}  // namespace amrbench::kernels
