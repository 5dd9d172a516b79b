#include "partitioners/octree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/block_keys.hpp"
#include "partitioners/keys/key_slices.hpp"
#include "partitioners/rank_share.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;
using support::InputError;

/// The key of the block whose centre is x, kNone where there is no such block.
template <int Dim>
std::uint64_t key_of(const sfc::KeySpace<Dim>& space, const double* x) {
  sfc::Coord<Dim> c{};
  int height = 0;  // levels from the block down to the deepest
  for (int d = 0; d < Dim; ++d) {
    if (!(x[d] >= 1 && x[d] <= std::numeric_limits<std::uint32_t>::max())) return space.kNone;
    const auto whole = static_cast<std::uint32_t>(x[d]);
    const int zeros = std::countr_zero(whole);
    if (static_cast<double>(whole) != x[d] || (d > 0 && zeros != height) || zeros > space.max_level())
      return space.kNone;
    height = zeros;
    c[d] = whole >> zeros >> 1;
  }
  const int level = space.max_level() - height;
  return space.contains(level, c) ? space.key(level, c) : space.kNone;
}

/// Keys of the points, the first of which has the number `first`.
template <int Dim>
std::vector<std::uint64_t> keys_of_points(std::string_view method, const Problem& problem, std::uint64_t first,
                                          int threads) {
  const BlockGrid& grid = *problem.blocks;
  sfc::Coord<Dim> root{};
  std::copy_n(grid.root.begin(), Dim, root.begin());
  const sfc::KeySpace<Dim> space = block_keys<Dim>(method, root, grid.max_level);
  const std::size_t n = problem.points.size();
  std::vector<std::uint64_t> keys(n);
  std::size_t bad = n;
#pragma omp parallel for num_threads(team_size(threads)) schedule(static) reduction(min : bad)
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = key_of(space, problem.points[i]);
    if (keys[i] == space.kNone) bad = std::min(bad, i);
  }
  if (bad == n) return keys;
  std::string centre;
  for (int d = 0; d < Dim; ++d) centre += fmt::format("{}{}", d == 0 ? "" : ", ", problem.points[bad][d]);
  throw InputError(fmt::format("point {} is ({}): not the centre of a block of this mesh, in half cells of level {}",
                               first + bad, centre, grid.max_level));
}

std::vector<std::uint64_t> checked_keys(std::string_view method, const Problem& problem, std::uint64_t first,
                                        int threads) {
  if (problem.blocks == nullptr) throw InputError("splitter octree needs the centres of a mesh's blocks");
  const int dim = problem.blocks->dim;
  if (problem.points.dim != dim || (dim != 2 && dim != 3))
    throw InputError(fmt::format("splitter octree: points of {} coordinates and blocks of {}: both must be 2 or 3",
                                 problem.points.dim, dim));
  if (problem.points.size() > std::numeric_limits<std::uint32_t>::max())
    throw InputError(fmt::format("splitter octree: {} points; at most 2^32 - 1 a rank", problem.points.size()));
  return dim == 2 ? keys_of_points<2>(method, problem, first, threads)
                  : keys_of_points<3>(method, problem, first, threads);
}

}  // namespace

PartitionResult octree_partition(std::string_view method, const Problem& problem, const PartitionOptions& options) {
  check_weights({problem.points, problem.weights}, options, method);
  const auto keys = checked_keys(method, problem, 0, options.threads);
  PartitionResult result = slice_keys(keys, problem.weights, options);
  result.memory_bytes += keys.size() * sizeof(keys[0]);
  return result;
}

RankResult octree_on_ranks(const Communicator& comm, std::string_view method, const Problem& mine,
                           const PartitionOptions& options) {
  std::vector<std::uint64_t> keys;
  const auto [share, heaviest] = checked_share(comm, mine, options, [&](const RankShare& checked) {
    keys = checked_keys(method, mine, checked.first, options.threads);
  });
  RankResult result = slice_keys_on_ranks(comm, keys, mine, share, heaviest, options);
  result.memory_bytes += keys.size() * sizeof(keys[0]);
  return result;
}

}  // namespace amrbench::partitioners
