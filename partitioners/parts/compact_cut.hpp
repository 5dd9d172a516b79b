#pragma once
// How a box that serves few parts is cut so that they come out compact (KdTreeOptions::compact_parts).
//
// Halves across the longest side suit powers of two. Of three parts, 1 : 2 across a square leaves one of sides 1 : 3,
// whose boundary is 15 % longer than a square's; six parts of a box of 1 : 2 are better 2 x 3 than twice three. So
// where a node serves few parts, and no power of two, every axis and every share is tried down to single parts, as if
// points were spread evenly over its tight box, and the cut with the least sum over parts of about x^16 is taken, x
// being a part's surface over that of a cube of its volume: the worst part counts most. Halves stay where nothing is a
// fifth better: boxes are not filled evenly, and an irregular cut costs corners that this does not see. More parts are
// halved: there is a good cut for any number in any box then.
//
// Few: up to 24 in 2-D and 6 in 3-D; above three dimensions there is no such cut. Sums are looked up in a table by
// parts and by ratios of sides, in steps of 2^(1/32) and 2^(1/8) up to 16, that is made once, in some milliseconds, and
// read by all threads. Included by what builds parts-aware trees.
#include <span>

namespace amrbench::partitioners {

/// A cut of a node that serves several parts: across `axis`, `lower` of them below it.
struct PartsCut {
  int axis = 0;
  int lower = 0;
};

/// The cut of a node with a tight box of these sides, >= 0, one a dimension, that serves `parts` >= 2. O(1).
PartsCut compact_cut(std::span<const double> sides, int parts);

}  // namespace amrbench::partitioners
