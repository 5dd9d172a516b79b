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

/// On the way from rank to rank.
std::int64_t bytes_a_block(const Fields& fields) {
  return static_cast<std::int64_t>((fields.layout().block_values() + 1) * sizeof(double) + sizeof(Key) +
                                   sizeof(Change));
}

template <int Dim>
MigrationCount migrate_blocks(Mesh<Dim>& mesh, Fields& fields, std::vector<Change>& changes,
                              std::span<const Departure> departures, std::span<const Arrival> arrivals) {
  MigrationCount count;
  for (const Departure& d : departures) count.blocks += static_cast<std::int64_t>(d.blocks.size());
  std::int64_t kept = mesh.size() - count.blocks;
  for (const Departure& d : departures) kept = std::max(kept, static_cast<std::int64_t>(d.blocks.size()));
  count.bytes = count.blocks * bytes_a_block(fields);
  count.bytes_least = (mesh.size() - kept) * bytes_a_block(fields);
  BlockList memory{mesh.spare_keys(), mesh.spare_weights(), {}, fields.spare_slots()};
  BlockList blocks = move_blocks(mesh.comm(), fields, {mesh.keys(), mesh.weights(), changes, fields.slots()},
                                 departures, arrivals, std::move(memory));
  changes = std::move(blocks.changes);
  fields.set_slots(std::move(blocks.slots));
  mesh.set_blocks(std::move(blocks.keys), std::move(blocks.weights));
  return count;
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

/// What of [0, n) is in none of `runs`, which do not overlap.
std::vector<Run> others(std::vector<Run> runs, std::size_t n) {
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
  std::vector<Run> rest;
  std::size_t at = 0;
  for (const Run& run : runs) {
    if (run.begin > at) rest.push_back({at, run.begin});
    at = run.end;
  }
  if (at < n) rest.push_back({at, n});
  return rest;
}

/// Writes `runs` of a list one after another into another one, from place `to` on. By all threads: a mesh that is cut
/// anew along its curve has few runs, and long ones.
void copy_runs(const BlockView& from, std::span<const Run> runs, BlockList& into, std::size_t to) {
  constexpr std::size_t kChunk = 4096;
  std::vector<std::size_t> ends;  // of each run, in the places written
  for (const Run& run : runs) ends.push_back((ends.empty() ? 0 : ends.back()) + run.end - run.begin);
  const std::size_t n = ends.empty() ? 0 : ends.back();
#pragma omp parallel for schedule(static) if (n > kChunk)
  for (std::size_t chunk = 0; chunk < n; chunk += kChunk) {
    std::size_t at = chunk, k = std::upper_bound(ends.begin(), ends.end(), at) - ends.begin();
    for (; at < std::min(n, chunk + kChunk); ++k) {
      const std::size_t count = std::min(ends[k], chunk + kChunk) - at, begin = runs[k].end - (ends[k] - at);
      std::copy_n(from.keys.begin() + begin, count, into.keys.begin() + to + at);
      std::copy_n(from.weights.begin() + begin, count, into.weights.begin() + to + at);
      std::copy_n(from.changes.begin() + begin, count, into.changes.begin() + to + at);
      std::copy_n(from.slots.begin() + begin, count, into.slots.begin() + to + at);
      at += count;
    }
  }
}

void sort_by_key(BlockList& blocks) {
  bool is_sorted = true;
#pragma omp parallel for schedule(static) reduction(&& : is_sorted)
  for (std::size_t i = 1; i < blocks.size(); ++i) is_sorted = is_sorted && blocks.keys[i - 1] < blocks.keys[i];
  if (is_sorted) return;
  std::vector<std::int32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::int32_t a, std::int32_t b) { return blocks.keys[a] < blocks.keys[b]; });
  BlockList sorted;
  sorted.resize(blocks.size());
  copy_runs(blocks.view(), runs_of(order), sorted, 0);
  blocks = std::move(sorted);
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

BlockList move_blocks(const support::Communicator& comm, Fields& fields, const BlockView& blocks,
                      std::span<const Departure> departures, std::span<const Arrival> arrivals, BlockList memory) {
  std::vector<BlockList> leaving(departures.size());
  std::vector<BlockMessage> sends, receives;
  std::vector<Run> gone;
  std::size_t stays = blocks.size();
  for (std::size_t d = 0; d < departures.size(); ++d) {
    const std::vector<Run> runs = runs_of(departures[d].blocks);
    BlockList& sent = leaving[d];
    sent.resize(departures[d].blocks.size());
    stays -= sent.size();
    copy_runs(blocks, runs, sent, 0);
    gone.insert(gone.end(), runs.begin(), runs.end());
    sends.push_back({departures[d].rank, sent.keys, sent.weights, sent.changes, sent.slots});
  }
  std::size_t before = 0, come = 0;  // from lower ranks; in all
  for (const Arrival& a : arrivals) {
    come += a.blocks;
    if (a.rank < comm.rank()) before = come;
  }
  // On a mesh cut along its curve, rank by rank is the order of the keys.
  BlockList all = std::move(memory);
  all.resize(stays + come);
  copy_runs(blocks, others(std::move(gone), blocks.size()), all, before);
  const std::vector<std::int64_t> fresh = fields.take(come);
  std::size_t taken = 0;
  for (const Arrival& a : arrivals) {
    const std::size_t at = a.rank < comm.rank() ? taken : taken + stays, n = a.blocks;
    std::copy_n(fresh.begin() + taken, n, all.slots.begin() + at);
    receives.push_back({a.rank, std::span(all.keys).subspan(at, n), std::span(all.weights).subspan(at, n),
                        std::span(all.changes).subspan(at, n),
                        std::span<const std::int64_t>(all.slots).subspan(at, n)});
    taken += n;
  }
  fields.move(comm, sends, receives);
  for (const BlockList& sent : leaving) fields.give_back(sent.slots);
  if (come > 0) sort_by_key(all);
  return all;
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
