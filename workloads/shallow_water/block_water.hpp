#pragma once
// Where blocks hold water, and what blocks cost by that: the same on any ranks and back ends.
#include <vector>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "kernels/shallow_water/water_marks.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

using kernels::shallow_water::WaterMarks;

/// Of each block what its water marks. Local; waits for a GPU.
[[nodiscard]] std::vector<WaterMarks> find_water(const amr::Fields& fields, const Problem& problem);

/// What each block costs: 1 where it holds water or may get some, which is where there is any in the two layers of
/// cells behind a face, or its side of the domain lets some in; next to nothing for others. `water`: find_water() of
/// this rank's blocks. Collective over neighbours: two bytes a block at their border.
[[nodiscard]] std::vector<double> costs_by_water(const amr::Mesh<2>& mesh, const Problem& problem,
                                                 std::vector<WaterMarks> water);

}  // namespace amrbench::workloads::shallow_water
