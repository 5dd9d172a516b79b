#pragma once
// Who sends which points to whom once no cell is shared, and how subtrees come back. For CPUs and GPUs.
#include <vector>

#include "partitioners/orb/distributed_rounds.hpp"

namespace amrbench::partitioners::detail {

/// Pieces of one array, a piece a rank, in the order of ranks.
struct Pieces {
  std::vector<int> counts;
  std::vector<int> offsets;
  std::size_t total = 0;

  void add(std::uint64_t n) {
    offsets.push_back(support::mpi_count(total, "points to move"));
    counts.push_back(support::mpi_count(n, "points to move"));
    total += n;
  }
};

/// send's pieces to all ranks, recv's from all; lengths are known on both sides. Collective.
template <class V>
void all_to_all_known(const support::Communicator& comm, const V* send, const Pieces& to, V* recv, const Pieces& from) {
  const support::BytesType type(sizeof(V));
  support::mpi_check(MPI_Alltoallv(send, to.counts.data(), to.offsets.data(), type.get(), recv, from.counts.data(),
                                   from.offsets.data(), type.get(), comm.get()),
                     "MPI_Alltoallv");
}

/// Everybody's piece on every rank; lengths are known. Collective.
template <class V>
void all_gather_known(const support::Communicator& comm, const V* mine, V* all, const Pieces& pieces) {
  const support::BytesType type(sizeof(V));
  support::mpi_check(MPI_Allgatherv(mine, pieces.counts[static_cast<std::size_t>(comm.rank())], type.get(), all,
                                    pieces.counts.data(), pieces.offsets.data(), type.get(), comm.get()),
                     "MPI_Allgatherv");
}

/// The one move of points.
struct LeafPlan {
  std::vector<std::size_t> mine;     ///< this rank's cells, from left to right
  std::vector<std::uint64_t> sizes;  ///< [rank][cell of mine]: points that come
  std::vector<std::uint64_t> send;   ///< points for each rank
  bool unfinished = false;           ///< some rank has a cell of several leaves to finish

  [[nodiscard]] std::uint64_t size(std::size_t rank, std::size_t cell) const {
    return sizes[rank * mine.size() + cell];
  }
  [[nodiscard]] std::uint64_t received_from(std::size_t rank) const {
    std::uint64_t n = 0;
    for (std::size_t s = 0; s < mine.size(); ++s) n += size(rank, s);
    return n;
  }
};

/// Collective, 1 collective. ranges: the cells reached, with this rank's points in them.
template <class T, int Dim>
LeafPlan plan_leaves(const support::Communicator& comm, const OrbTree<T, Dim>& tree,
                     const std::vector<CellRange>& ranges, const LeafOwners& owners) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto me = static_cast<std::size_t>(comm.rank());
  LeafPlan plan;
  plan.send.assign(ranks, 0);
  std::vector<std::uint64_t> cells(ranks, 0), sizes;
  for (const CellRange& range : ranges) {
    const OrbCell<T, Dim>& cell = tree.cells[range.cell];
    const std::uint64_t owner = owners.owner(cell.first_leaf);
    if (owner == me) plan.mine.push_back(range.cell);
    ++cells[owner];
    plan.send[owner] += range.end - range.begin;
    sizes.push_back(range.end - range.begin);
    plan.unfinished = plan.unfinished || cell.leaves > 1;
  }
  Pieces to, from;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    to.add(cells[rank]);
    from.add(plan.mine.size());
  }
  plan.sizes.resize(from.total);
  all_to_all_known(comm, sizes.data(), to, plan.sizes.data(), from);
  return plan;
}

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
  Pieces pieces;
  for (const std::uint64_t n : sizes) pieces.add(n);
  std::vector<OrbCell<T, Dim>> all(pieces.total);
  all_gather_known(comm, trees.data(), all.data(), pieces);
  std::size_t at = 0;
  for (const CellRange& range : ranges) {
    const std::uint32_t leaves = tree.cells[range.cell].leaves;
    if (leaves > 1) graft(tree, range.cell, all.data() + at, leaves);
    at += 2 * std::size_t{leaves} - 1;
  }
}

}  // namespace amrbench::partitioners::detail
