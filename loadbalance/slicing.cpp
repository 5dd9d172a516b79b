#include "loadbalance/slicing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/fixed_point_sum.hpp"

namespace amrbench::loadbalance {

std::vector<std::int64_t> slice_evenly(std::int64_t items, int parts) {
  std::vector<std::int64_t> cuts(parts + 1);
  const std::int64_t share = items / parts, rest = items % parts;
  for (int p = 0; p <= parts; ++p) cuts[p] = share * p + std::min<std::int64_t>(p, rest);
  return cuts;
}

std::vector<std::int64_t> slice_by_weight(const support::Communicator& comm, std::span<const std::int64_t> weights,
                                          int parts) {
  const auto items = static_cast<std::int64_t>(weights.size());
  const std::int64_t mine = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const std::int64_t total = support::all_sum(comm, mine);
  const std::int64_t all_items = support::all_sum(comm, items);
  if (total == 0) return slice_evenly(all_items, parts);
  std::int64_t before = support::exclusive_sum(comm, mine);
  const std::int64_t first = support::exclusive_sum(comm, items);
  // cuts[p]: the first item whose part is p or higher.
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> cuts(parts + 1, kNone);
  int reached = -1;
  for (std::int64_t k = 0; k < items; ++k) {
    const auto twice_middle = static_cast<support::int128>(before) * 2 + weights[k];
    const int part =
        static_cast<int>(std::min<support::int128>(twice_middle * parts / (2 * support::int128{total}), parts - 1));
    for (int p = reached + 1; p <= part; ++p) cuts[p] = std::min(cuts[p], first + k);
    reached = std::max(reached, part);
    before += weights[k];
  }
  support::all_min(comm, std::span(cuts));
  cuts[0] = 0;
  cuts[parts] = all_items;
  for (int p = parts - 1; p > 0; --p) cuts[p] = std::min(cuts[p], cuts[p + 1]);
  return cuts;
}

}  // namespace amrbench::loadbalance
