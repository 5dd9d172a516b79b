#include "partitioners/rename_parts.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace amrbench::partitioners {

void add_up(std::vector<Overlap>& overlaps) {
  std::ranges::sort(overlaps, {}, [](const Overlap& o) { return std::tuple(o.part, o.rank); });
  std::size_t n = 0;
  for (const Overlap& o : overlaps) {
    if (n > 0 && overlaps[n - 1].part == o.part && overlaps[n - 1].rank == o.rank)
      overlaps[n - 1].weight += o.weight;
    else
      overlaps[n++] = o;
  }
  overlaps.resize(n);
}

std::int64_t kept_weight(std::span<const Overlap> overlaps, std::span<const std::int32_t> names) {
  std::int64_t kept = 0;
  for (const Overlap& o : overlaps) kept += names[static_cast<std::size_t>(o.part)] == o.rank ? o.weight : 0;
  return kept;
}

std::vector<std::int32_t> rename_parts(std::vector<Overlap> overlaps, int parts) {
  constexpr std::int32_t kFree = -1;
  const auto n = static_cast<std::size_t>(parts);
  std::vector<std::int32_t> same(n), names(n, kFree), taken(n, kFree);
  std::iota(same.begin(), same.end(), 0);
  add_up(overlaps);
  std::vector<Overlap> by_weight = overlaps;
  std::ranges::stable_sort(by_weight, std::greater<>{}, &Overlap::weight);
  const auto give = [&](std::int32_t part, std::int32_t rank) {
    if (names[static_cast<std::size_t>(part)] != kFree || taken[static_cast<std::size_t>(rank)] != kFree) return;
    names[static_cast<std::size_t>(part)] = rank;
    taken[static_cast<std::size_t>(rank)] = part;
  };
  for (const Overlap& o : by_weight) give(o.part, o.rank);
  for (const std::int32_t part : same) give(part, part);
  std::int32_t rank = 0;
  for (const std::int32_t part : same) {
    if (names[static_cast<std::size_t>(part)] != kFree) continue;
    while (taken[static_cast<std::size_t>(rank)] != kFree) ++rank;
    give(part, rank);
  }
  return kept_weight(overlaps, names) > kept_weight(overlaps, same) ? names : same;
}

std::vector<std::int32_t> rename_in_nodes(std::vector<Overlap> overlaps, int parts, int tasks) {
  if (tasks == 1) return rename_parts(std::move(overlaps), parts);
  const int nodes = parts / tasks;
  std::vector<Overlap> of_nodes = overlaps;
  for (Overlap& o : of_nodes) o = {o.part / tasks, o.rank / tasks, o.weight};
  const std::vector<std::int32_t> node_names = rename_parts(std::move(of_nodes), nodes);
  std::vector<std::vector<Overlap>> within(static_cast<std::size_t>(nodes));
  for (const Overlap& o : overlaps) {
    const auto node = static_cast<std::size_t>(o.part / tasks);
    if (node_names[node] == o.rank / tasks) within[node].push_back({o.part % tasks, o.rank % tasks, o.weight});
  }
  std::vector<std::int32_t> names;
  for (std::size_t node = 0; node < within.size(); ++node)
    for (const std::int32_t task : rename_parts(std::move(within[node]), tasks))
      names.push_back(node_names[node] * tasks + task);
  std::vector<std::int32_t> same(static_cast<std::size_t>(parts));
  std::iota(same.begin(), same.end(), 0);
  return kept_weight(overlaps, names) > kept_weight(overlaps, same) ? names : same;
}

}  // namespace amrbench::partitioners
