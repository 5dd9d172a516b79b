#include "partitioners/rank_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "partitioners/slices.hpp"
#include "partitioners/weights.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

RankShare share_of_points(const support::Communicator& comm, const Problem& mine) {
  struct Sizes {
    std::uint64_t points, weights;
  };
  RankShare share;
  for (const Sizes& sizes : support::all_gather(comm, Sizes{mine.points.size(), mine.weights.size()})) {
    if (share.counts.size() < static_cast<std::size_t>(comm.rank())) share.first += sizes.points;
    share.counts.push_back(sizes.points);
    share.all += sizes.points;
    share.weighted = share.weighted || sizes.weights > 0;
  }
  return share;
}

void check_share(const support::Communicator& comm, const RankShare& share, const Problem& mine,
                 const PartitionOptions& options) {
  if (options.parts < 1) throw support::InputError(fmt::format("parts is {}: use 1 or more", options.parts));
  if (share.weighted && mine.weights.size() != mine.points.size())
    throw support::InputError(fmt::format("rank {}: {} weights for {} points: give one a point or none", comm.rank(),
                                          mine.weights.size(), mine.points.size()));
}

std::vector<std::uint64_t> fixed_point_share(const support::Communicator& comm, const RankShare& share,
                                             const Problem& mine, double heaviest, int threads) {
  if (!share.weighted) return {};
  const int shift = fixed_point_shift(share.all, support::all_max(comm, heaviest));
  std::vector<std::uint64_t> fixed(mine.weights.size());
  to_fixed_point(mine.weights, shift, fixed, threads);
  return fixed;
}

RankResult slice_in_place(const support::Communicator& comm, std::span<const std::uint64_t> fixed_weights,
                          std::size_t items, std::uint64_t first, int parts, SliceRule rule) {
  const std::vector<std::int64_t> cuts = slice_on_ranks(comm, fixed_weights, items, parts, rule);
  RankResult result;
  result.position.resize(items);
  std::iota(result.position.begin(), result.position.end(), first);
  // The last cut that is not above `first` opens its slice; empty ones before it begin there too.
  auto next = std::upper_bound(cuts.begin(), cuts.end(), static_cast<std::int64_t>(first));
  for (const std::uint64_t place : result.position) {
    while (*next <= static_cast<std::int64_t>(place)) ++next;
    result.part.push_back(static_cast<std::int32_t>(next - cuts.begin() - 1));
  }
  return result;
}

}  // namespace amrbench::partitioners
