#pragma once
// Moving blocks between ranks.
#include <cstdint>
#include <span>
#include <vector>

#include "amr/consensus.hpp"
#include "amr/fields.hpp"
#include "amr/mesh.hpp"

namespace amrbench::amr {

struct MigrationCount {
  std::int64_t blocks = 0;  ///< sent by this rank
  std::int64_t bytes = 0;   ///< of messages it sent
  /// That it would send whatever rank each new part were given to: a rank gets one part, so it keeps at most what most
  /// of its blocks go to. Summed over ranks no naming of the same parts moves less.
  std::int64_t bytes_least = 0;
};

/// Lists of blocks that others own.
struct BlockView {
  std::span<const Key> keys;
  std::span<const double> weights;
  std::span<const Change> changes;
  std::span<const std::int64_t> slots;
  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

/// Blocks on their way: block i has keys[i], weighs weights[i], stands in slot slots[i] of the fields, and changes[i]
/// is what it is about to become.
struct BlockList {
  std::vector<Key> keys;
  std::vector<double> weights;
  std::vector<Change> changes;
  std::vector<std::int64_t> slots;

  [[nodiscard]] std::size_t size() const { return keys.size(); }
  [[nodiscard]] BlockView view() const { return {keys, weights, changes, slots}; }
  void resize(std::size_t n) {
    keys.resize(n);
    weights.resize(n);
    changes.resize(n);
    slots.resize(n);
  }
};

/// The blocks that one rank sends to another, by their places in the list.
struct Departure {
  int rank = 0;
  std::vector<std::int32_t> blocks;
};
/// How many blocks come from a rank.
struct Arrival {
  int rank = 0;
  std::int64_t blocks = 0;
};

/// What others will send, given what this rank sends: for those who cannot know it otherwise. Collective; one number to
/// each rank.
std::vector<Arrival> announce(const support::Communicator& comm, std::span<const Departure> departures);

/// Sends blocks away, takes others in, and returns what this rank then has, in order of the keys. One exchange a pair
/// of ranks, from and to the slots where values lie. Departures and arrivals: by ascending rank, none of them this one.
/// `memory`: for the list returned, of any contents. O(n) by all threads. Collective over the ranks that are named.
BlockList move_blocks(const support::Communicator& comm, Fields& fields, const BlockView& blocks,
                      std::span<const Departure> departures, std::span<const Arrival> arrivals, BlockList memory = {});

/// Re-cuts the curve: rank r gets the blocks at global positions [cuts[r], cuts[r + 1]). `cuts`: ranks + 1 ascending
/// positions from 0 to global_size(), the same on every rank, positions counted by rank, then by key. Keys,
/// weights and values of all blocks that go from one rank to another travel in one message; who sends what follows from
/// the cuts alone, so nothing is negotiated. Collective.
template <int Dim>
MigrationCount migrate(Mesh<Dim>& mesh, Fields& fields, std::span<const std::int64_t> cuts);
/// The same with one more byte a block: `changes`, one a local block, go where the blocks go.
template <int Dim>
MigrationCount migrate(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                       std::span<const std::int64_t> cuts);

/// Sends local block i to rank destinations[i], whatever the curve says; `changes` go along. Collective.
template <int Dim>
MigrationCount migrate_to(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                          std::span<const std::int32_t> destinations);

}  // namespace amrbench::amr
