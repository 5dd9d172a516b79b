// Points that are spread over ranks, by any method (partitioners/partitioner.hpp).
#include <fmt/format.h>

#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "partitioners/partitioner.hpp"
#include "partitioners/rank_share.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;
using support::InputError;

Assignment assign_on_root(const Communicator& comm, Partitioner& partitioner, const Problem& mine,
                          const PartitionOptions& options) {
  const RankShare share = share_of_points(comm, mine);
  check_together(comm, [&] { check_share(comm, share, mine, options); });
  const auto weights = on_root<double>(comm, mine.weights);
  const auto points = on_root<double>(comm, partitioner.needs_graph() ? std::span<const double>{} : mine.points.data);
  std::vector<std::int32_t> part;
  check_together(comm, [&] {
    if (!comm.is_root()) return;
    part = partitioner.partition({{points, mine.points.dim}, weights, mine.graph, mine.blocks}, options).part;
    if (part.size() != share.all)
      throw InputError(fmt::format("a graph of {} vertices for {} points", part.size(), share.all));
  });
  std::vector<std::size_t> lengths(share.counts.size()), came;
  if (comm.is_root()) lengths.assign(share.counts.begin(), share.counts.end());
  Assignment result{{}, true};
  exchange_in_rounds<std::int32_t>(comm, part, lengths, kShareMessageBytes, result.part, came);
  return result;
}

}  // namespace

Assignment assign(const Communicator& comm, Partitioner& partitioner, const Problem& mine,
                  const PartitionOptions& options) {
  PartitionOptions parts_alone = options;
  parts_alone.order = false;
  if (comm.size() == 1) return {partitioner.partition(mine, parts_alone).part, false};
  if (!partitioner.runs_on_ranks(options)) return assign_on_root(comm, partitioner, mine, parts_alone);
  return {partitioner.partition_on_ranks(comm, mine, parts_alone).part, false};
}

}  // namespace amrbench::partitioners
