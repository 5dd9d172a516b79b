#include "partitioners/slices.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "partitioners/exact_slices.hpp"
#include "partitioners/threads.hpp"
#include "support/mpi.hpp"
#include "support/registry.hpp"

namespace amrbench::partitioners {
namespace {

/// Least twice_middle that slice p takes, of a total weight of `total`: slice_at() is p or more from there on.
Mass least_twice_middle(Mass total, int p, int parts) {
  return (2 * total * p + parts - 1) / parts;
}

/// Where slices begin, in twice the weight before a place's middle: at even marks, or by shares that sum to 1.
std::vector<std::uint64_t> slice_marks(std::uint64_t total, int parts, std::span<const double> shares) {
  std::vector<std::uint64_t> marks(static_cast<std::size_t>(parts) + 1);
  double share = 0.0;
  for (int p = 0; p < parts; ++p) {
    const auto k = static_cast<std::size_t>(p);
    marks[k] = shares.empty() ? static_cast<std::uint64_t>(least_twice_middle(static_cast<Mass>(total), p, parts))
                              : static_cast<std::uint64_t>(std::min(1.0, share) * 2.0 * static_cast<double>(total));
    if (!shares.empty()) share += shares[k];
  }
  marks.back() = 2 * total;
  return marks;
}

/// First of n places that weigh 1 each, and so have their middles at (2 i + 1) / 2, in slice p.
std::size_t even_cut(std::size_t n, int p, int parts) {
  return static_cast<std::size_t>(least_twice_middle(static_cast<Mass>(n), p, parts) / 2);
}

template <class Index>
void slice_counts(std::span<const Index> order, int parts, int team, std::vector<std::int32_t>& part) {
#pragma omp parallel for num_threads(team) schedule(static)
  for (int p = 0; p < parts; ++p) {
    for (std::size_t i = even_cut(order.size(), p, parts); i < even_cut(order.size(), p + 1, parts); ++i)
      part[order[i]] = p;
  }
}

template <class Index>
void slice_exactly(std::span<const Index> order, std::span<const std::uint64_t> weights, int parts, int team,
                   std::vector<std::int32_t>& part) {
  std::vector<std::uint64_t> in_order(order.size());
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t i = 0; i < order.size(); ++i) in_order[i] = weights[order[i]];
  const std::vector<std::int64_t> cuts = exact_cuts(in_order, parts);
#pragma omp parallel for num_threads(team) schedule(static)
  for (int p = 0; p < parts; ++p) {
    const auto k = static_cast<std::size_t>(p);
    for (std::int64_t i = cuts[k]; i < cuts[k + 1]; ++i) part[order[static_cast<std::size_t>(i)]] = p;
  }
}

}  // namespace

std::span<const SliceRuleEntry> slice_rule_registry() {
  static constexpr std::array entries{
      SliceRuleEntry{"midpoint", "at even marks of the weight: a slice exceeds the mean by the heaviest point at most",
                     SliceRule::midpoint},
      SliceRuleEntry{"exact", "the heaviest slice is as light as slices of the order can be", SliceRule::exact},
  };
  return entries;
}

SliceRule slice_rule_from_name(std::string_view name, std::string_view what) {
  return support::find_entry(slice_rule_registry(), name, what).rule;
}

template <class Index>
std::vector<std::int32_t> slice_order(std::span<const Index> order, std::span<const std::uint64_t> weights, int parts,
                                      int threads, SliceRule rule) {
  const int team = team_size(threads);
  const std::size_t n = order.size();
  std::vector<std::int32_t> part(n);
  if (rule == SliceRule::exact && !weights.empty()) {
    slice_exactly(order, weights, parts, team, part);
    return part;
  }
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  const std::size_t chunks = weights.empty() ? 0 : (n + kChunk - 1) / kChunk;
  std::vector<std::uint64_t> before(chunks);
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t c = 0; c < chunks; ++c) {
    for (std::size_t i = c * kChunk; i < std::min(n, (c + 1) * kChunk); ++i) before[c] += weights[order[i]];
  }
  std::uint64_t total = 0;
  for (auto& b : before) total += std::exchange(b, total);
  if (total == 0) {
    slice_counts(order, parts, team, part);
    return part;
  }
#pragma omp parallel for num_threads(team) schedule(static)
  for (std::size_t c = 0; c < chunks; ++c) {
    std::uint64_t sum = before[c];
    for (std::size_t i = c * kChunk; i < std::min(n, (c + 1) * kChunk); ++i) {
      const std::uint64_t w = weights[order[i]];
      part[order[i]] = slice_at(2 * static_cast<Mass>(sum) + w, total, parts);
      sum += w;
    }
  }
  return part;
}

template std::vector<std::int32_t> slice_order(std::span<const std::uint32_t>, std::span<const std::uint64_t>, int, int,
                                               SliceRule);
template std::vector<std::int32_t> slice_order(std::span<const std::uint64_t>, std::span<const std::uint64_t>, int, int,
                                               SliceRule);

std::vector<std::int64_t> even_cuts(std::int64_t items, int parts, std::span<const double> shares) {
  std::vector<std::int64_t> cuts;
  for (const std::uint64_t mark : slice_marks(static_cast<std::uint64_t>(items), parts, shares))
    cuts.push_back(static_cast<std::int64_t>(mark / 2));
  return cuts;
}

std::vector<std::int64_t> slice_on_ranks(const support::Communicator& comm,
                                         std::span<const std::uint64_t> fixed_weights, std::size_t items, int parts,
                                         SliceRule rule, std::span<const double> shares_of_parts) {
  struct Share {
    std::uint64_t items, weight;
  };
  const Share mine{items, std::accumulate(fixed_weights.begin(), fixed_weights.end(), std::uint64_t{0})};
  const auto shares = comm.size() > 1 ? support::all_gather(comm, mine) : std::vector<Share>{mine};
  Share before{}, total{};
  for (std::size_t r = 0; r < shares.size(); ++r) {
    if (static_cast<int>(r) == comm.rank()) before = total;
    total.items += shares[r].items;
    total.weight += shares[r].weight;
  }
  if (total.weight == 0) return even_cuts(static_cast<std::int64_t>(total.items), parts, shares_of_parts);
  if (rule == SliceRule::exact) return exact_cuts_on_ranks(comm, fixed_weights, parts);
  // A rank knows the cuts that lie among its items; the others say that it is not before theirs.
  std::vector<std::int64_t> cuts(static_cast<std::size_t>(parts) + 1, static_cast<std::int64_t>(total.items));
  cuts[0] = 0;
  const std::vector<std::uint64_t> marks = slice_marks(total.weight, parts, shares_of_parts);
  std::uint64_t weight = before.weight;
  int p = 0;
  for (std::size_t i = 0; i < fixed_weights.size() && p < parts; ++i) {
    for (; p < parts && 2 * weight + fixed_weights[i] >= marks[static_cast<std::size_t>(p)]; ++p)
      if (p > 0) cuts[p] = static_cast<std::int64_t>(before.items + i);
    weight += fixed_weights[i];
  }
  if (comm.size() > 1) support::all_min(comm, std::span(cuts));
  return cuts;
}

}  // namespace amrbench::partitioners
