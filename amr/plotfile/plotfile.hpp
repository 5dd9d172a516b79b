#pragma once
// The mesh and its fields as an AMReX plotfile, which ParaView, VisIt, yt and amrvis read (docs/output.md).
//
// What is written: every leaf block is a grid of its level. The format wants each level to lie upon the coarser ones
// and level 0 to cover the domain, so every ancestor of a leaf is a grid of its own level too: a cell of it is the sum
// of the 8 cells it was split into, in 2-D 4, where variables are extensive (docs/miniamr.md), added in the order of
// kernels::merge_blocks, so an ancestor holds the bits that a merge would give; for other variables their mean.
// Components of a grid: var000, var001..., then `rank`, the rank that owns the block, or for an ancestor its first
// leaf, and `block`, the place of the block among that rank's blocks, -1 for an ancestor. There is no component for the
// level: every reader knows it.
//
//   <dir>/Header               what there is: names, time, step, boxes of every level in the unit cube
//   <dir>/Level_<k>/Cell_H     the grids of a level by rank, a rank's in curve order: boxes, file and offset, least and
//                              greatest values
//   <dir>/Level_<k>/Cell_D_<r> rank r's grids of that level, 64-bit little-endian reals; none when it has no grid there
//
// Who computes an ancestor: the rank that owns its first leaf. Other ranks that hold some of its leaves find out by a
// directory of the level's grids and send it their parts, nothing else. The variables' values do not depend on the
// number of ranks. Source of the format: AMReX's reference writer (WriteMultiLevelPlotfile, VisMF header version 1).
#include <cstdint>
#include <filesystem>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "amr/plot_info.hpp"

namespace amrbench::amr {

/// Writes the plotfile `dir`, by convention "plt" and the step in at least five digits; its parent folder must exist.
/// `mesh` and `fields` must be of one run; `step` and `time` go into the header. Written under a
/// temporary name beside `dir`, then renamed, so a plotfile is there whole or not at all (it is not forced to disk).
/// Collective. Errors: support::RunError on all ranks alike when `dir` exists already, in whatever form, or when
/// something cannot be written (the first such rank's reason); nothing is left behind then. Cost: one pass over the
/// values for each written value; memory for about 1/8 of a rank's values (the ancestors of one level and the next), 8
/// MiB or one grid of output, and one grid a thread; rank 0 never holds another rank's data or more than 1 MiB of its
/// header text.
template <int Dim>
void write_plotfile(const std::filesystem::path& dir, const Mesh<Dim>& mesh, const Fields& fields, const PlotInfo& info,
                    std::int64_t step, double time);

}  // namespace amrbench::amr
