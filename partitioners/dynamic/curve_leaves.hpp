#pragma once
// The leaves of a dynamic tree along a curve, by the rules that static trees use (curve_rules.hpp).
//
// Those look ahead two levels in nodes that stand breadth first; nodes of a pool do not, so each is copied with what is
// below as far as the curve looks. Leaves stand where they would stand in a static tree of the same planes.
#include <cstdint>
#include <vector>

#include "partitioners/dynamic/node_pool.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners::dynamic {

/// Numbers of leaves in curve order, from where the curve enters the root. O(leaves), by `threads`.
std::vector<std::uint32_t> leaves_along(const NodePool& pool, int dim, TreeCurve curve, int threads,
                                        const CurveEntrance& entrance = {});

}  // namespace amrbench::partitioners::dynamic
