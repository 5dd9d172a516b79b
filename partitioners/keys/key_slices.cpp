#include "partitioners/keys/key_slices.hpp"

#include <algorithm>
#include <numeric>

#include "partitioners/bounded_exchange.hpp"
#include "partitioners/radix_sort.hpp"
#include "partitioners/slices.hpp"
#include "partitioners/threads.hpp"
#include "partitioners/weights.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;

/// Bytes that key_order() holds at most besides keys and order.
constexpr std::size_t kSortBytes = 2 * sizeof(KeyValue<std::uint64_t, std::uint32_t>);

/// Are the keys in order on each rank and from rank to rank? One collective.
bool in_order(const Communicator& comm, std::span<const std::uint64_t> keys) {
  struct Ends {
    std::uint64_t low, high;
    bool any, sorted;
  };
  Ends mine{0, 0, !keys.empty(), std::is_sorted(keys.begin(), keys.end())};
  if (mine.any) mine = {keys.front(), keys.back(), mine.any, mine.sorted};
  std::uint64_t before = 0;
  for (const Ends& ends : support::all_gather(comm, mine)) {
    if (!ends.sorted) return false;
    if (!ends.any) continue;
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
  const std::vector<std::uint32_t> order = key_order(keys, options.threads);
  const std::vector<std::size_t> counts = stretches(comm, keys, order, share.all);
  std::vector<Item> send, received;
  for (const std::uint32_t i : order) send.push_back({keys[i], weights.empty() ? 0 : weights[i]});
  std::vector<std::size_t> received_counts, back_counts;
  exchange_in_rounds<Item>(comm, send, counts, options.message_bytes, received, received_counts);
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
  exchange_in_rounds<Place>(comm, places, received_counts, options.message_bytes, back, back_counts);
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

PartitionResult slice_keys(std::span<const std::uint64_t> keys, std::span<const double> weights,
                           const PartitionOptions& options) {
  const auto fixed = fixed_point_weights(weights, options.threads);
  PartitionResult result;
  result.order = key_order(keys, options.threads);
  result.part = slice_order<std::uint32_t>(result.order, fixed, options.parts, options.threads, options.slices);
  result.memory_bytes = keys.size() * kSortBytes + fixed.size() * sizeof(fixed[0]);
  return result;
}

RankResult slice_keys_on_ranks(const Communicator& comm, std::span<const std::uint64_t> keys, const Problem& mine,
                               const RankShare& share, double heaviest, const PartitionOptions& options) {
  const auto fixed = fixed_point_share(comm, share, mine, heaviest, options.threads);
  RankResult result = in_order(comm, keys)
                          ? slice_in_place(comm, fixed, keys.size(), share.first, options.parts, options.slices)
                          : slice_elsewhere(comm, keys, fixed, share, options);
  result.memory_bytes += fixed.size() * sizeof(fixed[0]);
  return result;
}

}  // namespace amrbench::partitioners
