#include "amr/migrate.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <vector>

namespace amrbench::amr {

namespace {

/// Blocks at global positions [begin, end).
struct Range {
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return std::max<std::int64_t>(0, end - begin); }
};

Range intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

template <int Dim>
BlockList blocks_of(const Mesh<Dim>& mesh, const Fields& fields, std::vector<Change>&& changes) {
  return {{mesh.keys().begin(), mesh.keys().end()},
          {mesh.weights().begin(), mesh.weights().end()},
          std::move(changes),
          {fields.slots().begin(), fields.slots().end()}};
}

/// On the way from rank to rank.
std::int64_t bytes_a_block(const Fields& fields) {
  return static_cast<std::int64_t>((fields.layout().block_values() + 1) * sizeof(double) + sizeof(Key) +
                                   sizeof(Change));
}

template <int Dim>
MigrationCount migrate_blocks(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                              std::span<const Departure> departures, std::span<const Arrival> arrivals) {
  BlockList blocks = blocks_of(mesh, fields, std::move(changes));
  const auto here = static_cast<std::int64_t>(blocks.size());
  MigrationCount count = move_blocks(mesh.comm(), fields, blocks, departures, arrivals);
  std::int64_t kept = here - count.blocks;
  for (const Departure& d : departures) kept = std::max(kept, static_cast<std::int64_t>(d.blocks.size()));
  count.bytes_least = (here - kept) * bytes_a_block(fields);
  changes = std::move(blocks.changes);
  fields.set_slots(std::move(blocks.slots));
  mesh.set_blocks(std::move(blocks.keys), std::move(blocks.weights));
  return count;
}

/// Pieces of a list one after another.
void append(BlockList& to, const BlockList& from, std::size_t begin, std::size_t end) {
  to.keys.insert(to.keys.end(), from.keys.begin() + begin, from.keys.begin() + end);
  to.weights.insert(to.weights.end(), from.weights.begin() + begin, from.weights.begin() + end);
  to.changes.insert(to.changes.end(), from.changes.begin() + begin, from.changes.begin() + end);
  to.slots.insert(to.slots.end(), from.slots.begin() + begin, from.slots.begin() + end);
}

void sort_by_key(BlockList& blocks) {
  if (std::is_sorted(blocks.keys.begin(), blocks.keys.end())) return;
  std::vector<std::int32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::int32_t a, std::int32_t b) { return blocks.keys[a] < blocks.keys[b]; });
  BlockList sorted;
  sorted.reserve(blocks.size());
  for (const std::int32_t i : order) append(sorted, blocks, i, i + 1);
  blocks = std::move(sorted);
}

/// Places [begin, end) of a list.
struct Run {
  std::size_t begin, end;
};

/// Stretches of places that follow each other.
std::vector<Run> runs_of(std::span<const std::int32_t> places) {
  std::vector<Run> runs;
  for (const std::int32_t place : places) {
    const auto at = static_cast<std::size_t>(place);
    if (runs.empty() || runs.back().end != at) runs.push_back({at, at});
    ++runs.back().end;
  }
  return runs;
}

/// Splits a list into what leaves, one list a departure, and what stays; by stretches, because a mesh that is cut anew
/// along its curve sends few and long ones.
std::vector<BlockList> take_departing(BlockList& blocks, std::span<const Departure> departures) {
  std::vector<BlockList> leaving(departures.size());
  if (departures.empty()) return leaving;
  std::vector<Run> gone;
  std::size_t leaves = 0;
  for (std::size_t d = 0; d < departures.size(); ++d) {
    const std::vector<Run> runs = runs_of(departures[d].blocks);
    leaving[d].reserve(departures[d].blocks.size());
    for (const Run& run : runs) append(leaving[d], blocks, run.begin, run.end);
    gone.insert(gone.end(), runs.begin(), runs.end());
    leaves += departures[d].blocks.size();
  }
  std::sort(gone.begin(), gone.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  BlockList stay;
  stay.reserve(blocks.size() - leaves);
  std::size_t at = 0;
  for (const Run& run : gone) {
    append(stay, blocks, at, run.begin);
    at = run.end;
  }
  append(stay, blocks, at, blocks.size());
  blocks = std::move(stay);
  return leaving;
}

}  // namespace

std::vector<Arrival> announce(const support::Communicator& comm, std::span<const Departure> departures) {
  std::vector<std::int64_t> counts(comm.size(), 0);
  for (const Departure& d : departures) counts[d.rank] = static_cast<std::int64_t>(d.blocks.size());
  const std::vector<std::int64_t> received = support::all_to_all<std::int64_t>(comm, counts);
  std::vector<Arrival> arrivals;
  for (int rank = 0; rank < comm.size(); ++rank) {
    if (received[rank] > 0) arrivals.push_back({rank, received[rank]});
  }
  return arrivals;
}

MigrationCount move_blocks(const support::Communicator& comm, Fields& fields, BlockList& blocks,
                           std::span<const Departure> departures, std::span<const Arrival> arrivals) {
  std::vector<BlockList> leaving = take_departing(blocks, departures);
  BlockList arriving;
  for (const Arrival& a : arrivals) {
    const std::vector<std::int64_t> slots = fields.take(a.blocks);
    arriving.slots.insert(arriving.slots.end(), slots.begin(), slots.end());
  }
  arriving.keys.resize(arriving.slots.size());
  arriving.weights.resize(arriving.slots.size());
  arriving.changes.resize(arriving.slots.size());
  MigrationCount count;
  std::size_t before = 0, at = 0;  // arrivals from lower ranks; arrivals so far
  std::vector<BlockMessage> sends, receives;
  for (const Arrival& a : arrivals) {
    receives.push_back({a.rank, std::span(arriving.keys).subspan(at, a.blocks),
                        std::span(arriving.weights).subspan(at, a.blocks),
                        std::span(arriving.changes).subspan(at, a.blocks),
                        std::span<const std::int64_t>(arriving.slots).subspan(at, a.blocks)});
    at += a.blocks;
    if (a.rank < comm.rank()) before = at;
  }
  for (std::size_t d = 0; d < departures.size(); ++d) {
    BlockList& sent = leaving[d];
    sends.push_back({departures[d].rank, sent.keys, sent.weights, sent.changes, sent.slots});
    const auto n = static_cast<std::int64_t>(sent.size());
    count.blocks += n;
    count.bytes += n * bytes_a_block(fields);
  }
  fields.move(comm, sends, receives);
  for (const BlockList& sent : leaving) fields.give_back(sent.slots);
  if (arriving.size() > 0) {
    // On a mesh cut along its curve, rank by rank is the order of the keys.
    BlockList all;
    all.reserve(arriving.size() + blocks.size());
    append(all, arriving, 0, before);
    append(all, blocks, 0, blocks.size());
    append(all, arriving, before, arriving.size());
    sort_by_key(all);
    blocks = std::move(all);
  }
  return count;
}

template <int Dim>
MigrationCount migrate(Mesh<Dim>& mesh, Fields& fields, std::span<const std::int64_t> cuts) {
  std::vector<Change> none(mesh.size(), Change::stay);
  return migrate(mesh, fields, none, cuts);
}

template <int Dim>
MigrationCount migrate(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                       std::span<const std::int64_t> cuts) {
  const int me = mesh.comm().rank();
  const Range have{mesh.global_begin(), mesh.global_begin() + mesh.size()};
  const Range want{cuts[me], cuts[me + 1]};
  std::vector<Departure> departures;
  std::vector<Arrival> arrivals;
  std::int64_t other_begin = 0;
  for (int r = 0; r < mesh.comm().size(); ++r) {
    const Range other{other_begin, other_begin + mesh.rank_sizes()[r]};
    other_begin = other.end;
    if (r == me) continue;
    const Range go = intersect(have, {cuts[r], cuts[r + 1]}), come = intersect(want, other);
    if (come.size() > 0) arrivals.push_back({r, come.size()});
    if (go.size() <= 0) continue;
    Departure& departure = departures.emplace_back(Departure{r, std::vector<std::int32_t>(go.size())});
    std::iota(departure.blocks.begin(), departure.blocks.end(), static_cast<std::int32_t>(go.begin - have.begin));
  }
  return migrate_blocks(mesh, fields, changes, departures, arrivals);
}

template <int Dim>
MigrationCount migrate_to(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                          std::span<const std::int32_t> destinations) {
  std::map<int, std::vector<std::int32_t>> by_rank;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    if (destinations[i] != mesh.comm().rank()) by_rank[destinations[i]].push_back(i);
  }
  std::vector<Departure> departures;
  for (auto& [rank, blocks] : by_rank) departures.push_back({rank, std::move(blocks)});
  const std::vector<Arrival> arrivals = announce(mesh.comm(), departures);
  return migrate_blocks(mesh, fields, changes, departures, arrivals);
}

template MigrationCount migrate(Mesh<2>&, Fields&, std::span<const std::int64_t>);
template MigrationCount migrate(Mesh<3>&, Fields&, std::span<const std::int64_t>);
template MigrationCount migrate(Mesh<2>&, Fields&, std::vector<Change>&, std::span<const std::int64_t>);
template MigrationCount migrate(Mesh<3>&, Fields&, std::vector<Change>&, std::span<const std::int64_t>);
template MigrationCount migrate_to(Mesh<2>&, Fields&, std::vector<Change>&, std::span<const std::int32_t>);
template MigrationCount migrate_to(Mesh<3>&, Fields&, std::vector<Change>&, std::span<const std::int32_t>);

}  // namespace amrbench::amr
