// Bisection over ranks: the tree and labels of one process, for any spread of the points.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>

#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/orb/distributed.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

enum class Spread { even, first_only, last_most, odd_empty };

/// Points of this rank: [begin, end) of n.
std::pair<std::size_t, std::size_t> mine(const Communicator& comm, std::size_t n, Spread spread) {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  if (spread == Spread::first_only) return rank == 0 ? std::pair{std::size_t{0}, n} : std::pair{n, n};
  if (spread == Spread::last_most) {
    const std::size_t few = std::min<std::size_t>(3, n / size);
    return {rank * few, rank + 1 == size ? n : (rank + 1) * few};
  }
  if (spread == Spread::odd_empty) {
    const std::size_t sharing = (size + 1) / 2;
    const std::size_t before = (rank + 1) / 2;  // sharing ranks before this one
    return {n * before / sharing, n * (rank % 2 == 0 ? before + 1 : before) / sharing};
  }
  return {n * rank / size, n * (rank + 1) / size};
}

template <class T, int Dim>
void compare(const Communicator& comm, const std::vector<T>& points, const std::vector<double>& weights,
             std::uint32_t leaves, Spread spread) {
  const std::size_t n = points.size() / Dim;
  OrbResult<T, Dim> serial;
  const OrbOptions options{.leaves = leaves, .threads = 1, .points = true};
  orb<T, Dim>({points, Dim}, weights, options, serial);
  const auto [begin, end] = mine(comm, n, spread);
  const std::span<const T> part(points.data() + begin * Dim, (end - begin) * Dim);
  const std::span<const double> part_weights =
      weights.empty() ? std::span<const double>{} : std::span(weights).subspan(begin, end - begin);
  OrbOptions with_threads = options;
  with_threads.threads = 1 + static_cast<int>(leaves % 3);
  // In the memory of a call that put all points on one rank.
  auto earlier = orb_distributed<T, Dim>(comm, {part, Dim}, {}, {.leaves = 1});
  const auto result = orb_distributed<T, Dim>(comm, {part, Dim}, part_weights, with_threads, std::move(earlier));
  ASSERT_EQ(tree_hash(result.tree), tree_hash(serial.tree));
  for (std::size_t i = begin; i < end; ++i) ASSERT_EQ(result.labels[i - begin], serial.labels[i]) << "point " << i;
  ASSERT_EQ(support::all_sum(comm, labels_hash(result.labels.span(), begin)), labels_hash(serial.labels.span()));
  // Moved points: this rank's leaves, in the permutation's order.
  ASSERT_EQ(support::all_sum(comm, result.end_leaf - result.first_leaf), leaves);
  std::size_t at = 0;
  for (std::uint32_t leaf = result.first_leaf; leaf < result.end_leaf; ++leaf) {
    const auto& cell = serial.tree.cells[serial.tree.leaf_cell[leaf]];
    for (std::uint64_t k = cell.begin; k < cell.begin + cell.count; ++k, ++at) {
      ASSERT_LT(at, result.points.size());
      ASSERT_EQ(result.points[at].id, serial.permutation[k]);
      for (std::size_t a = 0; a < Dim; ++a) ASSERT_EQ(result.points[at].x[a], serial.points[k * Dim + a]);
    }
  }
  ASSERT_EQ(at, result.points.size());
}

template <class T>
std::vector<T> lattice(std::size_t values, unsigned edge, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> points(values);
  const unsigned middle = edge / 2;
  for (T& x : points) x = static_cast<T>(random() % edge) - static_cast<T>(middle);
  return points;
}

TEST(OrbDistributed, EqualsOneProcess) {
  const Communicator comm = Communicator::world();
  for (const PointKind kind : {PointKind::uniform, PointKind::cluster, PointKind::plummer, PointKind::field})
    for (const Spread spread : {Spread::even, Spread::first_only, Spread::last_most}) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " spread " +
                   std::to_string(static_cast<int>(spread)));
      std::vector<float> points(3 * 20011);
      make_points<float>(kind, 3, 5, 0, points);
      compare<float, 3>(comm, points, {}, 61, spread);
      std::vector<double> doubles(2 * 9000);
      make_points<double>(kind, 2, 6, 0, doubles);
      std::vector<double> weights(9000);
      make_weights(7, 0, weights);
      compare<double, 2>(comm, doubles, weights, 127, spread);
      if (HasFatalFailure()) return;
    }
}

TEST(OrbDistributed, TiesAndWeights) {
  const Communicator comm = Communicator::world();
  for (const Spread spread : {Spread::even, Spread::last_most}) {
    SCOPED_TRACE("spread " + std::to_string(static_cast<int>(spread)));
    compare<float, 3>(comm, lattice<float>(3 * 12000, 4, 1), {}, 101, spread);
    compare<double, 3>(comm, lattice<double>(3 * 6000, 1, 2), {}, 7, spread);
    compare<double, 2>(comm, lattice<double>(2 * 8000, 300, 3), std::vector<double>(8000, 0), 64, spread);
    std::vector<double> weights(8000, 1);
    weights[4321] = 1e12;
    compare<double, 2>(comm, lattice<double>(2 * 8000, 20, 4), weights, 37, spread);
    std::mt19937_64 random(8);
    for (double& w : weights) w = random() % 100 == 0 ? 2 : 0;
    compare<double, 2>(comm, lattice<double>(2 * 8000, 1000, 5), weights, 13, spread);
    compare<float, 2>(comm, lattice<float>(2 * 500, 50, 6), {}, 500, spread);
    compare<float, 2>(comm, lattice<float>(2 * 5, 50, 6), {}, 1, spread);
    if (HasFatalFailure()) return;
  }
}

// More points than go to all ranks: cuts are found together.
TEST(OrbDistributed, ManyPointsWithTies) {
  const Communicator comm = Communicator::world();
  constexpr std::size_t kN = 20000;
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  for (const Spread spread : {Spread::even, Spread::first_only, Spread::odd_empty}) {
    SCOPED_TRACE("spread " + std::to_string(static_cast<int>(spread)));
    compare<float, 3>(comm, lattice<float>(3 * kN, 4, 1), {}, 101, spread);
    compare<float, 3>(comm, lattice<float>(3 * kN, 12, 2), {}, ranks, spread);
    compare<double, 3>(comm, lattice<double>(3 * kN, 1, 3), {}, 7, spread);
    compare<double, 2>(comm, lattice<double>(2 * kN, 2, 4), {}, 4099, spread);
    compare<double, 2>(comm, lattice<double>(2 * kN, 40000, 5), {}, kN, spread);
    compare<float, 2>(comm, lattice<float>(2 * kN, 90, 6), {}, 1, spread);
    if (HasFatalFailure()) return;
  }
}

TEST(OrbDistributed, ManyPointsWithWeights) {
  const Communicator comm = Communicator::world();
  constexpr std::size_t kN = 20000;
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  for (const Spread spread : {Spread::even, Spread::odd_empty, Spread::last_most}) {
    SCOPED_TRACE("spread " + std::to_string(static_cast<int>(spread)));
    std::vector<double> weights(kN, 0);
    compare<double, 2>(comm, lattice<double>(2 * kN, 300, 7), weights, 61, spread);
    make_weights(9, 0, weights);
    compare<float, 3>(comm, lattice<float>(3 * kN, 3000, 8), weights, 1021, spread);
    compare<float, 3>(comm, lattice<float>(3 * kN, 5, 9), weights, 13, spread);
    compare<float, 3>(comm, lattice<float>(3 * kN, 3000, 10), weights, ranks, spread);
    weights[kN / 3] = 1e12;  // next to one point alone, leaves need a point each
    compare<double, 2>(comm, lattice<double>(2 * kN, 20, 11), weights, 37, spread);
    std::mt19937_64 random(12);
    for (double& w : weights) w = random() % 100 == 0 ? 2 : 0;
    compare<double, 2>(comm, lattice<double>(2 * kN, 1000, 13), weights, 17, spread);
    if (HasFatalFailure()) return;
  }
}

// Cuts between two coordinates that very many points have; weights of zero from a cut to far away.
TEST(OrbDistributed, ManyPointsBesideACut) {
  const Communicator comm = Communicator::world();
  const std::size_t n = 60000;
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  for (const std::uint32_t leaves : {ranks, 2 * ranks, 101U}) {
    SCOPED_TRACE("leaves " + std::to_string(leaves));
    std::vector<double> points(2 * n), weights(n);
    for (std::size_t i = 0; i < n; ++i) {
      points[2 * i] = i % 2 == 0 ? -1 : 1;
      points[2 * i + 1] = i % 4 < 2 ? 0 : 0.5;
      weights[i] = i < n / 8 || i > n - n / 8 ? 1 : 0;
    }
    compare<double, 2>(comm, points, {}, leaves, Spread::even);
    compare<double, 2>(comm, points, weights, leaves, Spread::even);
    for (std::size_t i = 0; i < n; ++i) weights[i] = points[2 * i] < 0 ? 3 : 0;
    compare<double, 2>(comm, points, weights, leaves, Spread::odd_empty);
    for (std::size_t i = 0; i < n; ++i) points[2 * i] = static_cast<double>(i);  // along a line
    for (std::size_t i = 0; i < n; ++i) weights[i] = i < n / 8 || i > n - n / 8 ? 1 : 0;
    compare<double, 2>(comm, points, weights, leaves, Spread::even);
    for (std::size_t i = 0; i < n; ++i) weights[i] = i < n / 8 || i > n - n / 16 ? 1 : 0;
    compare<double, 2>(comm, points, weights, leaves, Spread::even);
    if (HasFatalFailure()) return;
  }
}

// Ranks that hold slabs of the domain: few of them have points near a cut.
TEST(OrbDistributed, SortedInput) {
  const Communicator comm = Communicator::world();
  std::vector<std::array<float, 3>> points(60000);
  make_points<float>(PointKind::plummer, 3, 14, 0, {&points[0][0], 3 * points.size()});
  std::sort(points.begin(), points.end());
  std::vector<float> flat;
  for (const auto& p : points) flat.insert(flat.end(), p.begin(), p.end());
  for (const Spread spread : {Spread::even, Spread::odd_empty}) {
    compare<float, 3>(comm, flat, {}, 509, spread);
    compare<float, 3>(comm, flat, {}, 4096, spread);
    if (HasFatalFailure()) return;
  }
}

TEST(OrbDistributed, RandomInputs) {
  const Communicator comm = Communicator::world();
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::size_t n = 16000 + random() % 20000;  // on either side of what goes to all ranks
    const auto leaves = static_cast<std::uint32_t>(1 + random() % (seed % 3 == 0 ? n : 200));
    const auto edge = static_cast<unsigned>(1 + random() % (seed % 2 == 0 ? 10 : 100000));
    std::vector<double> weights(seed % 4 < 2 ? n : 0);
    for (double& w : weights) w = static_cast<double>(random() % 5) * (random() % 1000 == 0 ? 1000 : 1);
    const auto spread = static_cast<Spread>(random() % 4);
    compare<double, 3>(comm, lattice<double>(3 * n, edge, seed), weights, leaves, spread);
    compare<float, 2>(comm, lattice<float>(2 * n, edge, seed + 100), weights, leaves, spread);
    if (HasFatalFailure()) return;
  }
}

// Messages: what a mesh of few blocks pays a call, and what many points do.
TEST(OrbDistributed, Collectives) {
  const Communicator comm = Communicator::world();
  if (comm.size() == 1) GTEST_SKIP() << "one rank sends nothing";
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  const auto collectives = [&](std::size_t n, std::uint32_t leaves, bool weighted) {
    std::vector<double> points(3 * n);
    make_points<double>(PointKind::uniform, 3, 15, 0, points);
    std::vector<double> weights(weighted ? n : 0, 1);
    const auto [begin, end] = mine(comm, n, Spread::even);
    const std::span<const double> part(points.data() + 3 * begin, 3 * (end - begin));
    const auto part_weights =
        weighted ? std::span<const double>(weights).subspan(begin, end - begin) : std::span<const double>{};
    const auto result = orb_distributed<double, 3>(comm, {part, 3}, part_weights, {.leaves = leaves});
    EXPECT_EQ(support::all_max(comm, result.collectives), result.collectives);
    return result.collectives;
  };
  EXPECT_EQ(collectives(1 << 14, ranks, true), 3);
  EXPECT_EQ(collectives(300, ranks, false), 3);
  const int levels = orb_depth(ranks);
  // Check 2, a level 4 at most, move 1. Nothing is left to finish where each rank has one leaf.
  EXPECT_LE(collectives(100000, ranks, false), 2 + 4 * levels + 1);
  // Unevenly shared leaves are cut down to the last level.
  EXPECT_LE(collectives(100000, 2039, false), 2 + 4 * 11 + 1 + 1);
}

TEST(OrbDistributed, RefusesAlikeOnEveryRank) {
  const Communicator comm = Communicator::world();
  std::vector<double> points(3 * 40, 0.5);
  const std::size_t first = 40 * static_cast<std::size_t>(comm.rank());
  if (comm.rank() == comm.size() - 1) points[3 * 7 + 1] = std::numeric_limits<double>::quiet_NaN();
  std::string message;
  try {
    (void)orb_distributed<double, 3>(comm, {points, 3}, {}, {.leaves = 2});
  } catch (const support::InputError& error) {
    message = error.what();
  }
  const std::size_t bad = 40 * (static_cast<std::size_t>(comm.size()) - 1) + 7;
  EXPECT_NE(message.find("point " + std::to_string(bad) + " "), std::string::npos) << message << first;
}

}  // namespace
}  // namespace amrbench::partitioners
