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
//
// The kernel reads the 27 pieces around a block where they lie, row by row (kernels/average27/average27_rows.hpp).
// Small blocks go another way, eight at once (kernels/average27/average27_octet.cpp).
#include <array>

#include "kernels/layout.hpp"
#include "kernels/stage_sum.hpp"
#include "kernels/surroundings.hpp"

namespace amrbench::kernels {

/// Chunks [first, last) of a block; pointers stand at chunk 0. `out` is aligned to 64 bytes.
struct Average27Args {
  const Surroundings* around = nullptr;
  const Surroundings* next = nullptr;  ///< of a block that is computed soon: fetched meanwhile, the same chunks
  double* out = nullptr;
  int first = 0, last = 1;
  bool streams = false;  ///< stores past the caches, else through them
};

/// Runs the stencil; a summing kernel also adds every new value to `sums`, which are StageSum::raw(0), in vectors of
/// kFlatLength. Plain kernels ignore sums and magic.
using Average27 = void (*)(const BlockLayout&, const Average27Args&, RawSum* sums, SumMagic magic);

struct Average27Kernel {
  Average27 plain = nullptr;
  Average27 summing = nullptr;
};
[[nodiscard]] Average27Kernel select_average27(const BlockLayout& layout);

/// Of small blocks eight that make a cube are computed together: (x, y, z) is number x + 2 y + 4 z of `out`.
struct Average27OctetArgs {
  const Octet* around = nullptr;
  const Octet* next = nullptr;  ///< that which is computed next: chunk `first` is fetched meanwhile
  std::array<double*, 8> out{};
  int first = 0, last = 1;
  bool streams = false;
};
using Average27Octet = void (*)(const BlockLayout&, const Average27OctetArgs&, double* scratch, RawSum* sums,
                                SumMagic magic);
/// As Average27Kernel. Null pointers and no scratch where blocks are computed one by one.
struct Average27OctetKernel {
  Average27Octet plain = nullptr;
  Average27Octet summing = nullptr;
  std::size_t scratch = 0;  ///< doubles that it needs, aligned to 64 bytes
};
/// cache_bytes: of a first-level cache.
[[nodiscard]] Average27OctetKernel select_average27_octet(const BlockLayout& layout, std::size_t cache_bytes);

/// Serial reference: the average of a tile (lanes as the block's) with all ghosts, into a block.
void average27_reference(const TileLayout& layout, const double* tile, double* out);

}  // namespace amrbench::kernels
