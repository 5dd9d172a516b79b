#pragma once
// Which blocks split and which merge: marks from the objects, then rounds until everybody agrees.
//
// Every block holds one of three states, coarsen < stay < refine, and states only rise. The rules, for two blocks that
// share a face (document 001, 5.2.2; miniAMR's refine.c gives the same result):
//   1. A block of level 0, and a block with a finer neighbour, does not coarsen.
//   2. A block that refines keeps neighbours of its level from coarsening and makes coarser neighbours refine.
//   3. A block that does not coarsen keeps its siblings from coarsening. (Siblings that touch are enough: the graph of
//      touching siblings is connected. A sibling that is no leaf has finer leaves at those faces: rule 1.)
// The least states above the marks that satisfy the rules are unique, so the result does not depend on the order of
// work, on threads or on ranks. After it, the blocks that coarsen form complete families of 2^Dim siblings, and
// splitting and merging as decided keeps the 2:1 balance.
#include <cstdint>
#include <span>
#include <vector>

#include "amr/config.hpp"
#include "amr/mesh.hpp"
#include "amr/objects.hpp"

namespace amrbench::amr {

enum class Change : std::int8_t { coarsen = -1, stay = 0, refine = 1 };

struct Consensus {
  std::vector<Change> changes;  ///< one a local block
  std::int64_t splits = 0;      ///< blocks that split, all ranks
  std::int64_t merges = 0;      ///< families that merge, all ranks
  int rounds = 0;               ///< exchanges until nobody had news
};

/// Marks by the objects: refine where one asks for it, stay at the deepest level, coarsen elsewhere (miniAMR's
/// check_objects, refine_ghost included). With config.uniform: refine everywhere above the deepest level. Local.
std::vector<Change> mark_blocks(const Mesh<3>& mesh, const MeshConfig& config, std::span<const Object> objects);

/// The same marks where nothing has moved, neither objects nor blocks to other ranks, since mark_blocks or this gave
/// `before`, one mark for each block before the last set_blocks(): only blocks that were not here are looked at. Local.
std::vector<Change> mark_new_blocks(const Mesh<3>& mesh, const MeshConfig& config, std::span<const Object> objects,
                                    std::span<const Change> before);

/// Rounds of consensus from `marks`, one a local block. A work list settles what is local; then the states of the
/// blocks that other ranks see go out in one message a neighbour rank, beside one reduction that tells whether anybody
/// has news. O(changed blocks) work and O(border blocks) bytes a round. Collective.
template <int Dim>
Consensus reach_consensus(const Mesh<Dim>& mesh, std::vector<Change> marks);

extern template Consensus reach_consensus<2>(const Mesh<2>&, std::vector<Change>);
extern template Consensus reach_consensus<3>(const Mesh<3>&, std::vector<Change>);

}  // namespace amrbench::amr
