// support/mpi.hpp on several ranks.
#include "support/mpi.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "support/error.hpp"

namespace amrbench::support {
namespace {

TEST(Communicator, KnowsItselfAndMoves) {
  Communicator world = Communicator::world();
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(world.size(), size);
  const MPI_Comm handle = world.get();
  Communicator moved = std::move(world);
  EXPECT_EQ(moved.get(), handle);
  EXPECT_FALSE(static_cast<bool>(world));  // NOLINT: a moved-from handle is empty by contract
  Communicator copy = moved.dup();
  int relation = MPI_IDENT;
  MPI_Comm_compare(copy.get(), moved.get(), &relation);
  EXPECT_EQ(relation, MPI_CONGRUENT);
  const Communicator half = moved.split(moved.rank() % 2, -moved.rank());
  EXPECT_EQ(half.size(), (size + (moved.rank() % 2 == 0 ? 1 : 0)) / 2);
  EXPECT_EQ(half.rank(), half.size() - 1 - moved.rank() / 2);
  EXPECT_EQ(moved.split_node().size(), size);  // the tests run on one node
}

TEST(Communicator, EnvironmentDoesNotInitialiseTwice) {
  int argc = 0;
  char** argv = nullptr;
  { const Environment again(argc, argv); }
  int finalized = 1;
  MPI_Finalized(&finalized);
  EXPECT_EQ(finalized, 0);
}

TEST(Communicator, ErrorsBecomeRunErrors) {
  const Communicator world = Communicator::world();
  int value = 0;
  try {
    mpi_check(MPI_Send(&value, 1, MPI_INT, world.size() + 7, 0, world.get()), "a send to nobody");
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("a send to nobody"), std::string::npos) << error.what();
  }
  EXPECT_EQ(mpi_count(7), 7);
  EXPECT_THROW((void)mpi_count(std::size_t{1} << 31), RunError);
}

TEST(Collectives, Reduce) {
  const Communicator world = Communicator::world();
  const int n = world.size();
  const int rank = world.rank();
  EXPECT_EQ(all_sum(world, std::int64_t{1} << 40), std::int64_t{n} << 40);
  EXPECT_EQ(all_sum(world, 0.5), 0.5 * n);
  EXPECT_EQ(all_max(world, -rank), 0);
  EXPECT_EQ(all_min(world, static_cast<float>(-rank)), static_cast<float>(1 - n));
  std::vector<std::uint64_t> values{1, static_cast<std::uint64_t>(rank)};
  all_sum(world, std::span(values));
  EXPECT_EQ(values[0], static_cast<std::uint64_t>(n));
  EXPECT_EQ(values[1], static_cast<std::uint64_t>(n * (n - 1) / 2));
  EXPECT_EQ(exclusive_sum(world, rank + 1), rank * (rank + 1) / 2);
  EXPECT_TRUE(any_of_ranks(world, rank == n - 1));
  EXPECT_FALSE(any_of_ranks(world, false));
  EXPECT_EQ(all_of_ranks(world, rank == 0), n == 1);
}

TEST(Collectives, Move) {
  const Communicator world = Communicator::world();
  const int n = world.size();
  const int rank = world.rank();
  struct Pair {
    double a;
    int b;
  };
  const std::vector<Pair> pairs = all_gather(world, Pair{0.5 * rank, rank});
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(pairs[static_cast<std::size_t>(i)].a, 0.5 * i);
    EXPECT_EQ(pairs[static_cast<std::size_t>(i)].b, i);
  }
  const std::vector<int> mine(static_cast<std::size_t>(rank), rank);  // rank 0 gives nothing
  std::vector<int> expected;
  for (int i = 0; i < n; ++i) expected.insert(expected.end(), static_cast<std::size_t>(i), i);
  EXPECT_EQ(all_gather_v(world, std::span<const int>(mine)), expected);
  EXPECT_EQ(broadcast(world, rank + 3, n - 1), n + 2);
  const std::string text(rank == 0 ? 100 : 3, rank == 0 ? 'x' : 'y');
  EXPECT_EQ(broadcast_string(world, text), std::string(100, 'x'));
  EXPECT_EQ(broadcast_string(world, rank == 0 ? "" : "old"), "");
}

TEST(Collectives, AgreeOnError) {
  const Communicator world = Communicator::world();
  EXPECT_NO_THROW(agree_on_error(world, ""));
  const int last = world.size() - 1;
  try {
    agree_on_error(world, world.rank() == last ? "disk full" : "");
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "disk full");
  }
}

TEST(Requests, CompleteBeforeTheyGo) {
  const Communicator world = Communicator::world();
  const int n = world.size();
  const int rank = world.rank();
  const int right = (rank + 1) % n;
  const int left = (rank + n - 1) % n;
  int got = -1;
  {
    Requests requests;
    EXPECT_TRUE(requests.test_all());
    MPI_Irecv(&got, 1, MPI_INT, left, 5, world.get(), requests.add());
    MPI_Isend(&rank, 1, MPI_INT, right, 5, world.get(), requests.add());
    EXPECT_EQ(requests.size(), 2U);
  }
  EXPECT_EQ(got, left);
  Requests requests;
  MPI_Irecv(&got, 1, MPI_INT, right, 6, world.get(), requests.add());
  MPI_Isend(&rank, 1, MPI_INT, left, 6, world.get(), requests.add());
  requests.wait_all();
  EXPECT_EQ(requests.size(), 0U);
  EXPECT_EQ(got, right);
}

/// A path of ranks: everybody but the ends has two neighbours, one rank alone has none.
std::vector<int> path_neighbors(const Communicator& world) {
  std::vector<int> result;
  if (world.rank() + 1 < world.size()) result.push_back(world.rank() + 1);
  if (world.rank() > 0) result.push_back(world.rank() - 1);
  return result;
}

TEST(DistGraph, Exchanges) {
  const Communicator world = Communicator::world();
  const DistGraph graph(world, path_neighbors(world));
  EXPECT_EQ(graph.degree(), static_cast<int>(path_neighbors(world).size()));
  EXPECT_TRUE(graph.is_symmetric());
  std::vector<int> send;
  for (const int to : graph.neighbors()) send.push_back(100 * world.rank() + to);
  const std::vector<int> got = graph.exchange(std::span<const int>(send));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], 100 * graph.neighbors()[i] + world.rank());
  EXPECT_THROW((void)graph.exchange(std::span<const int>(std::vector<int>(7))), RunError);

  // Piece for neighbour q from p: (p + 2 q) % 4 copies of p, so some pieces are empty.
  std::vector<std::size_t> counts;
  std::vector<double> data;
  for (const int to : graph.neighbors()) {
    counts.push_back(static_cast<std::size_t>((world.rank() + 2 * to) % 4));
    data.insert(data.end(), counts.back(), world.rank());
  }
  std::vector<double> received{-1, -1, -1};
  const auto lengths = graph.exchange_v(std::span<const double>(data), std::span<const std::size_t>(counts), received);
  std::vector<double> expected;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const int from = graph.neighbors()[i];
    EXPECT_EQ(lengths[i], static_cast<std::size_t>((from + 2 * world.rank()) % 4));
    expected.insert(expected.end(), lengths[i], from);
  }
  EXPECT_EQ(received, expected);
}

TEST(DistGraph, RefusesImpossibleLists) {
  const Communicator world = Communicator::world();
  EXPECT_THROW(DistGraph(world, {world.rank()}), RunError);
  EXPECT_THROW(DistGraph(world, {world.size()}), RunError);
  EXPECT_THROW(DistGraph(world, {-1}), RunError);
  if (world.size() > 1) {
    const int other = (world.rank() + 1) % world.size();
    EXPECT_THROW(DistGraph(world, {other, other}), RunError);
    // 0 lists 1, nobody lists anybody else.
    const DistGraph lopsided(world, world.rank() == 0 ? std::vector<int>{1} : std::vector<int>{});
    EXPECT_FALSE(lopsided.is_symmetric());
  }
}

}  // namespace
}  // namespace amrbench::support
