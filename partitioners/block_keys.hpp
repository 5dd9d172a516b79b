#pragma once
// Keys of a mesh's blocks along a method's curve: the blocks' own octree (quadtree) as the tree of a curve.
#include <string_view>

#include "sfc/key.hpp"

namespace amrbench::partitioners {

/// method: "morton", "hilbert" or "gensfc" (sfc::curve_name). For gensfc the order of the root cells is GenSFC's
/// through a kd-tree of their centres, and inside each goes a Hilbert curve turned to fit (sfc/root_order.hpp). Dim = 2
/// or 3. Throws support::InputError for another method and for a grid that keys do not hold (sfc/key.hpp). O(root
/// cells) for gensfc.
template <int Dim>
sfc::KeySpace<Dim> block_keys(std::string_view method, const sfc::Coord<Dim>& root, int max_level);

}  // namespace amrbench::partitioners
