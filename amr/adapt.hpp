#pragma once
// Splitting and merging blocks as the consensus decided: keys, links and values.
#include "amr/consensus.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"

namespace amrbench::amr {

/// Applies `consensus` (of this mesh). A family whose siblings stand on several ranks first moves to the rank of its
/// first sibling, one message a pair of ranks. Then the new list of keys is made in one walk along the curve (a child's
/// key is its parent's with Dim bits appended), values are split and merged into fresh slots by all threads, and the
/// mesh is rebuilt. Blocks that stay keep their slots. Does nothing, and is still collective, when nothing changes.
/// O(local blocks) for keys, O(changed blocks) for values. `when`: see Mesh::set_blocks. Collective.
template <int Dim>
void apply_changes(Mesh<Dim>& mesh, Fields& fields, const Consensus& consensus, Settle when = Settle::now);

}  // namespace amrbench::amr
