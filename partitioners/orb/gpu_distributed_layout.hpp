#pragma once
// Where points stand before and after they travel to the ranks that own their leaves. Internal to OrbGpus; no CUDA.
#include <cstdint>
#include <vector>

#include "partitioners/orb/distributed_plan.hpp"
#include "support/cuda_link.hpp"

namespace amrbench::partitioners::gpu {

/// A stretch of this rank's points that belong in one cell.
struct Leaving {
  int owner;
  std::uint64_t begin, count;
  std::size_t cell;  ///< number among this rank's cells, where it is the owner
};

struct ExchangeLayout {
  std::vector<Leaving> leaving;           ///< this rank's points, by cell from left to right
  std::vector<std::uint64_t> cell_begin;  ///< of this rank's cells, in what is received
  std::vector<std::uint64_t> places;      ///< [rank][this rank's cell], there too
  std::uint64_t room = 0;                 ///< points that what is received needs room for
  std::uint64_t received = 0;             ///< points of this rank's cells
  std::vector<support::LinkPiece> sends, receives;

  /// Where a rank's points of a cell of ours are received.
  [[nodiscard]] std::uint64_t place(std::size_t rank, std::size_t cell) const {
    return places[rank * cell_begin.size() + cell];
  }

  /// ranges: the cells reached, with this rank's points in them.
  template <class T, int Dim>
  void set(const support::Communicator& comm, const OrbTree<T, Dim>& tree, const std::vector<detail::CellRange>& ranges,
           const detail::LeafOwners& owners, const detail::LeafPlan& plan) {
    *this = {};
    std::size_t mine = 0;
    for (const detail::CellRange& range : ranges) {
      const auto owner = static_cast<int>(owners.owner(tree.cells[range.cell].first_leaf));
      const bool own = owner == comm.rank();
      leaving.push_back({owner, range.begin, range.end - range.begin, own ? mine : 0});
      if (own) ++mine;
      if (!own) sends.push_back({owner, range.begin, range.end - range.begin});
    }
    places.assign(plan.sizes.size(), 0);
    for (std::size_t s = 0; s < mine; ++s) {
      room = (room + kCellMultiple - 1) / kCellMultiple * kCellMultiple;
      cell_begin.push_back(room);
      for (std::size_t rank = 0; rank < plan.send.size(); ++rank) {
        places[rank * mine + s] = room;
        room += plan.size(rank, s);
        received += plan.size(rank, s);
      }
    }
    for (std::size_t rank = 0; rank < plan.send.size(); ++rank)
      for (std::size_t s = 0; rank != static_cast<std::size_t>(comm.rank()) && s < mine; ++s)
        receives.push_back({static_cast<int>(rank), place(rank, s), plan.size(rank, s)});
  }

 private:
  /// Cells begin at multiples of so many points, that is of 16 bytes, as OrbGpu likes them.
  static constexpr std::uint64_t kCellMultiple = 4;
};

}  // namespace amrbench::partitioners::gpu
