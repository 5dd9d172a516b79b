// Bisection over ranks: the tree and labels of one process, for any spread of the points.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "partitioners/orb/distributed.hpp"
#include "partitioners/orb/inputs.hpp"
#include "support/error.hpp"
#include "support/mpi.hpp"

namespace amrbench::partitioners {
namespace {

using support::Communicator;

enum class Spread { even, first_only, last_most };

/// Points of this rank: [begin, end) of n.
std::pair<std::size_t, std::size_t> mine(const Communicator& comm, std::size_t n, Spread spread) {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  if (spread == Spread::first_only) return rank == 0 ? std::pair{std::size_t{0}, n} : std::pair{n, n};
  if (spread == Spread::last_most) {
    const std::size_t few = std::min<std::size_t>(3, n / size);
    return {rank * few, rank + 1 == size ? n : (rank + 1) * few};
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
  const auto result = orb_distributed<T, Dim>(comm, {part, Dim}, part_weights, options);
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
  for (const OrbInputKind kind :
       {OrbInputKind::uniform, OrbInputKind::cluster, OrbInputKind::plummer, OrbInputKind::field})
    for (const Spread spread : {Spread::even, Spread::first_only, Spread::last_most}) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " spread " +
                   std::to_string(static_cast<int>(spread)));
      std::vector<float> points(3 * 20011);
      make_orb_points<float, 3>(kind, 5, 0, points);
      compare<float, 3>(comm, points, {}, 61, spread);
      std::vector<double> doubles(2 * 9000);
      make_orb_points<double, 2>(kind, 6, 0, doubles);
      std::vector<double> weights(9000);
      make_orb_weights(7, 0, weights);
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
