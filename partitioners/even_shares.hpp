#pragma once
// Even shares of numbered things over ranks, and moving values from one such cut to another.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "partitioners/bounded_exchange.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {

inline constexpr std::size_t kShareMessageBytes = std::size_t{1} << 24;

/// The first of n that rank `rank` of `ranks` holds: floor(n * rank / ranks), without overflow.
inline std::uint64_t share_of(std::uint64_t n, int rank, int ranks) {
  const auto r = static_cast<std::uint64_t>(rank), all = static_cast<std::uint64_t>(ranks);
  return n / all * r + n % all * r / all;
}

/// Values that stand in rank order, cut anew: each rank gets the next `wanted` of them. Sums of values and of `wanted`
/// over ranks must be equal. Memory besides both: a round's messages. Collective.
template <support::Trivial T>
std::vector<T> cut_anew(const support::Communicator& comm, std::vector<T> mine, std::uint64_t wanted) {
  if (comm.size() == 1) return mine;
  const auto begin = support::exclusive_sum(comm, static_cast<std::uint64_t>(mine.size()));
  const std::vector<std::uint64_t> wants = support::all_gather(comm, wanted);
  std::vector<std::size_t> counts(wants.size());
  std::uint64_t first = 0;
  for (std::size_t r = 0; r < wants.size(); first += wants[r++]) {
    const std::uint64_t from = std::max(begin, first), to = std::min(begin + mine.size(), first + wants[r]);
    counts[r] = from < to ? to - from : 0;
  }
  std::vector<T> received;
  std::vector<std::size_t> received_counts;
  exchange_in_rounds<T>(comm, mine, counts, kShareMessageBytes, received, received_counts);
  return received;
}

/// Everybody's values on rank 0, in rank order; nothing on the others. Collective.
template <support::Trivial T>
std::vector<T> on_root(const support::Communicator& comm, std::span<const T> mine) {
  if (comm.size() == 1) return {mine.begin(), mine.end()};
  std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size())), received_counts;
  counts[0] = mine.size();
  std::vector<T> received;
  exchange_in_rounds<T>(comm, mine, counts, kShareMessageBytes, received, received_counts);
  return received;
}

}  // namespace amrbench::partitioners
