#include "partitioners/keys/morton_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/check_finite.hpp"
#include "partitioners/keys/key_slices.hpp"
#include "partitioners/rank_share.hpp"
#include "partitioners/threads.hpp"
#include "sfc/morton.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;
using support::InputError;

/// Cell of a coordinate along its axis.
std::uint64_t cell_of(double x, double low, double side, int bits) {
  if (!(side > 0.0)) return 0;
  const double cells = std::ldexp(1.0, bits);
  const double cell = (0.5 * x - 0.5 * low) / side * cells;
  // The largest coordinate is at the cube's high side.
  return static_cast<std::uint64_t>(std::min(cell, cells - 1.0));
}

template <int Dim>
std::uint64_t interleaved(const std::array<std::uint64_t, kMostKeyDims>& cell) {
  std::uint64_t key = 0;
  for (int d = 0; d < Dim; ++d) key |= sfc::morton_spread<Dim>(static_cast<std::uint32_t>(cell[d])) << d;
  return key;
}

/// Lowest and highest coordinate of each axis.
struct Box {
  std::array<double, kMostKeyDims> low, high;
  Box() {
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
  }
};

Box box_of(PointView<double> points, int threads) {
  Box box;
  const auto dim = static_cast<std::size_t>(points.dim);
#pragma omp parallel num_threads(team_size(threads))
  {
    Box mine;
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t d = 0; d < dim; ++d) {
        mine.low[d] = std::min(mine.low[d], points[i][d]);
        mine.high[d] = std::max(mine.high[d], points[i][d]);
      }
    }
#pragma omp critical(amrbench_morton_keys_box)
    for (std::size_t d = 0; d < dim; ++d) {
      box.low[d] = std::min(box.low[d], mine.low[d]);
      box.high[d] = std::max(box.high[d], mine.high[d]);
    }
  }
  return box;
}

KeyCube cube_of(const Box& box, int dim) {
  KeyCube cube;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dim); ++d) {
    cube.low[d] = box.low[d];
    cube.side = std::max(cube.side, 0.5 * box.high[d] - 0.5 * box.low[d]);
  }
  return cube;
}

void check_points(const PointView<double>& points, std::uint64_t first) {
  if (points.dim < 1 || points.dim > kMostKeyDims)
    throw InputError(fmt::format("points have {} dimensions: morton_keys takes 1 to {}", points.dim, kMostKeyDims));
  if (points.size() > std::numeric_limits<std::uint32_t>::max())
    throw InputError(fmt::format("morton_keys: {} points; at most 2^32 - 1 a rank", points.size()));
  check_finite(points, first);
}

std::vector<std::uint64_t> keys_of(const PointView<double>& points, const KeyCube& cube, int threads) {
  std::vector<std::uint64_t> keys(points.size());
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = morton_key(cube, {points[i], static_cast<std::size_t>(points.dim)});
  return keys;
}

class MortonKeys final : public Partitioner {
 public:
  [[nodiscard]] bool runs_on_ranks(const PartitionOptions& /*options*/) const override { return true; }
  RankResult partition_on_ranks(const Communicator& comm, const Problem& mine,
                                const PartitionOptions& options) override {
    const auto [share, heaviest] =
        checked_share(comm, mine, options, [&](const RankShare& checked) { check_points(mine.points, checked.first); });
    Box box = box_of(mine.points, options.threads);
    support::all_min(comm, std::span<double>(box.low));
    support::all_max(comm, std::span<double>(box.high));
    const auto keys = keys_of(mine.points, cube_of(box, mine.points.dim), options.threads);
    RankResult result = slice_keys_on_ranks(comm, keys, mine, share, heaviest, options);
    result.memory_bytes += keys.size() * sizeof(keys[0]);
    return result;
  }

  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override {
    check_weights({problem.points, problem.weights}, options, "morton_keys");
    check_points(problem.points, 0);
    const KeyCube cube = cube_of(box_of(problem.points, options.threads), problem.points.dim);
    const auto keys = keys_of(problem.points, cube, options.threads);
    PartitionResult result = slice_keys(keys, problem.weights, options);
    result.memory_bytes += keys.size() * sizeof(keys[0]);
    return result;
  }
};

}  // namespace

std::uint64_t morton_key(const KeyCube& cube, std::span<const double> point) {
  const int dim = static_cast<int>(point.size()), bits = morton_key_bits(dim);
  std::array<std::uint64_t, kMostKeyDims> cell{};
  for (std::size_t d = 0; d < point.size(); ++d) cell[d] = cell_of(point[d], cube.low[d], cube.side, bits);
  if (dim == 2) return interleaved<2>(cell);
  if (dim == 3) return interleaved<3>(cell);
  std::uint64_t key = 0;
  for (int bit = bits - 1; bit >= 0; --bit)
    for (int d = dim - 1; d >= 0; --d) key = key << 1U | (cell[static_cast<std::size_t>(d)] >> bit & 1U);
  return key;
}

std::unique_ptr<Partitioner> make_morton_keys() {
  return std::make_unique<MortonKeys>();
}

}  // namespace amrbench::partitioners
