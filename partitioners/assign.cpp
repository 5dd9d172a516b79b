// Points that are spread over ranks, by any method (partitioners/partitioner.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "partitioners/bounded_exchange.hpp"
#include "partitioners/check_together.hpp"
#include "partitioners/partitioner.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;
using support::InputError;

constexpr std::size_t kMessageBytes = 1U << 20U;

/// Everybody's values on rank 0, in rank order. Collective.
template <class T>
std::vector<T> to_root(const Communicator& comm, std::span<const T> mine) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size())), came;
  counts[0] = mine.size();
  std::vector<T> all;
  exchange_in_rounds<T>(comm, mine, counts, kMessageBytes, all, came);
  return all;
}

Assignment assign_on_root(const Communicator& comm, Partitioner& partitioner, const Problem& mine,
                          const PartitionOptions& options) {
  const bool graph = partitioner.needs_graph();
  const std::size_t here = mine.points.size();
  const bool weighted = support::any_of_ranks(comm, !mine.weights.empty());
  check_together(comm, [&] {
    if (weighted && mine.weights.size() != here)
      throw InputError(fmt::format("rank {}: {} weights for {} points: give one a point or none", comm.rank(),
                                   mine.weights.size(), here));
  });
  const std::vector<std::uint64_t> counts = support::all_gather(comm, static_cast<std::uint64_t>(here));
  const auto weights = to_root<double>(comm, mine.weights);
  const auto points = to_root<double>(comm, graph ? std::span<const double>{} : mine.points.data);
  std::vector<std::int32_t> part;
  check_together(comm, [&] {
    if (!comm.is_root()) return;
    Problem all{{points, mine.points.dim}, weights, mine.graph, mine.blocks};
    PartitionOptions one = options;
    one.order = false;
    part = partitioner.partition(all, one).part;
    std::uint64_t count = 0;
    for (const std::uint64_t n : counts) count += n;
    if (part.size() != count) throw InputError(fmt::format("a graph of {} vertices for {} points", part.size(), count));
  });
  std::vector<std::size_t> lengths(counts.size()), came;
  if (comm.is_root()) lengths.assign(counts.begin(), counts.end());
  Assignment result{{}, true};
  exchange_in_rounds<std::int32_t>(comm, part, lengths, kMessageBytes, result.part, came);
  return result;
}

}  // namespace

Assignment assign(const Communicator& comm, Partitioner& partitioner, const Problem& mine,
                  const PartitionOptions& options) {
  if (comm.size() > 1) {
    if (!partitioner.runs_on_ranks()) return assign_on_root(comm, partitioner, mine, options);
    return {partitioner.partition_on_ranks(comm, mine, options).part, false};
  }
  PartitionOptions one = options;
  one.order = false;
  return {partitioner.partition(mine, one).part, false};
}

}  // namespace amrbench::partitioners
