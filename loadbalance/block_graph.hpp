#pragma once
// The graph of a mesh's blocks, for methods that cut graphs.
#include "amr/mesh.hpp"
#include "partitioners/graph.hpp"

namespace amrbench::loadbalance {

/// On rank 0 the graph of all blocks, elsewhere an empty one: a vertex a block, numbered by rank, then by key; an edge
/// between blocks that share a face or a part of one. O(all blocks) memory on rank 0. Throws
/// support::InputError on every rank where there are more than 2^31 - 1 blocks. Collective.
template <int Dim>
[[nodiscard]] partitioners::Graph gather_block_graph(const amr::Mesh<Dim>& mesh);

}  // namespace amrbench::loadbalance
