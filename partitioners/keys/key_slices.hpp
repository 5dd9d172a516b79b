#pragma once
// The order of 64-bit keys, cut into slices of about equal weight.
//
// Equal keys stand by the numbers of their points, so the order is one whatever the threads and ranks. Over ranks each
// sorts its own keys; where they are not in order from rank to rank already, keys and weights go to the rank of their
// stretch, by a sample of 32 keys a rank, and places and parts back. Equal keys go to one rank.
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/partitioner.hpp"
#include "partitioners/rank_share.hpp"

namespace amrbench::partitioners {

/// Numbers of keys in ascending order, equal ones ascending; a radix sort. O(n), threads.
std::vector<std::uint32_t> key_order(std::span<const std::uint64_t> keys, int threads);

/// Slices of the points with these keys. weights: as the problem has them, checked. Counts in memory_bytes what is held
/// besides keys. Uses parts, slices and threads of the options.
PartitionResult slice_keys(std::span<const std::uint64_t> keys, std::span<const double> weights,
                           const PartitionOptions& options);

/// The same of points that are spread over ranks; `mine`, `share` and `heaviest` as fixed_point_share() takes them.
/// Collective.
RankResult slice_keys_on_ranks(const support::Communicator& comm, std::span<const std::uint64_t> keys,
                               const Problem& mine, const RankShare& share, double heaviest,
                               const PartitionOptions& options);

}  // namespace amrbench::partitioners
