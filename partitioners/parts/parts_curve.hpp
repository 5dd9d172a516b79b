#pragma once
// A curve through the cells of a parts-aware tree (splitters "parts" and "compact_parts").
//
// Slices of a curve through a tree of halves end within cells: off powers of two always, and at them too where points
// are no power of two or where Hilbert's rule takes four cells the other way round than the tree cut them, so that a
// half of the slices are halves of an oblong cell across its longer side. Here the upper tree is the parts-aware one
// (KdTreeOptions::parts), the curve is walked through it as through any other, and each of its leaves, a part, has a
// tree of its own below, entered where the curve enters the leaf. So every slice is a cell, for any number of parts,
// and the whole is an order of all points. On one rank.
#include <cstddef>
#include <cstdint>
#include <span>

#include "partitioners/chart.hpp"
#include "partitioners/kd_tree.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners {

/// order: points along the curve, a permutation; part: of each point, ascending along it, 0 .. min(parts, points) - 1.
/// options: parts >= 1 and compact_parts of the upper tree; rule and bucket of the trees below; entrance. weights: one
/// a point from fixed_point_weights(), or empty. With a chart, either hemisphere has a tree of its own. Returns the
/// most bytes held at once besides input and result. The same on any number of threads. Throws support::InputError as
/// build_kd_tree(), curve_order() and hemispheres() do. O(n) a level.
std::size_t parts_curve(PointView<double> points, std::span<const std::uint64_t> weights, const KdTreeOptions& options,
                        TreeCurve curve, Chart chart, std::span<std::uint32_t> order, std::span<std::int32_t> part);

}  // namespace amrbench::partitioners
