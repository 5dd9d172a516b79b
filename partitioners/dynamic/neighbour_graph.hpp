#pragma once
// A graph of points that have none: each is joined to its k nearest others. By it parts of points can be measured
// (quality.hpp), whatever made them.
#include "partitioners/graph.hpp"
#include "partitioners/points.hpp"

namespace amrbench::partitioners {

/// An edge wherever one of two points is among the k nearest of the other; nearer is (distance, number) in this order.
/// Dimension 2 to 16, k >= 1, fewer than 2^31 - 1 points. Local; the same on any number of threads (0: all that OpenMP
/// offers). Expected O(n (k + log n)) for points without many that coincide; memory: 40 + 16 k bytes a point. Source:
/// J. H. Friedman, J. L. Bentley, R. A. Finkel, ACM TOMS 3 (1977); incremental distances: S. Arya and D. M. Mount, DCC
/// 1993.
Graph neighbour_graph(PointView<double> points, int k, int threads = 0);

}  // namespace amrbench::partitioners
