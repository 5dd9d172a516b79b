#include "amr/directory.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/field_stats.hpp"

namespace amrbench::amr {

namespace {

/// Keys sorted by home.
struct ByHome {
  std::vector<std::uint64_t> keys;
  std::vector<std::size_t> places;  ///< of each in the list it came from
  std::vector<int> counts;          ///< of each home

  ByHome(std::span<const std::uint64_t> from, int ranks) : keys(from.size()), places(from.size()), counts(ranks, 0) {
    constexpr std::uint64_t kSalt = 0x5bd1e995;
    std::vector<int> homes(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      homes[i] = static_cast<int>(support::mix64(from[i], kSalt) % static_cast<std::uint64_t>(ranks));
      ++counts[homes[i]];
    }
    std::vector<std::size_t> next(ranks, 0);
    std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t to = next[homes[i]]++;
      keys[to] = from[i];
      places[to] = i;
    }
  }
};

}  // namespace

void Directory::build(const support::Communicator& comm, std::span<const std::uint64_t> keys) {
  const ByHome sent(keys, comm.size());
  std::vector<std::uint64_t> received;
  const std::vector<int> counts = support::all_to_all_v<std::uint64_t>(comm, sent.keys, sent.counts, received);
  std::vector<std::pair<std::uint64_t, int>> entries;
  entries.reserve(received.size());
  for (int rank = 0; rank < comm.size(); ++rank) {
    for (int i = 0; i < counts[rank]; ++i) entries.emplace_back(received[entries.size()], rank);
  }
  std::sort(entries.begin(), entries.end());
  owners_.clear();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    received[i] = entries[i].first;
    owners_.push_back(entries[i].second);
  }
  dictionary_.build(received);
}

std::vector<int> Directory::owners(const support::Communicator& comm, std::span<const std::uint64_t> keys) const {
  const ByHome asked(keys, comm.size());
  std::vector<std::uint64_t> received;
  const std::vector<int> counts = support::all_to_all_v<std::uint64_t>(comm, asked.keys, asked.counts, received);
  std::vector<int> found, answers;
  for (const std::uint64_t key : received) {
    const std::int32_t i = dictionary_.find(key);
    found.push_back(i == Dictionary::kNone ? kNobody : owners_[i]);
  }
  support::all_to_all_v<int>(comm, found, counts, answers);
  std::vector<int> owners(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) owners[asked.places[i]] = answers[i];
  return owners;
}

}  // namespace amrbench::amr
