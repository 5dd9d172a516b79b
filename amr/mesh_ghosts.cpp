// Which remote blocks touch ours: the part of Mesh::set_blocks that talks to other ranks.
#include <algorithm>
#include <array>
#include <map>

#include "amr/mesh.hpp"
#include "support/error.hpp"
#include "support/field_stats.hpp"
#include "support/thread_lists.hpp"

namespace amrbench::amr {

template <int Dim>
auto Mesh<Dim>::border_by_intervals() const -> std::vector<Sent> {
  const int me = comm_.rank();
  std::vector<Sent> sent;
  if (comm_.size() == 1) return sent;
  support::append_by_threads(sent, open_.size(), [&](std::size_t begin, std::size_t end, std::vector<Sent>& mine) {
    for (std::size_t k = begin; k < end; ++k) {
      const auto [i, faces] = open_[k];
      const auto same = space_.neighbors(level(i), coord(i));
      for (int face = 0; face < 2 * Dim; ++face) {
        if ((faces >> face & 1U) == 0 || same[face] == space_.kNone) continue;
        if (holds(same[face])) continue;
        // The neighbour is at most one level finer, so each half-size piece at the face lies inside one leaf.
        const bool deepest = level(i) == space_.max_level();
        for (int part = 0; part < (deepest ? 1 : Links::kParts); ++part) {
          const int rank = owner(deepest ? same[face] : subface_key(i, face, part));
          if (rank != me && (mine.empty() || mine.back() != Sent{rank, i})) mine.push_back({rank, i});
        }
      }
    }
  });
  return sent;
}

/// Are all siblings of block i, the first child of its parent, on this rank?
template <int Dim>
bool Mesh<Dim>::has_family(std::int32_t i) const {
  const Key parent = space_.parent(keys_[i]);
  for (int child = 1; child < space_.kChildren; ++child) {
    const Key key = space_.child(parent, child);
    const bool next = i + child < size() && keys_[i + child] == key;  // as in most families
    if (!next && find_local(key) == Dictionary::kNone) return false;
  }
  return true;
}

/// Asks the directory for all leaves that may lie behind a face where none of ours does: one of the same level, its
/// parent, or its parts at the face. Only one of these kinds is there.
template <int Dim>
auto Mesh<Dim>::border_by_directory() -> std::vector<Sent> {
  std::vector<Key> asked, entered;
  std::vector<std::int32_t> askers;
  const auto is_local = [&](Key key) { return find_local(key) != Dictionary::kNone; };
  for (const auto [block, faces] : open_) {
    const std::int32_t i = block;
    const auto ask = [&](Key key) {
      asked.push_back(key);
      askers.push_back(i);
    };
    const auto same = space_.neighbors(level(i), coord(i));
    for (int face = 0; face < 2 * Dim; ++face) {
      if ((faces >> face & 1U) == 0 || same[face] == space_.kNone || is_local(same[face])) continue;
      if (level(i) > 0 && is_local(space_.parent(same[face]))) continue;
      int missing = 0;
      for (int part = 0; part < (level(i) == space_.max_level() ? 0 : Links::kParts); ++part) {
        const Key key = subface_key(i, face, part);
        if (is_local(key)) continue;
        ++missing;
        ask(key);
      }
      if (missing > 0 && missing < Links::kParts) continue;  // the others are ours, so these are leaves
      if (missing == 0 && level(i) < space_.max_level()) continue;
      ask(same[face]);
      if (level(i) > 0) ask(space_.parent(same[face]));
    }
  }
  for (std::size_t k = 0; k < askers.size(); ++k) {
    if (k == 0 || askers[k] != askers[k - 1]) entered.push_back(keys_[askers[k]]);
  }
  for (std::int32_t i = 0; i < size(); ++i) {
    if (level(i) > 0 && space_.child_index(keys_[i]) == 0 && !has_family(i)) entered.push_back(keys_[i]);
  }
  std::sort(entered.begin(), entered.end());
  entered.erase(std::unique(entered.begin(), entered.end()), entered.end());
  directory_.build(comm_, entered);
  const std::vector<int> owners = directory_.owners(comm_, asked);
  std::vector<Sent> sent;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    if (owners[k] != Directory::kNobody) sent.push_back({owners[k], askers[k]});
  }
  return sent;
}

/// neighbors_, with what each has as ghosts. `sent`: ascending blocks, a block for a rank more than once perhaps.
template <int Dim>
void Mesh<Dim>::list_neighbors(std::span<const Sent> sent) {
  std::map<int, std::vector<std::int32_t>> lists;
  std::vector<std::int32_t>* list = nullptr;
  int rank = -1;
  for (const Sent& s : sent) {
    if (s.rank != rank) list = &lists[rank = s.rank];
    if (list->empty() || list->back() != s.block) list->push_back(s.block);
  }
  neighbors_.clear();
  for (auto& [to, blocks] : lists) neighbors_.push_back({to, std::move(blocks), 0, 0});
}

template <int Dim>
void Mesh<Dim>::exchange_ghosts() {
  const int me = comm_.rank();
  list_neighbors(has_intervals_ ? border_by_intervals() : border_by_directory());
  std::vector<int> ranks;
  std::vector<Key> send_keys;
  std::vector<std::size_t> counts;
  for (const NeighborRank& neighbor : neighbors_) {
    ranks.push_back(neighbor.rank);
    counts.push_back(neighbor.sends.size());
    for (const std::int32_t i : neighbor.sends) send_keys.push_back(keys_[i]);
  }
  const bool same_ranks =
      graph_.comm() && std::equal(ranks.begin(), ranks.end(), graph_.neighbors().begin(), graph_.neighbors().end());
  // Leaves more than one level apart, or a hole, may make one rank list another that does not list it; an exchange
  // would wait for ever. Each pair of ranks enters the sum with its hash from one side and against it from the other.
  std::array<std::uint64_t, 2> sums{same_ranks ? 0U : 1U, 0U};
  for (const int r : ranks) {
    const std::uint64_t pair = support::mix64(std::uint64_t(std::min(me, r)), std::uint64_t(std::max(me, r)));
    sums[1] += me < r ? pair : 0 - pair;
  }
  support::all_sum(comm_, std::span<std::uint64_t>(sums));
  if (sums[1] != 0) throw support::RunError("mesh: a block has a face without a neighbour at most one level away");
  if (sums[0] != 0) graph_ = support::DistGraph(comm_, ranks);
  const std::vector<std::size_t> received = graph_.template exchange_v<Key>(send_keys, counts, ghost_keys_);
  std::int32_t begin = 0;
  for (std::size_t k = 0; k < neighbors_.size(); ++k) {
    neighbors_[k].ghosts_begin = begin;
    neighbors_[k].ghosts_end = begin += static_cast<std::int32_t>(received[k]);
  }
  ghost_dictionary_.build(ghost_keys_);
  places_.grow(numbers_ + ghost_keys_.size());
  for (std::int32_t ghost = 0; ghost < ghost_count(); ++ghost) places_[numbers_ + ghost] = size() + ghost;
}

template bool Mesh<2>::has_family(std::int32_t) const;
template bool Mesh<3>::has_family(std::int32_t) const;
template auto Mesh<2>::border_by_intervals() const -> std::vector<Sent>;
template auto Mesh<3>::border_by_intervals() const -> std::vector<Sent>;
template auto Mesh<2>::border_by_directory() -> std::vector<Sent>;
template auto Mesh<3>::border_by_directory() -> std::vector<Sent>;
template void Mesh<2>::list_neighbors(std::span<const Sent>);
template void Mesh<3>::list_neighbors(std::span<const Sent>);
template void Mesh<2>::exchange_ghosts();
template void Mesh<3>::exchange_ghosts();

}  // namespace amrbench::amr
