#pragma once
// Slabs: points in the order of their coordinates along the longest side of their box, then along the others, cut into
// runs of equal weight. Parts are slabs across one axis: each has two neighbours, and borders that do not shrink with
// more parts. Two or three dimensions. On one rank; O(n log n). Source: document 002, section 3.8 (its 1D partitioning,
// which goes along x).
#include <memory>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

std::unique_ptr<Partitioner> make_slabs();

}  // namespace amrbench::partitioners
