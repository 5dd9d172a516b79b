#pragma once
// Methods on kd-trees, for the registry.
//
// - morton, hilbert, gensfc: a tree by PartitionOptions::splitter (a rule, splitter.hpp) and bucket, its traversal by
//   that curve, weighted slices of the order. Points of a leaf go along the curve by index. Splitter "octree": the tree
//   is that of the mesh whose block centres the points are (octree.hpp), and `bucket` does not count. Splitters "parts"
//   and "compact_parts": slices are the cells of a parts-aware tree (parts/parts_curve.hpp), on one rank. With a chart
//   the curve runs over that of the points (chart.hpp), on one rank.
// - kd_parts, kd_parts_hilbert, kd_parts_morton: a parts-aware tree, whose leaves are the parts; they are numbered
//   along GenSFC, Hilbert's curve or Morton's. `splitter` and `bucket` do not count. Result::order has the parts one
//   after another, points of a part by index. With a chart either hemisphere has a tree of its own, in the plane, as
//   many parts as its weight comes nearest to, and those of the north come first.
// - kd_compact: as kd_parts, but nodes of few parts are cut so that these are compact (parts/compact_cut.hpp).
//
// All take 2 to 16 dimensions but those on GenSFC and Hilbert's curve, which take 2 and 3 (kd_parts uses Morton's
// numbering above 3), fewer than 2^32 - 1 points, and no graph. Parts beyond the number of points are empty.
// memory_bytes counts what the tree's build holds at most, besides input and result.
#include <memory>

#include "partitioners/partitioner.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners {

std::unique_ptr<Partitioner> make_curve_method(TreeCurve curve);
std::unique_ptr<Partitioner> make_parts_tree_method(TreeCurve curve, bool compact = false);

/// For registry lines, which hold plain function pointers.
template <TreeCurve curve>
std::unique_ptr<Partitioner> make_curve_method() {
  return make_curve_method(curve);
}
template <TreeCurve curve, bool compact = false>
std::unique_ptr<Partitioner> make_parts_tree_method() {
  return make_parts_tree_method(curve, compact);
}

}  // namespace amrbench::partitioners
