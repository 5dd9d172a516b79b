#pragma once
// Where points stand before and after they travel to the ranks that own their leaves. Internal to OrbGpus; no CUDA.
//
// A rank's points of a cell travel as a piece. Links copy 16 bytes at a time only where a piece begins at a multiple of
// 16 bytes on both sides. Where it is received is given by the points of the ranks before, so the sender packs it at a
// place that lies as that one does, modulo four points; the first points, up to a multiple of four, go as a piece of
// their own. And the points go in parts, each while the next one is packed: the parts of a piece end at multiples of
// four, too.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_plan.hpp"
#include "support/link_piece.hpp"

namespace amrbench::partitioners::gpu {

/// A stretch of this rank's points that belong in one cell.
struct Leaving {
  int owner;
  std::uint64_t place, count;  ///< where they are packed, or stand by cell already
  std::size_t cell;            ///< number among this rank's cells, where it is the owner
  std::uint32_t first_leaf;    ///< of the cell
};

/// What travels together.
struct ExchangePart {
  std::vector<support::LinkPiece> sends, receives;
};

struct ExchangeLayout {
  std::vector<Leaving> leaving;           ///< this rank's points, by cell from left to right
  std::vector<std::uint64_t> cell_begin;  ///< of this rank's cells, in what is received
  std::vector<std::uint64_t> places;      ///< [rank][this rank's cell], there too
  std::uint64_t packed_room = 0;          ///< points that what is packed needs room for
  std::uint64_t room = 0;                 ///< points that what is received needs room for
  std::uint64_t received = 0;             ///< points of this rank's cells
  std::vector<ExchangePart> parts;

  /// Where a rank's points of a cell of ours are received.
  [[nodiscard]] std::uint64_t place(std::size_t rank, std::size_t cell) const {
    return places[rank * cell_begin.size() + cell];
  }
  /// All parts as one: in this order, too, each rank's pieces match those of the other side.
  [[nodiscard]] ExchangePart whole() const {
    ExchangePart all;
    for (const ExchangePart& part : parts) {
      all.sends.insert(all.sends.end(), part.sends.begin(), part.sends.end());
      all.receives.insert(all.receives.end(), part.receives.begin(), part.receives.end());
    }
    return all;
  }

  /// ranges: the cells reached, with this rank's points in them. ready: [part][cell], this rank's points of a cell that
  /// are packed with this part or one before; empty: all stand by cell already, there is one part, and nothing is
  /// aligned. Collective, 2 collectives unless `ready` is empty, which it is on all ranks or on none.
  template <class T, int Dim>
  void set(const support::Communicator& comm, const OrbTree<T, Dim>& tree, const std::vector<detail::CellRange>& ranges,
           const detail::LeafOwners& owners, const detail::LeafPlan& plan, std::span<const std::uint64_t> ready) {
    *this = {};
    std::size_t mine = 0;
    std::vector<std::uint64_t> counts;
    for (const detail::CellRange& range : ranges) {
      const std::uint32_t first_leaf = tree.cells[range.cell].first_leaf;
      const auto owner = static_cast<int>(owners.owner(first_leaf));
      const bool own = owner == comm.rank();
      counts.push_back(range.end - range.begin);
      leaving.push_back({owner, range.begin, counts.back(), own ? mine : 0, first_leaf});
      if (own) ++mine;
    }
    set_places(plan, mine);
    const bool packed = !ready.empty();
    // Of a cell on all ranks before this one: its piece is received so far behind the cell's begin.
    const auto before =
        packed ? support::exclusive_sums<std::uint64_t>(comm, counts) : std::vector<std::uint64_t>(ranges.size(), 0);
    for (std::size_t c = 0; c < leaving.size(); ++c) {
      if (packed) leaving[c].place = up(packed_room) + before[c] % kMultiple;
      packed_room = leaving[c].place + counts[c];
    }
    const std::size_t part_count = packed ? ready.size() / ranges.size() : 1;
    // [cell][part]: points that have been sent after the part.
    std::vector<std::uint64_t> until;
    for (std::size_t c = 0; c < leaving.size(); ++c)
      for (std::size_t p = 0; p < part_count; ++p)
        until.push_back(p + 1 == part_count ? counts[c] : whole_multiples(ready[p * ranges.size() + c], before[c]));
    add_sends(comm.rank(), packed, part_count, until);
    add_receives(comm, plan, packed, part_count, until);
  }

 private:
  /// Points whose bytes are a multiple of 16, whatever they are made of. Cells begin there, too, as OrbGpu likes them.
  static constexpr std::uint64_t kMultiple = 4;

  static std::uint64_t up(std::uint64_t n) { return (n + kMultiple - 1) / kMultiple * kMultiple; }
  /// Points from a place to the next multiple.
  static std::uint64_t head(std::uint64_t place) { return up(place) - place; }
  /// Of the first n points behind a place, those up to the last multiple.
  static std::uint64_t whole_multiples(std::uint64_t n, std::uint64_t place) {
    const std::uint64_t first = head(place);
    return n < first ? 0 : first + (n - first) / kMultiple * kMultiple;
  }

  void set_places(const detail::LeafPlan& plan, std::size_t mine) {
    places.assign(plan.sizes.size(), 0);
    for (std::size_t s = 0; s < mine; ++s) {
      room = up(room);
      cell_begin.push_back(room);
      for (std::size_t rank = 0; rank < plan.send.size(); ++rank) {
        places[rank * mine + s] = room;
        room += plan.size(rank, s);
        received += plan.size(rank, s);
      }
    }
  }

  /// Points from .. to - 1 of a piece that begins at a place.
  static void add(std::vector<support::LinkPiece>& list, int rank, std::uint64_t place, bool packed, std::uint64_t from,
                  std::uint64_t to) {
    const std::uint64_t first = packed ? head(place) : 0;
    if (from < first && to > first) {
      list.push_back({rank, place + from, first - from});
      from = first;
    }
    if (to > from) list.push_back({rank, place + from, to - from});
  }

  void add_sends(int me, bool packed, std::size_t part_count, const std::vector<std::uint64_t>& until) {
    parts.resize(part_count);
    for (std::size_t p = 0; p < part_count; ++p)
      for (std::size_t c = 0; c < leaving.size(); ++c)
        if (leaving[c].owner != me)
          add(parts[p].sends, leaving[c].owner, leaving[c].place, packed, p > 0 ? until[c * part_count + p - 1] : 0,
              until[c * part_count + p]);
  }

  void add_receives(const support::Communicator& comm, const detail::LeafPlan& plan, bool packed,
                    std::size_t part_count, const std::vector<std::uint64_t>& until) {
    const std::size_t ranks = plan.send.size(), mine = cell_begin.size();
    std::vector<std::uint64_t> theirs(plan.sizes);  // [rank][cell][part]
    if (packed) {
      std::vector<std::uint64_t> cells(ranks, 0);
      for (const Leaving& l : leaving) ++cells[static_cast<std::size_t>(l.owner)];
      detail::Pieces to, from;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        to.add(cells[rank] * part_count);
        from.add(mine * part_count);
      }
      theirs.resize(from.total);
      detail::all_to_all_known(comm, until.data(), to, theirs.data(), from);
    }
    for (std::size_t p = 0; p < part_count; ++p)
      for (std::size_t rank = 0; rank < ranks; ++rank)
        for (std::size_t s = 0; rank != static_cast<std::size_t>(comm.rank()) && s < mine; ++s) {
          const std::uint64_t* const ends = theirs.data() + (rank * mine + s) * part_count;
          add(parts[p].receives, static_cast<int>(rank), place(rank, s), packed, p > 0 ? ends[p - 1] : 0, ends[p]);
        }
  }
};

}  // namespace amrbench::partitioners::gpu
