#pragma once
// The 27-point average (miniAMR --stencil 27): a cell becomes the mean of the 27 cells around it.
//
// Reference, one block with ghosts, variable by variable:
//   plane(x) = sum of u(x, y', z') over y' = y-1 .. y+1 and, inside, z' = z-1 .. z+1, in this order
//   out(x,y,z) = (plane(x-1) + plane(x) + plane(x+1)) / 27
// Bytes: one read and one write of 8 bytes an update. Operations as written: 26 additions, 1 division. A plane's sum is
// the same for three neighbours along x, so it is made once: 10 additions, in the same order, hence the same bits.
// Conserves totals where all neighbours have one level: then every cell is counted 27 times, mirrored ghosts at the
// domain's faces included. Across levels edge and corner ghosts have no such balance.
#include "kernels/tile.hpp"

namespace amrbench::kernels {

/// Doubles of scratch that average27 needs.
[[nodiscard]] std::size_t average27_scratch(const TileLayout& layout);

/// The average of a tile (lanes as the block's) with all ghosts, into a block. Thread-safe on distinct out and scratch.
void average27(const TileLayout& layout, const double* tile, double* out, double* scratch);

}  // namespace amrbench::kernels
