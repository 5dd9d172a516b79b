#pragma once
// kd-trees, curves and parts over points that are spread over ranks.
//
// 1. All ranks decide the upper nodes together, level by level, with reductions (distributed_top.hpp); points stay
//    where they are. Midpoints, exact weighted medians and the cuts of a parts-aware tree are those of build_kd_tree()
//    on all points in rank order.
// 2. The curve is walked through these nodes on every rank. Cells of at most `cell_points` points, in its order, are
//    assigned to ranks greedily by weight, a stretch of the curve a rank.
// 3. Points move to their cells' ranks in rounds of bounded messages.
// 4. Each rank builds the trees below its cells and walks the curve through them, with threads.
// 5. Every point's place along the curve and part go back to the rank that passed it.
//
// The result is that of one rank, whatever the number of ranks and threads and the sizes below.
// Memory a rank: two records (coordinates, number, weight) a point besides the input, the trees of the cells that are
// being built, and the upper nodes, whose number is about 8 * points / cell_points.
// Source: document 001, section 2.9 (top nodes, greedy assignment, rounds, local subtrees) and 4.5 (traversal).
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/kd_tree.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/points.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

struct DistributedTreeOptions {
  KdTreeOptions tree;                   ///< tree.parts > 0: its leaves are the parts, numbered along the curve
  TreeCurve curve = TreeCurve::gensfc;  ///< morton above 3 dimensions
  int slices = 1;                       ///< tree.parts == 0: slices of the order (slices.hpp)
  SliceRule slice_rule = SliceRule::midpoint;
  std::uint64_t cell_points = 0;  ///< >= 1: most points of a cell that moves; 0: 1/32 of a rank's mean, at least 4096
  std::size_t message_bytes = kMessageBytes;  ///< most from one rank to another at once, but one record
};

struct DistributedTree {
  std::vector<std::int32_t> part;       ///< of each of this rank's points, as they were passed
  std::vector<std::uint64_t> position;  ///< their places along the curve, over all ranks
  std::uint64_t points_here = 0;        ///< points that this rank ordered
  std::uint64_t upper_nodes = 0;
  std::uint64_t cells = 0;
  int passes = 0;                ///< reductions of bins in step 1
  RankStages stages;             ///< seconds of the steps, and rounds of step 3
  std::size_t memory_bytes = 0;  ///< most held at once on this rank besides input and result
};

/// points, weights: this rank's, none too; weights (>= 0) on all ranks that have points, or on none. A point's number
/// is that of its rank's first point plus its place. 2 to 16 dimensions, the same on every rank; fewer than 2^32 - 1
/// points in a cell and on a rank. Collective. Throws support::InputError, the same on every rank: as build_kd_tree(),
/// and for sampled_median, whose sample follows the order of points in one memory.
template <class T>
DistributedTree distributed_tree(const support::Communicator& comm, PointView<T> points,
                                 std::span<const double> weights, const DistributedTreeOptions& options);

}  // namespace amrbench::partitioners
