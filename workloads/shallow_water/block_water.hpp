#pragma once
// Which blocks hold water, and what blocks cost by that: the same on any ranks and back ends.
#include <vector>

#include "amr/fields.hpp"
#include "amr/mesh.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

/// 1 for blocks that hold water, else 0. Local; waits for a GPU.
[[nodiscard]] std::vector<unsigned char> find_water(const amr::Fields& fields, const Problem& problem);

/// What each block costs: 1 where it holds water or may get some, which is where a neighbour holds any, wherever in it,
/// or its side of the domain lets some in; next to nothing for others. `water`: find_water() of this rank's blocks.
/// Collective over neighbours: a byte a block at their border.
[[nodiscard]] std::vector<double> costs_by_water(const amr::Mesh<2>& mesh, const Problem& problem,
                                                 std::vector<unsigned char> water);

}  // namespace amrbench::workloads::shallow_water
