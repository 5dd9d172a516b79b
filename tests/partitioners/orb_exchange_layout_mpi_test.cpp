// Where points stand that travel from GPU to GPU: every point arrives where it belongs, with the part it is packed in
// at the earliest, and pieces are aligned on both sides.
#include <gtest/gtest.h>

#include <random>

#include "partitioners/orb/distributed_plan.hpp"
#include "partitioners/orb/tree.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using detail::ExchangePlan;
using detail::Leaving;
using support::LinkPiece;

constexpr std::uint64_t kSeed = 20261122;

/// A point is told by its rank, its cell and its number there.
std::uint64_t point(int rank, std::size_t cell, std::uint64_t i) {
  return (static_cast<std::uint64_t>(rank) << 48) + (static_cast<std::uint64_t>(cell) << 32) + i;
}

struct Case {
  OrbTree<float, 3> tree;
  std::vector<detail::CellRange> ranges;
  detail::LeafOwners owners;
  std::vector<std::uint64_t> ready;  ///< [part][cell]
};

/// Cells of one leaf each, with up to `most` points of this rank; parts 0: nothing is packed.
Case make_case(const support::Communicator& comm, std::mt19937_64& random, std::uint32_t leaves, std::uint64_t most,
               std::size_t parts) {
  Case c;
  c.tree = make_orb_tree<float, 3>(leaves, {}, 1, 1, 1.0);
  c.owners = {leaves, static_cast<std::uint64_t>(comm.size())};
  std::mt19937_64 mine(random() + static_cast<std::uint64_t>(comm.rank()));
  std::uint64_t begin = 0;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    const std::uint64_t count = mine() % 3 == 0 ? mine() % 6 : mine() % (most + 1);
    c.ranges.push_back({c.tree.leaf_cell[leaf], begin, begin + count});
    begin += count;
  }
  for (std::size_t p = 0; p < parts; ++p)
    for (std::size_t cell = 0; cell < leaves; ++cell) {
      const std::uint64_t count = c.ranges[cell].end - c.ranges[cell].begin;
      const std::uint64_t before = p > 0 ? c.ready[c.ready.size() - leaves] : 0;
      c.ready.push_back(p + 1 == parts ? count : before + mine() % (count - before + 1));
    }
  return c;
}

/// What a part brings to `received` and takes from `items`.
void travel(const support::Communicator& comm, const detail::ExchangePart& part,
            const std::vector<std::uint64_t>& items, std::vector<std::uint64_t>& received) {
  support::Requests requests;
  for (const LinkPiece& p : part.receives)
    support::mpi_check(MPI_Irecv(received.data() + p.at, static_cast<int>(p.count), MPI_UINT64_T, p.rank, 1, comm.get(),
                                 requests.add()));
  for (const LinkPiece& p : part.sends)
    support::mpi_check(
        MPI_Isend(items.data() + p.at, static_cast<int>(p.count), MPI_UINT64_T, p.rank, 1, comm.get(), requests.add()));
  requests.wait_all();
}

void check(const support::Communicator& comm, const Case& c, bool packed) {
  ExchangePlan plan(comm, c.tree, c.ranges, c.owners, ExchangePlan::kMultiple);
  if (packed) plan.pack(comm, c.ready);
  const std::size_t cells = c.ranges.size();
  ASSERT_EQ(plan.leaving.size(), cells);
  ASSERT_EQ(plan.parts.size(), packed ? c.ready.size() / cells : 1U);
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::vector<std::uint64_t> items(plan.leaving_room, kNone), received(plan.room, kNone);
  for (std::size_t p = 0; p < plan.parts.size(); ++p) {
    for (std::size_t cell = 0; cell < cells; ++cell) {  // what the pack does by now
      const Leaving& l = plan.leaving[cell];
      const std::uint64_t now = packed ? c.ready[p * cells + cell] : l.count;
      const bool own = l.owner == comm.rank();
      for (std::uint64_t i = 0; i < now; ++i)
        (own ? received[plan.place(comm.rank(), l.cell) + i] : items[l.place + i]) = point(comm.rank(), cell, i);
    }
    travel(comm, plan.parts[p], items, received);
  }
  std::size_t mine = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    if (plan.leaving[cell].owner != comm.rank()) continue;
    ASSERT_EQ(plan.cell_begin[mine] % 4, 0U);
    std::uint64_t at = plan.cell_begin[mine];
    for (int rank = 0; rank < comm.size(); ++rank) {
      const std::uint64_t count = plan.sizes[static_cast<std::size_t>(rank) * plan.mine.size() + mine];
      ASSERT_EQ(plan.place(rank, mine), at);
      for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(received[at + i], point(rank, cell, i)) << "cell " << cell;
      at += count;
    }
    ++mine;
  }
  if (!packed) return;
  // Pieces of four points and more begin at multiples of four on both sides.
  for (const detail::ExchangePart& part : plan.parts) {
    for (const auto* const list : {&part.sends, &part.receives})
      for (const LinkPiece& piece : *list)
        if (piece.count >= 4) {
          ASSERT_EQ(piece.at % 4, 0U) << piece.count << " points at " << piece.at;
        }
  }
}

TEST(OrbExchangeLayout, PointsArriveInTheirOrderFromAlignedPieces) {
  const support::Communicator comm = support::Communicator::world();
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const auto leaves = static_cast<std::uint32_t>(comm.size() + static_cast<int>(random() % 9));
    const std::uint64_t most = trial % 2 == 0 ? 20 : 300;
    const std::size_t parts = trial % 4 == 3 ? 0 : 1 + random() % 8;
    check(comm, make_case(comm, random, leaves, most, parts), parts > 0);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace amrbench::partitioners
