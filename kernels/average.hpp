#pragma once
// Averaging stencils: a cell becomes the mean of itself and its neighbours (miniAMR; DESIGN.md "miniAMR semantics").
//
// Reference, one block with one layer of ghost cells, variable by variable:
//   for all cells: out(x,y,z) = (u(x-1,y,z) + u(x,y-1,z) + u(x,y,z-1) + u(x,y,z) + u(x,y,z+1) + u(x,y+1,z) +
//   u(x+1,y,z)) / 7
// Bytes: one read and one write of 8 bytes an update. Operations: 6 additions, 1 division an update (7 points).
//
// The cell function is one for all back ends; it works on a double and on a vector of them alike. Its order of
// operations is part of the result: no contraction, no reassociation.
#include "sfc/host_device.hpp"

namespace amrbench::kernels {

template <class T>
AMRBENCH_HD inline T average7(const T& xm, const T& ym, const T& zm, const T& c, const T& zp, const T& yp,
                              const T& xp) {
  return (xm + ym + zm + c + zp + yp + xp) / 7.0;
}

}  // namespace amrbench::kernels
