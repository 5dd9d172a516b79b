#pragma once
// Splitter "octree": a mesh's blocks along a curve through the mesh's own tree, instead of a kd-tree of their centres.
//
// Points are the centres of a BlockGrid's blocks, in any order; their order along the curve is that of their keys
// (block_keys.hpp), equal ones by number. A mesh that keeps its blocks in that order over its ranks has nothing sorted
// and nothing moved: only cuts are computed.
#include <string_view>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// method: "morton", "hilbert" or "gensfc". Slices by weight (slices.hpp) of the blocks' order. Throws
/// support::InputError without Problem::blocks, and for a point that is no block's centre, with its number. 2 and 3
/// dimensions, fewer than 2^32 points. O(n), for gensfc and the root cells too.
PartitionResult octree_partition(std::string_view method, const Problem& problem, const PartitionOptions& options);

/// The same of points that are spread over ranks. Where they are not in order, 16 bytes of each go, in rounds of
/// bounded messages, to the rank that has its stretch of keys, by splitters from a regular sample of 32 keys a rank,
/// and its place and part back. Collective; 4 to 6 collectives in order.
RankResult octree_on_ranks(const support::Communicator& comm, std::string_view method, const Problem& mine,
                           const PartitionOptions& options);

}  // namespace amrbench::partitioners
