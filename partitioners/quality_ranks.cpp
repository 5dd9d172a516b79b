#include "partitioners/quality_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "partitioners/check_together.hpp"
#include "partitioners/even_shares.hpp"
#include "support/superaccumulator.hpp"

namespace amrbench::partitioners {

namespace {

using support::Communicator;
using support::ExactSum;

constexpr std::size_t kBatch = 4096;     // parts whose exact sums, 584 bytes each, are reduced at once
constexpr std::size_t kDimensions = 16;  // most

/// The rank that holds the place `p` of n.
std::size_t owner_of(std::uint64_t p, std::uint64_t n, int ranks) {
  auto r = static_cast<int>(p * static_cast<std::uint64_t>(ranks) / n);
  while (share_of(n, r + 1, ranks) <= p) ++r;
  while (share_of(n, r, ranks) > p) --r;
  return static_cast<std::size_t>(r);
}

/// Points of this rank's stretch of the curve, in its order.
std::vector<double> along_curve(const Communicator& comm, PointView<double> points,
                                std::span<const std::uint64_t> position, std::uint64_t n) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto dim = static_cast<std::size_t>(points.dim);
  std::vector<double> ordered;
  if (ranks == 1) {
    ordered.resize(position.size() * dim);
    for (std::size_t i = 0; i < position.size(); ++i) std::copy_n(points[i], dim, &ordered[position[i] * dim]);
    return ordered;
  }
  std::vector<std::size_t> counts(ranks, 0), next(ranks, 0), came;
  for (const std::uint64_t p : position) ++counts[owner_of(p, n, comm.size())];
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
  std::vector<std::uint64_t> places(position.size()), place;
  std::vector<double> sent(position.size() * dim), at;
  for (std::size_t i = 0; i < position.size(); ++i) {
    const std::size_t to = next[owner_of(position[i], n, comm.size())]++;
    places[to] = position[i];
    std::copy_n(points[i], dim, &sent[to * dim]);
  }
  exchange_in_rounds<std::uint64_t>(comm, places, counts, kShareMessageBytes, place, came);
  for (std::size_t& count : counts) count *= dim;
  exchange_in_rounds<double>(comm, sent, counts, kShareMessageBytes, at, came);
  const std::uint64_t first = share_of(n, comm.rank(), comm.size());
  ordered.resize(at.size());
  for (std::size_t i = 0; i < place.size(); ++i) std::copy_n(&at[i * dim], dim, &ordered[(place[i] - first) * dim]);
  return ordered;
}

/// Puts the first point of the next rank that has one behind this rank's.
void append_next(const Communicator& comm, std::size_t dim, std::vector<double>& points) {
  struct First {
    bool there = false;
    std::array<double, kDimensions> at{};
  };
  First mine{.there = !points.empty()};
  if (mine.there) std::copy_n(points.begin(), dim, mine.at.begin());
  const std::vector<First> firsts = support::all_gather(comm, mine);
  const auto next =
      std::find_if(firsts.begin() + comm.rank() + 1, firsts.end(), [](const First& f) { return f.there; });
  if (mine.there && next != firsts.end())
    points.insert(points.end(), next->at.begin(), next->at.begin() + static_cast<std::ptrdiff_t>(dim));
}

}  // namespace

PartitionQuality measure_loads(const Communicator& comm, std::span<const std::int32_t> part, int parts,
                               std::span<const double> weights, bool weighted) {
  check_together(comm, [&] {
    for (const std::int32_t p : part)
      if (p < 0 || p >= parts)
        throw support::InputError(fmt::format("a point is in part {}; parts are 0 to {}", p, parts - 1));
  });
  PartitionQuality quality;
  quality.parts = parts;
  const auto all = static_cast<std::size_t>(parts);
  // Points by part, so that each batch of parts finds its own.
  std::vector<std::size_t> first(all + 1, 0);
  for (const std::int32_t p : part) ++first[static_cast<std::size_t>(p) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  std::vector<double> sorted(weighted ? part.size() : 0);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[next[static_cast<std::size_t>(part[i])]++] = weights[i];
  ExactSum total;
  for (std::size_t begin = 0; begin < all; begin += kBatch) {
    const std::size_t end = std::min(all, begin + kBatch);
    std::vector<std::uint64_t> counts(end - begin);
    std::vector<ExactSum> sums(weighted ? end - begin : 0);
    for (std::size_t p = begin; p < end; ++p) {
      counts[p - begin] = first[p + 1] - first[p];
      if (weighted) sums[p - begin].add(std::span(sorted).subspan(first[p], first[p + 1] - first[p]));
    }
    support::all_sum<std::uint64_t>(comm, counts);
    if (weighted) ExactSum::allreduce(comm, sums);
    for (std::size_t p = begin; p < end; ++p) {
      const double load = weighted ? sums[p - begin].to_double() : static_cast<double>(counts[p - begin]);
      if (weighted)
        total.merge(sums[p - begin]);
      else
        total.add(load);
      if (counts[p - begin] == 0) ++quality.empty_parts;
      quality.load_max = p == 0 ? load : std::max(quality.load_max, load);
      quality.load_min = p == 0 ? load : std::min(quality.load_min, load);
    }
  }
  quality.load_mean = total.to_double() / parts;
  return quality;
}

double moved_weight(const Communicator& comm, std::span<const std::int32_t> part,
                    std::span<const std::int32_t> previous, std::span<const double> weights, bool weighted) {
  ExactSum sum;
  for (std::size_t i = 0; i < part.size(); ++i)
    if (part[i] != previous[i]) sum.add(weighted ? weights[i] : 1.0);
  sum.allreduce(comm);
  return sum.to_double();
}

CurveMeasure measure_curve(const Communicator& comm, PointView<double> points, std::span<const std::uint64_t> position,
                           double unit) {
  const auto n = support::all_sum(comm, static_cast<std::uint64_t>(position.size()));
  const auto dim = static_cast<std::size_t>(points.dim);
  CurveMeasure curve;
  if (n == 0) return curve;
  std::vector<double> at = along_curve(comm, points, position, n);
  append_next(comm, dim, at);
  // Lengths stand where their first point stood.
  const std::size_t steps = at.size() / dim > 0 ? at.size() / dim - 1 : 0;
  for (std::size_t k = 0; k < steps; ++k) {
    double square = 0;
    for (std::size_t d = 0; d < dim; ++d) {
      const double step = at[(k + 1) * dim + d] - at[k * dim + d];
      square += step * step;
    }
    at[k] = std::sqrt(square);
    if (square > unit * unit) ++curve.jumps;
  }
  curve.jumps = support::all_sum(comm, curve.jumps);
  // One rank after another adds its lengths to the sum so far: rounding depends on the order of additions.
  for (int r = 0; r < comm.size(); ++r) {
    if (r == comm.rank())
      for (std::size_t k = 0; k < steps; ++k) curve.length += at[k];
    curve.length = support::broadcast(comm, curve.length, r);
  }
  curve.length /= unit;
  return curve;
}

}  // namespace amrbench::partitioners
