#pragma once
// Maps of a run: the largest depth of each cell so far, and when water first came there; two planes of every block
// behind the five of the scheme, so that they go where blocks go, into checkpoints too. And rasters of the end.
#include <cstdint>
#include <filesystem>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "kernels/shallow_water/cell.hpp"
#include "support/atomic_file.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

inline constexpr int kLargestDepth = kernels::shallow_water::kVariables;  ///< [m]
inline constexpr int kArrival = kLargestDepth + 1;                        ///< [s]; kNever: not yet
inline constexpr int kVariablesWithMaps = kArrival + 1;
inline constexpr double kNever = -1.0;

/// Planes of a block whose depth at `time` is in its first plane.
void start_maps(int cells, double arrival_depth, double time, double* block);
void update_maps(int cells, double arrival_depth, double time, double* block);
/// What four cells that become one leave of a map's variable.
[[nodiscard]] double merge_map(int variable, double a, double b, double c, double d);

/// Writes bed.asc, depth.asc and, with maps, largest_depth.asc and arrival_time.asc, ESRI ASCII grids in cells of the
/// deepest level; dry cells, and those where water never came, have no data. Only square cells. Gathered on one rank,
/// in its memory. Throws support::RunError where that does not fit or a file cannot be written. Collective.
void write_rasters(const std::filesystem::path& folder, const amr::Mesh<2>& mesh, const amr::Fields& fields,
                   const Problem& problem, int max_level, support::Existing existing);

}  // namespace amrbench::workloads::shallow_water
