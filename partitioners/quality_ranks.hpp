#pragma once
// Measures of a partition whose points are spread over ranks: those of quality.hpp that need no graph, and the length
// of a curve. Bit for bit what one rank gets for all points in rank order. All are collective; every rank gets the
// result.
#include <cstdint>
#include <span>

#include "partitioners/points.hpp"
#include "partitioners/quality.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

/// Loads and empty parts; the rest of the result is 0. part: of this rank's points, all in [0, parts); weights: one
/// each, where `weighted` (the same on every rank). Memory O(points here + parts).
PartitionQuality measure_loads(const support::Communicator& comm, std::span<const std::int32_t> part, int parts,
                               std::span<const double> weights, bool weighted);

/// Weight of the points whose part differs from their previous one.
double moved_weight(const support::Communicator& comm, std::span<const std::int32_t> part,
                    std::span<const std::int32_t> previous, std::span<const double> weights, bool weighted);

struct CurveMeasure {
  double length = 0;       ///< sum of the distances between successive points, added from the first on
  std::int64_t jumps = 0;  ///< distances above the unit
};

/// In units of `unit`, a power of two in coordinates. position: of this rank's points along the curve, a permutation
/// over ranks. Points move to the rank that holds an even stretch of the curve: as much memory again as the points
/// here.
CurveMeasure measure_curve(const support::Communicator& comm, PointView<double> points,
                           std::span<const std::uint64_t> position, double unit = 1);

}  // namespace amrbench::partitioners
