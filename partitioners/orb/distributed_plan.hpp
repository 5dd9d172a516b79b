#pragma once
// Who sends which points to whom once no cell is shared, where they stand before and after, and how labels and subtrees
// come back. For CPUs and GPUs; no CUDA.
//
// A rank's points of a cell travel as a piece. Links between GPUs copy 16 bytes at a time only where a piece begins at
// a multiple of 16 bytes on both sides. Where it is received is given by the points of the ranks before, so the sender
// packs it at a place that lies as that one does, modulo four points; the first points, up to a multiple of four, go as
// a piece of their own. And the points go in parts, each while the next one is packed: the parts of a piece end at
// multiples of four, too.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/orb/distributed_levels.hpp"
#include "support/link_piece.hpp"

namespace amrbench::partitioners::detail {

/// A stretch of this rank's points that belong in one cell.
struct Leaving {
  int owner;
  std::uint64_t place, count;  ///< where they stand by cell, or are packed
  std::size_t cell;            ///< number among this rank's cells, where it is the owner
  std::uint32_t first_leaf;    ///< of the cell
};

/// What travels together.
struct ExchangePart {
  std::vector<support::LinkPiece> sends, receives;
};

/// The one move of points.
struct ExchangePlan {
  std::vector<std::size_t> mine;          ///< this rank's cells, from left to right
  bool unfinished = false;                ///< some rank has a cell of several leaves to finish
  std::vector<Leaving> leaving;           ///< this rank's points, by cell from left to right
  std::vector<std::uint64_t> cell_begin;  ///< of this rank's cells, in what is received
  std::vector<std::uint64_t> sizes;       ///< [rank][this rank's cell]: points that come
  std::vector<std::uint64_t> places;      ///< the same: where they are received
  std::uint64_t leaving_room = 0;         ///< points that what leaves needs room for
  std::uint64_t room = 0;                 ///< points that what is received needs room for
  std::uint64_t received = 0;             ///< points of this rank's cells
  std::vector<ExchangePart> parts;

  ExchangePlan() = default;
  /// ranges: the cells reached, with this rank's points in them, which travel as they stand, in one part. This rank's
  /// cells begin at multiples of `multiple` points. Collective, 1 collective.
  template <class T, int Dim>
  ExchangePlan(const support::Communicator& comm, const OrbTree<T, Dim>& tree, const std::vector<CellRange>& ranges,
               const LeafOwners& owners, std::uint64_t multiple = 1) {
    std::vector<std::uint64_t> counts;
    for (const CellRange& range : ranges) {
      const OrbCell<T, Dim>& cell = tree.cells[range.cell];
      const auto owner = static_cast<int>(owners.owner(cell.first_leaf));
      counts.push_back(range.end - range.begin);
      leaving.push_back({owner, range.begin, counts.back(), mine.size(), cell.first_leaf});
      if (owner == comm.rank()) mine.push_back(range.cell);
      unfinished = unfinished || cell.leaves > 1;
      leaving_room = range.end;
    }
    sizes = to_owners(comm, counts, 1);
    places.resize(sizes.size());
    for (std::size_t s = 0; s < mine.size(); ++s) {
      room = up(room, multiple);
      cell_begin.push_back(room);
      for (std::size_t at = s; at < sizes.size(); at += mine.size()) {
        places[at] = room;
        room += sizes[at];
        received += sizes[at];
      }
    }
    add_parts(comm, false, 1, counts, sizes);
  }

  /// Packed instead, and at places as above, for which this rank's cells must begin at multiples of kMultiple. ready:
  /// [part][cell], this rank's points of a cell that are packed with this part or one before. Collective, 2
  /// collectives.
  void pack(const support::Communicator& comm, std::span<const std::uint64_t> ready) {
    const std::size_t cells = leaving.size(), part_count = ready.size() / cells;
    std::vector<std::uint64_t> counts;
    for (const Leaving& l : leaving) counts.push_back(l.count);
    // Of a cell on all ranks before this one: its piece is received so far behind the cell's begin.
    const auto before = support::exclusive_sums<std::uint64_t>(comm, counts);
    std::vector<std::uint64_t> until;  // [cell][part]: points that have been sent after the part
    leaving_room = 0;
    for (std::size_t c = 0; c < cells; ++c) {
      leaving[c].place = up(leaving_room, kMultiple) + before[c] % kMultiple;
      leaving_room = leaving[c].place + counts[c];
      for (std::size_t p = 0; p < part_count; ++p)
        until.push_back(p + 1 == part_count ? counts[c] : whole_multiples(ready[p * cells + c], before[c]));
    }
    add_parts(comm, true, part_count, until, to_owners(comm, until, part_count));
  }

  /// Where a rank's points of a cell of ours are received.
  [[nodiscard]] std::uint64_t place(int rank, std::size_t cell) const {
    return places[static_cast<std::size_t>(rank) * mine.size() + cell];
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

  /// Points whose bytes are a multiple of 16, whatever they are made of.
  static constexpr std::uint64_t kMultiple = 4;

 private:
  static std::uint64_t up(std::uint64_t n, std::uint64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
  /// Points from a place to the next multiple.
  static std::uint64_t head(std::uint64_t place) { return up(place, kMultiple) - place; }
  /// Of the first n points behind a place, those up to the last multiple.
  static std::uint64_t whole_multiples(std::uint64_t n, std::uint64_t place) {
    const std::uint64_t first = head(place);
    return n < first ? 0 : first + (n - first) / kMultiple * kMultiple;
  }

  /// values: `each` of every cell reached. Those of this rank's cells come, by rank. Collective.
  [[nodiscard]] std::vector<std::uint64_t> to_owners(const support::Communicator& comm,
                                                     const std::vector<std::uint64_t>& values, std::size_t each) const {
    std::vector<std::uint64_t> cells(static_cast<std::size_t>(comm.size()), 0);
    for (const Leaving& l : leaving) ++cells[static_cast<std::size_t>(l.owner)];
    support::RankPieces to, from;
    for (const std::uint64_t n : cells) {
      to.add(n * each);
      from.add(mine.size() * each);
    }
    std::vector<std::uint64_t> theirs(from.total);
    support::all_to_all_pieces(comm, values.data(), to, theirs.data(), from);
    return theirs;
  }

  /// Points of a part of a piece that begins at a place. until: of the parts.
  static void add(std::vector<support::LinkPiece>& list, int rank, std::uint64_t place, bool packed,
                  const std::uint64_t* until, std::size_t part) {
    const std::uint64_t first = packed ? head(place) : 0;
    std::uint64_t from = part > 0 ? until[part - 1] : 0;
    const std::uint64_t to = until[part];
    if (from < first && to > first) {
      list.push_back({rank, place + from, first - from});
      from = first;
    }
    if (to > from) list.push_back({rank, place + from, to - from});
  }

  /// until: [cell reached][part]; theirs: [rank][this rank's cell][part].
  void add_parts(const support::Communicator& comm, bool packed, std::size_t part_count,
                 const std::vector<std::uint64_t>& until, const std::vector<std::uint64_t>& theirs) {
    parts.assign(part_count, {});
    for (std::size_t p = 0; p < part_count; ++p) {
      for (std::size_t c = 0; c < leaving.size(); ++c)
        if (leaving[c].owner != comm.rank())
          add(parts[p].sends, leaving[c].owner, leaving[c].place, packed, until.data() + c * part_count, p);
      for (int rank = 0; rank < comm.size(); ++rank)
        for (std::size_t s = 0; rank != comm.rank() && s < mine.size(); ++s) {
          const std::size_t piece = static_cast<std::size_t>(rank) * mine.size() + s;
          add(parts[p].receives, rank, places[piece], packed, theirs.data() + piece * part_count, p);
        }
    }
  }
};

/// Copies the tree below a cell that was solved apart; `solved`: its cells in heap order, without the unused
/// first one; points count from 0.
template <class T, int Dim>
void graft(OrbTree<T, Dim>& tree, std::size_t cell, const OrbCell<T, Dim>* solved, std::uint32_t leaves) {
  const std::uint64_t begin = tree.cells[cell].begin;
  for (std::size_t i = 1; i < 2 * std::size_t{leaves}; ++i) {
    const int level = std::bit_width(i) - 1;
    OrbCell<T, Dim>& to = tree.cells[(cell << level) + (i - (std::size_t{1} << level))];
    const std::uint32_t first_leaf = to.first_leaf;
    to = solved[i - 1];
    to.first_leaf = first_leaf;
    to.begin += begin;
  }
}

/// Everybody's subtrees, 2 leaves - 1 cells each, into everybody's tree. trees: those of this rank's cells, from left
/// to right, each without its unused first cell. Collective, 1 collective.
template <class T, int Dim>
void gather_trees(const support::Communicator& comm, OrbTree<T, Dim>& tree, const std::vector<CellRange>& ranges,
                  const LeafOwners& owners, const std::vector<OrbCell<T, Dim>>& trees) {
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(comm.size()), 0);
  for (const CellRange& range : ranges) {
    const OrbCell<T, Dim>& cell = tree.cells[range.cell];
    sizes[owners.owner(cell.first_leaf)] += 2 * std::uint64_t{cell.leaves} - 1;
  }
  support::RankPieces pieces;
  for (const std::uint64_t n : sizes) pieces.add(n);
  const std::vector<OrbCell<T, Dim>> all = support::all_gather_pieces(comm, trees.data(), pieces);
  std::size_t at = 0;
  for (const CellRange& range : ranges) {
    const std::uint32_t leaves = tree.cells[range.cell].leaves;
    if (leaves > 1) graft(tree, range.cell, all.data() + at, leaves);
    at += 2 * std::size_t{leaves} - 1;
  }
}

}  // namespace amrbench::partitioners::detail
