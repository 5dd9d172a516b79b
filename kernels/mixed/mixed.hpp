#pragma once
// miniAMR's mixed work (--stencil 0): several kernels, by variable and stage.
//
// With m = variables / 4, variables 0 .. 4m - 1 form four groups of m. Ghosts of all variables are those of the start
// of the stage; inside the block variable after variable is updated in place, so that a later variable reads the new
// values of earlier ones. Variable 0 and those from 4m on take the 7-point average. Variables 1 .. 4m - 1 take, by
// stage modulo 6,
//   0  reaction: terms of the same cell of other groups
//   1, 2, 3  limited transport along x, y, z, in place: the cell before is already new, the one behind still old
//   4  7 points, each multiplied by a partner variable of another group
//   5  27 points: centre, faces, edges and corners from the variable itself and its partners in the other groups
// and are then brought back into range: absolute value; from 1 on divided by (a1 + a0[0] + itself), below 0.1
// multiplied by (10 - a1). Only variable 0 and those from 4m on conserve their totals on any mesh.
//
// The coefficients a1 and a0[m] are, as miniAMR's, the first numbers that the C library of GNU systems draws when it
// was never seeded. They are made here by that generator's rule, so they are the same on every system.
// Fewer than 4 variables: m = 0, only averages. miniAMR wants 8 at least, and so does the configuration.
// Operations an update depend on the variable; bytes: one read and one write of 8 bytes an update.
#include <cstdint>
#include <vector>

#include "kernels/surroundings.hpp"

namespace amrbench::kernels {

struct MixedConstants {
  double a1 = 0.0;
  std::vector<double> a0;  ///< variables / 4
};

/// The first `count` numbers, 0 <= r < 2^31, of the additive feedback generator r[i] = r[i-3] + r[i-31] (modulo 2^32,
/// lowest bit dropped), seeded with 1: the rule of the C library's rand() on GNU systems. Source: its manual, and
/// P. Selinger's description of the recurrence (2007).
[[nodiscard]] std::vector<std::uint32_t> additive_feedback_numbers(int count);

/// a1 is the first number over 2^31 - 1, a0 the next variables / 4.
[[nodiscard]] MixedConstants mixed_constants(int variables);

/// Doubles of scratch that advance_mixed needs.
[[nodiscard]] std::size_t mixed_scratch(const TileLayout& layout);

/// Is this stage quicker on tiles whose x and y are exchanged? In transport along x a cell waits for the one before it
/// in its row; exchanged, rows wait for rows, and a row is computed in vectors.
[[nodiscard]] bool mixed_swaps_axes(std::int64_t stage);

/// Around a block, and of itself, the pieces of a chunk whose old values a stage reads.
[[nodiscard]] PieceSet mixed_pieces(const BlockLayout& layout, std::int64_t stage, int chunk);

/// One stage of all variables, in place, on a tile by variable (one lane) with the ghosts that mixed_pieces() names;
/// those beside them may have any values. swapped: the layout's and the tile's first axis is y, the second x. `tile`
/// and `scratch` readable and writable kPadding doubles past their last value. Thread-safe on distinct tiles and
/// scratch.
void advance_mixed(const TileLayout& layout, const MixedConstants& constants, std::int64_t stage, bool swapped,
                   double* tile, double* scratch);

}  // namespace amrbench::kernels
