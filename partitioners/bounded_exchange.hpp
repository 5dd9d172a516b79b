#pragma once
// All-to-all exchange in rounds: no message is longer than a bound, however much goes from one rank to another.
// Source: document 001, section 2.9.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "support/mpi.hpp"

namespace amrbench::partitioners {

/// The first counts[0] elements of `send` go to rank 0, and so on. `received` gets the pieces one after another by
/// rank, `received_counts` their lengths. A round sends at most max(1, message_bytes / sizeof(T)) elements from each
/// rank to each; returns the number of rounds, the same on every rank. Memory besides both spans: one round's messages,
/// at most 2 * ranks * message_bytes. Collective.
template <support::Trivial T>
std::size_t exchange_in_rounds(const support::Communicator& comm, std::span<const T> send,
                               std::span<const std::size_t> counts, std::size_t message_bytes, std::vector<T>& received,
                               std::vector<std::size_t>& received_counts) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t most = std::max<std::size_t>(1, message_bytes / sizeof(T));
  received_counts = support::all_to_all(comm, counts);
  std::vector<std::size_t> from(ranks), to(ranks);
  std::size_t longest = 0, sent = 0, total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    from[r] = sent;
    to[r] = total;
    sent += counts[r];
    total += received_counts[r];
    longest = std::max(longest, counts[r]);
  }
  received.resize(total);
  const std::size_t rounds = (support::all_max(comm, longest) + most - 1) / most;
  std::vector<T> out, in;
  std::vector<int> lengths(ranks);
  for (std::size_t round = 0; round < rounds; ++round) {
    out.clear();
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::size_t done = std::min(round * most, counts[r]);
      const std::size_t now = std::min(most, counts[r] - done);
      lengths[r] = static_cast<int>(now);
      const auto piece = send.subspan(from[r] + done, now);
      out.insert(out.end(), piece.begin(), piece.end());
    }
    const std::vector<int> came = support::all_to_all_v<T>(comm, out, lengths, in);
    auto next = in.begin();
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto end = next + came[r];
      std::copy(next, end, received.begin() + static_cast<std::ptrdiff_t>(to[r]));
      to[r] += static_cast<std::size_t>(came[r]);
      next = end;
    }
  }
  return rounds;
}

}  // namespace amrbench::partitioners
