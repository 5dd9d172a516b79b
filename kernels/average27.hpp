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
// The kernel reads the 27 pieces around a block where they lie: a strip of rows at a time, sums of nine go to the
// first-level cache and results from there to the block. A row of a plane belongs to three sums along y and is loaded
// once for them; long rows go another way (kernels/average27_long_rows.hpp), and so do small blocks
// (kernels/average27_octet.hpp).
#include "kernels/flat_rows.hpp"
#include "kernels/stage_sum.hpp"
#include "kernels/surroundings.hpp"

namespace amrbench::kernels {

/// Chunks [first, last) of a block; pointers stand at chunk 0. `out` is aligned to 64 bytes.
struct Average27Args {
  const Surroundings* around = nullptr;
  const Surroundings* next = nullptr;  ///< of a block that is computed soon: fetched meanwhile, the same chunks
  double* out = nullptr;
  int first = 0, last = 1;
};

/// Runs the stencil; a summing kernel also adds every new value to `sums`, which are StageSum::raw(0), in vectors of
/// kFlatLength. Plain kernels ignore sums and magic.
using Average27 = void (*)(const FlatRows&, const Average27Args&, double* scratch, RawSum* sums, SumMagic magic);

/// Index 1 stores past the caches, index 0 through them.
struct Average27Kernel {
  std::array<Average27, 2> plain{};
  std::array<Average27, 2> summing{};
  std::size_t scratch = 0;  ///< doubles that it needs, aligned to 64 bytes
};
[[nodiscard]] Average27Kernel select_average27(const FlatRows& rows);

/// Of small blocks eight that make a cube are computed together: (x, y, z) is number x + 2 y + 4 z of `out`.
struct Average27OctetArgs {
  const Octet* around = nullptr;
  const Octet* next = nullptr;  ///< that which is computed next: chunk `first` is fetched meanwhile
  std::array<double*, 8> out{};
  int first = 0, last = 1;
};
using Average27Octet = void (*)(const FlatRows&, const Average27OctetArgs&, double* scratch, RawSum* sums,
                                SumMagic magic);
/// As Average27Kernel. Null pointers and no scratch where blocks are computed one by one.
struct Average27OctetKernel {
  std::array<Average27Octet, 2> plain{};
  std::array<Average27Octet, 2> summing{};
  std::size_t scratch = 0;
};
[[nodiscard]] Average27OctetKernel select_average27_octet(const FlatRows& rows);

/// Serial reference: the average of a tile (lanes as the block's) with all ghosts, into a block.
void average27_reference(const TileLayout& layout, const double* tile, double* out);

}  // namespace amrbench::kernels
