#include "amr/consensus.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "support/thread_lists.hpp"

namespace amrbench::amr {

namespace {

/// The state that `from` asks of its face neighbour `to`, coarsen when it asks nothing (rules 2 and 3).
template <int Dim>
Change demand(const sfc::KeySpace<Dim>& space, Key from, Change state, Key to, FaceKind kind) {
  if (kind == FaceKind::coarse) return state == Change::refine ? Change::refine : Change::coarsen;
  if (kind != FaceKind::same) return Change::coarsen;
  if (state == Change::refine) return Change::stay;
  const bool siblings = space.level(from) > 0 && space.parent(from) == space.parent(to);
  return state == Change::stay && siblings ? Change::stay : Change::coarsen;
}

FaceKind seen_from_other_side(FaceKind kind) {
  return kind == FaceKind::coarse ? FaceKind::fine : kind == FaceKind::fine ? FaceKind::coarse : kind;
}

template <int Dim>
class Rounds {
 public:
  static constexpr int kFamily = 1 << Dim;
  static constexpr std::size_t kSerial = 512;  ///< fewer blocks to look around at are not worth waking a team
  static constexpr std::size_t kAhead = 8;     ///< blocks of a work list
  using Work = std::vector<std::int32_t>;

  Rounds(const Mesh<Dim>& mesh, std::vector<Change> marks) : mesh_(mesh), states_(std::move(marks)) {
    ghost_states_.assign(mesh.ghost_count(), Change::coarsen);
    for (const NeighborRank& neighbor : mesh.neighbors()) {
      send_counts_.push_back(static_cast<int>(neighbor.sends.size()));
      send_starts_.push_back(static_cast<int>(send_blocks_.size()));
      send_blocks_.insert(send_blocks_.end(), neighbor.sends.begin(), neighbor.sends.end());
      receive_counts_.push_back(neighbor.ghosts_end - neighbor.ghosts_begin);
      receive_starts_.push_back(neighbor.ghosts_begin);
    }
    send_states_.assign(send_blocks_.size(), Change::coarsen);
  }

  Consensus run() {
    apply_first_rules();
    Consensus result;
    settle();
    while (exchange(result)) {
      pull_from_ghosts();
      settle();
    }
    result.changes = std::move(states_);
    return result;
  }

 private:
  /// Rule 1, and rule 3 but for families that other ranks may have members of. Also fills the first work list with the
  /// blocks that ask something of others yet: those that refine, and members of such families that stay.
  void apply_first_rules() {
    support::append_by_threads(work_, states_.size(), [&](std::size_t from, std::size_t to, Work& mine) {
      const std::int32_t end = family_begin(static_cast<std::int32_t>(to));
      for (std::int32_t i = family_begin(static_cast<std::int32_t>(from)); i < end;) {
        if (mesh_.is_family(i)) {
          const bool refines = raise_family(i);
          for (std::int32_t k = i; refines && k < i + kFamily; ++k)
            if (states_[k] == Change::refine) mine.push_back(k);
          i += kFamily;
          continue;
        }
        // A sibling is no leaf, or elsewhere. What this rank has of the family, if that is all, cannot merge.
        const bool cannot = mesh_.level(i) == 0 || mesh_.holds(mesh_.space().parent(mesh_.keys()[i]));
        if (cannot || mesh_.has_finer_neighbor(i)) states_[i] = std::max(states_[i], Change::stay);
        if (states_[i] == Change::refine || (states_[i] == Change::stay && !cannot)) mine.push_back(i);
        ++i;
      }
    });
  }

  /// Rules 1 and 3 for a family, all states at once. Does one of it refine?
  bool raise_family(std::int32_t i) {
    using Word = typename Mesh<Dim>::FamilyWord;
    constexpr Word kLowest = static_cast<Word>(0x0101010101010101U);
    Word states = 0;
    std::memcpy(&states, &states_[i], sizeof(states));
    if (states == static_cast<Word>(~Word{0}) && !mesh_.family_has_finer_neighbor(i)) return false;  // all coarsen
    states &= ~(0xffU * (states >> 7U & kLowest));  // coarsen, the one state below 0, becomes stay
    std::memcpy(&states_[i], &states, sizeof(states));
    return states != 0;
  }
  /// i, or the first block of the family that i would cut in two.
  [[nodiscard]] std::int32_t family_begin(std::int32_t i) const {
    if (i >= mesh_.size() || mesh_.level(i) == 0) return i;
    const std::int32_t first = i - mesh_.space().child_index(mesh_.keys()[i]);
    return mesh_.is_family(first) ? first : i;
  }

  /// Raises block i to at least `wanted`; true for the one thread that changed it.
  bool raise(std::int32_t i, Change wanted) {
    std::atomic_ref<Change> state(states_[i]);
    Change now = state.load(std::memory_order_relaxed);
    while (now < wanted) {
      if (state.compare_exchange_weak(now, wanted, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  /// Spreads local changes until the work list is empty; each sweep handles one list with all threads.
  void settle() {
    const auto& space = mesh_.space();
    while (!work_.empty()) {
      Work next;
      const auto spread = [&](std::size_t begin, std::size_t end, Work& mine) {
        for (std::size_t k = begin; k < end; ++k) {
          const std::int32_t i = work_[k];
          if (k + kAhead < end) mesh_.prefetch(work_[k + kAhead]);  // they lie apart
          const Change state = std::atomic_ref<Change>(states_[i]).load(std::memory_order_relaxed);
          const auto& links = mesh_.links(i);
          for (int face = 0; face < 2 * Dim; ++face) {
            const std::int32_t j = links.index[face][0];
            if (links.kind[face] == FaceKind::boundary || links.kind[face] == FaceKind::fine || j >= mesh_.size())
              continue;
            const Change wanted = demand<Dim>(space, mesh_.keys()[i], state, mesh_.keys()[j], links.kind[face]);
            if (raise(j, wanted)) mine.push_back(j);
          }
        }
      };
      support::append_by_threads(next, work_.size(), spread, kSerial);
      work_.swap(next);
    }
  }

  /// One round: states of border blocks out, those of ghosts in. False when no rank had news.
  bool exchange(Consensus& result) {
    bool news = result.rounds == 0;
    for (std::size_t k = 0; k < send_blocks_.size(); ++k) {
      const Change state = states_[send_blocks_[k]];
      news = news || state != send_states_[k];
      send_states_[k] = state;
    }
    std::int64_t splits = 0, coarsening = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : splits, coarsening)
    for (std::size_t i = 0; i < states_.size(); ++i) {
      splits += states_[i] == Change::refine;
      coarsening += states_[i] == Change::coarsen;
    }
    std::array<std::int64_t, 3> totals{news, splits, coarsening};
    const MPI_Comm graph = mesh_.graph().comm().get();
    std::array<MPI_Request, 2> requests{};
    support::mpi_check(
        MPI_Iallreduce(MPI_IN_PLACE, totals.data(), 3, MPI_INT64_T, MPI_SUM, mesh_.comm().get(), &requests[0]));
    support::mpi_check(MPI_Ineighbor_alltoallv(send_states_.data(), send_counts_.data(), send_starts_.data(),
                                               MPI_INT8_T, ghost_states_.data(), receive_counts_.data(),
                                               receive_starts_.data(), MPI_INT8_T, graph, &requests[1]));
    support::mpi_check(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    ++result.rounds;
    result.splits = totals[1];
    result.merges = totals[2] >> Dim;
    return totals[0] != 0;
  }

  void pull_from_ghosts() {
    const auto pull = [&](std::size_t begin, std::size_t end, Work& mine) {
      for (const std::int32_t i : mesh_.border().subspan(begin, end - begin)) {
        const auto& links = mesh_.links(i);
        for (int face = 0; face < 2 * Dim; ++face) {
          for (const std::int32_t j : links.index[face]) {
            if (j < mesh_.size()) continue;
            const Change state = ghost_states_[j - mesh_.size()];
            const FaceKind kind = seen_from_other_side(links.kind[face]);
            if (raise(i, demand<Dim>(mesh_.space(), mesh_.key_of(j), state, mesh_.keys()[i], kind))) mine.push_back(i);
          }
        }
      }
    };
    support::append_by_threads(work_, mesh_.border().size(), pull, kSerial);
  }

  const Mesh<Dim>& mesh_;
  std::vector<Change> states_;
  std::vector<Change> ghost_states_;
  Work work_;
  std::vector<std::int32_t> send_blocks_;
  std::vector<Change> send_states_;
  std::vector<int> send_counts_, send_starts_, receive_counts_, receive_starts_;
};

using Lengths = std::array<double, 3>;

/// Extent of a block of side 2 * half in miniAMR's units, where the domain is `mesh` units long.
Box block_box(const std::array<std::int64_t, 3>& low, std::int64_t side, const Lengths& mesh) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    box.lo[d] = static_cast<double>(low[d]) / mesh[d];
    box.hi[d] = static_cast<double>(low[d] + side) / mesh[d];
  }
  return box;
}

/// `factor` half cells of a block whose half side is `half` (miniAMR's order of operations).
Lengths half_cells(double factor, std::int64_t half, const MeshConfig& config, const Lengths& mesh) {
  Lengths by;
  for (int d = 0; d < 3; ++d)
    by[d] = factor * (static_cast<double>(half) / static_cast<double>(config.block[d])) / mesh[d];
  return by;
}

void widen(Box& box, const Lengths& by) {
  for (int d = 0; d < 3; ++d) {
    box.lo[d] -= by[d];
    box.hi[d] += by[d];
  }
}

/// What the objects ask of a block.
class Marker {
 public:
  Marker(const Mesh<3>& mesh, const MeshConfig& config, std::span<const Object> objects)
      : mesh_(mesh), config_(config), objects_(objects) {
    for (int d = 0; d < 3; ++d)
      extent_[d] = static_cast<double>(std::int64_t(config.root[d]) << (config.max_level + 1));
    for (int level = 0; level <= config.max_level; ++level) {
      const std::int64_t half = std::int64_t(1) << (config.max_level - level);
      margins_.push_back({half_cells(2.0, half, config, extent_), half_cells(1.0, 2 * half, config, extent_)});
    }
  }
  [[nodiscard]] Change mark(std::int32_t i) const {
    const int level = mesh_.level(i), deepest = config_.max_level;
    const Change deeper = level < deepest ? Change::refine : Change::stay;
    if (config_.uniform) return deeper;
    const std::int64_t half = std::int64_t(1) << (deepest - level);
    std::array<std::int64_t, 3> low{};
    for (int d = 0; d < 3; ++d) low[d] = std::int64_t(mesh_.coord(i)[d]) * 2 * half;
    Box box = block_box(low, 2 * half, extent_);
    if (config_.refine_ghost) widen(box, margins_[level].own);
    if (any_intersects(objects_, box)) return deeper;
    if (!config_.refine_ghost || level == 0) return Change::coarsen;
    // Its parent would refine again at once: leave it as it is.
    widen(box, margins_[level].parent);
    return any_intersects(objects_, box) ? Change::stay : Change::coarsen;
  }

 private:
  /// By how much a block's box grows, and further for its parent's ghost cells.
  struct Margins {
    Lengths own, parent;
  };
  const Mesh<3>& mesh_;
  const MeshConfig& config_;
  std::span<const Object> objects_;
  Lengths extent_{};
  std::vector<Margins> margins_;  ///< of each level
};

/// mark(i) of n blocks, by all threads. A vector of n would be filled first, by one of them and byte by byte.
template <class Mark>
std::vector<Change> marks_of(std::int32_t n, const Mark& mark) {
  const auto marks = std::make_unique_for_overwrite<Change[]>(static_cast<std::size_t>(n));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < n; ++i) marks[static_cast<std::size_t>(i)] = mark(i);
  return {marks.get(), marks.get() + n};
}

}  // namespace

template <int Dim>
Consensus reach_consensus(const Mesh<Dim>& mesh, std::vector<Change> marks) {
  return Rounds<Dim>(mesh, std::move(marks)).run();
}

std::vector<Change> mark_blocks(const Mesh<3>& mesh, const MeshConfig& config, std::span<const Object> objects) {
  const Marker marker(mesh, config, objects);
  return marks_of(mesh.size(), [&](std::int32_t i) { return marker.mark(i); });
}

std::vector<Change> mark_new_blocks(const Mesh<3>& mesh, const MeshConfig& config, std::span<const Object> objects,
                                    std::span<const Change> before) {
  const Marker marker(mesh, config, objects);
  return marks_of(mesh.size(), [&](std::int32_t i) {
    const std::int32_t place = mesh.place_before(i);
    return place == Dictionary::kNone ? marker.mark(i) : before[place];
  });
}

template Consensus reach_consensus<2>(const Mesh<2>&, std::vector<Change>);
template Consensus reach_consensus<3>(const Mesh<3>&, std::vector<Change>);

}  // namespace amrbench::amr
