#include "partitioners/octree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

#include "partitioners/baseline_problem.hpp"
#include "partitioners/block_keys.hpp"
#include "partitioners/bounded_exchange.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/radix_sort.hpp"
#include "partitioners/rank_share.hpp"
#include "partitioners/slices.hpp"
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

/// Numbers of keys in ascending order, equal ones ascending.
std::vector<std::uint32_t> key_order(std::span<const std::uint64_t> keys, int threads) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  if (std::is_sorted(keys.begin(), keys.end())) return order;
  support::PageBuffer<KeyValue<std::uint64_t, std::uint32_t>> pairs(keys.size()), spare(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) pairs[i] = {keys[i], order[i]};
  radix_sort(pairs, spare, team_size(threads));
  for (std::size_t i = 0; i < keys.size(); ++i) order[i] = pairs[i].value;
  return order;
}

/// Bytes that key_order() holds at most besides keys and order.
constexpr std::size_t kSortBytes = 2 * sizeof(KeyValue<std::uint64_t, std::uint32_t>);

/// Are the keys in order on each rank and from rank to rank? One collective.
bool in_order(const Communicator& comm, std::span<const std::uint64_t> keys) {
  struct Ends {
    std::uint64_t low, high;
  };
  Ends mine{1, 0};  // no keys
  if (!std::is_sorted(keys.begin(), keys.end())) {
    mine = {0, 0};  // below every key, and so below what came before
  } else if (!keys.empty()) {
    mine = {keys.front(), keys.back()};
  }
  std::uint64_t before = 1;
  for (const Ends& ends : support::all_gather(comm, mine)) {
    if (ends.low == 1 && ends.high == 0) continue;
    if (ends.low < before) return false;
    before = ends.high;
  }
  return true;
}

struct Item {
  std::uint64_t key, weight;
};
struct Place {
  std::uint64_t position;
  std::int32_t part;
};

/// Number of this rank's keys, `order` being theirs, that go to each rank: stretches of about equal numbers over all.
std::vector<std::size_t> stretches(const Communicator& comm, std::span<const std::uint64_t> keys,
                                   std::span<const std::uint32_t> order, std::uint64_t all) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t stride = std::max<std::size_t>(1, all / (32 * ranks));
  std::vector<std::uint64_t> mine;
  for (std::size_t i = stride / 2; i < order.size(); i += stride) mine.push_back(keys[order[i]]);
  std::vector<std::uint64_t> sample = support::all_gather_v<std::uint64_t>(comm, mine);
  std::sort(sample.begin(), sample.end());
  std::vector<std::size_t> counts;
  auto begin = order.begin();
  for (std::size_t r = 1; r < ranks; ++r) {
    // Equal keys go to one rank, so that their numbers decide there.
    const std::uint64_t splitter = sample[r * sample.size() / ranks];
    const auto end = std::partition_point(begin, order.end(), [&](std::uint32_t i) { return keys[i] < splitter; });
    counts.push_back(static_cast<std::size_t>(end - begin));
    begin = end;
  }
  counts.push_back(static_cast<std::size_t>(order.end() - begin));
  return counts;
}

RankResult slice_elsewhere(const Communicator& comm, std::span<const std::uint64_t> keys,
                           std::span<const std::uint64_t> weights, const RankShare& share,
                           const PartitionOptions& options) {
  constexpr std::size_t kMessageBytes = 1U << 20U;
  const std::vector<std::uint32_t> order = key_order(keys, options.threads);
  const std::vector<std::size_t> counts = stretches(comm, keys, order, share.all);
  std::vector<Item> send, received;
  for (const std::uint32_t i : order) send.push_back({keys[i], weights.empty() ? 0 : weights[i]});
  std::vector<std::size_t> received_counts, back_counts;
  exchange_in_rounds<Item>(comm, send, counts, kMessageBytes, received, received_counts);
  // Pieces stand by rank, each by key and then by number: a stable sort puts equal keys by number.
  std::vector<std::uint64_t> here_keys, here_weights;
  for (const Item& item : received) here_keys.push_back(item.key);
  const std::vector<std::uint32_t> here_order = key_order(here_keys, options.threads);
  for (const std::uint32_t i : here_order)
    if (share.weighted) here_weights.push_back(received[i].weight);
  const std::uint64_t first = support::exclusive_sum(comm, static_cast<std::uint64_t>(received.size()));
  const RankResult here = slice_in_place(comm, here_weights, received.size(), first, options.parts, options.slices);
  std::vector<Place> places(received.size()), back;
  for (std::size_t k = 0; k < here_order.size(); ++k) places[here_order[k]] = {here.position[k], here.part[k]};
  exchange_in_rounds<Place>(comm, places, received_counts, kMessageBytes, back, back_counts);
  RankResult result;
  result.part.resize(order.size());
  result.position.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    result.part[order[k]] = back[k].part;
    result.position[order[k]] = back[k].position;
  }
  result.memory_bytes = (send.size() + received.size()) * (sizeof(Item) + kSortBytes + sizeof(Place));
  return result;
}

}  // namespace

PartitionResult octree_partition(std::string_view method, const Problem& problem, const PartitionOptions& options) {
  const std::size_t n = check_weights({problem.points, problem.weights}, options, method);
  const auto keys = checked_keys(method, problem, 0, options.threads);
  const auto weights = fixed_point_weights(problem.weights, options.threads);
  PartitionResult result;
  result.order = key_order(keys, options.threads);
  result.part = slice_order<std::uint32_t>(result.order, weights, options.parts, options.threads, options.slices);
  result.memory_bytes = n * (sizeof(keys[0]) + kSortBytes) + weights.size() * sizeof(weights[0]);
  return result;
}

RankResult octree_on_ranks(const Communicator& comm, std::string_view method, const Problem& mine,
                           const PartitionOptions& options) {
  const RankShare share = share_of_points(comm, mine);
  std::vector<std::uint64_t> keys;
  double heaviest = 0;
  check_together(comm, [&] {
    check_share(comm, share, mine, options);
    heaviest = checked_heaviest(mine.weights, share.first, options.threads);
    keys = checked_keys(method, mine, share.first, options.threads);
  });
  const auto weights = fixed_point_share(comm, share, mine, heaviest, options.threads);
  RankResult result = in_order(comm, keys)
                          ? slice_in_place(comm, weights, keys.size(), share.first, options.parts, options.slices)
                          : slice_elsewhere(comm, keys, weights, share, options);
  result.memory_bytes += (keys.size() + weights.size()) * sizeof(keys[0]);
  return result;
}

}  // namespace amrbench::partitioners
