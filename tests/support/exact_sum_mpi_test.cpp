// The sums of support/exact_sum.hpp over ranks: the same bits as on one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/error.hpp"
#include "support/exact_sum.hpp"
#include "support/mpi.hpp"

namespace amrbench::support {
namespace {

constexpr std::uint64_t kSeed = 4242;

std::vector<double> all_values(int low, int high) {
  std::mt19937_64 random(kSeed);
  std::vector<double> values(20'000);
  for (double& x : values) {
    const int exponent = low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low));
    x = std::ldexp(static_cast<double>(random() >> 11), exponent - 53) * ((random() & 1U) != 0 ? 1 : -1);
  }
  return values;
}

/// A rank that owns value i: uneven shares, and some ranks own none of a stretch.
int owner(std::size_t i, int ranks) {
  return static_cast<int>(mix64(i / 100) % static_cast<std::uint64_t>(ranks));
}

TEST(ExactSum, RanksDoNotMatter) {
  SCOPED_TRACE(kSeed);
  const Communicator world = Communicator::world();
  const std::vector<double> values = all_values(-1070, 1000);
  std::vector<ExactSum> mine(2);
  std::vector<ExactSum> whole(2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    whole[i % 2].add(values[i]);
    if (owner(i, world.size()) == world.rank()) mine[i % 2].add(values[i]);
  }
  ExactSum::allreduce(world, mine);
  EXPECT_EQ(mine[0], whole[0]);
  EXPECT_EQ(mine[1], whole[1]);
  EXPECT_FALSE(mine[0] == mine[1]);
  mine[0].add(world.rank() == world.size() - 1 ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  mine[0].allreduce(world);
  EXPECT_EQ(mine[0].nan_count(), 1);
}

TEST(FixedPointSum, RanksDoNotMatter) {
  SCOPED_TRACE(kSeed);
  const Communicator world = Communicator::world();
  const std::vector<double> values = all_values(-60, 20);
  const FixedPointScale scale(20);
  std::vector<FixedPointSum> mine(3, FixedPointSum(scale));
  std::vector<FixedPointSum> whole(3, FixedPointSum(scale));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = i % 3 == 2 ? -std::abs(values[i]) : values[i];  // one total surely negative
    whole[i % 3].add(x);
    if (owner(i, world.size()) == world.rank()) mine[i % 3].add(x);
  }
  FixedPointSum::allreduce(world, mine);
  EXPECT_EQ(mine, whole);
  EXPECT_LT(mine[2].to_double(), -1000.0);
  if (world.rank() == world.size() - 1) mine[1].add(std::numeric_limits<double>::infinity());
  mine[1].allreduce(world);
  EXPECT_FALSE(mine[1].valid());
  if (world.size() > 1) {
    FixedPointSum odd{FixedPointScale(world.rank() == 0 ? 3 : 4)};
    EXPECT_THROW(odd.allreduce(world), RunError);
  }
}

TEST(FieldStats, RanksDoNotMatter) {
  SCOPED_TRACE(kSeed);
  const Communicator world = Communicator::world();
  const std::vector<double> values = all_values(-10, 10);
  std::vector<FieldStats> mine(2);
  std::vector<FieldStats> whole(2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = i % 2 == 0 ? values[i] : std::abs(values[i]);
    whole[i % 2].add(x, mix64(i));
    if (owner(i, world.size()) == world.rank()) mine[i % 2].add(x, mix64(i));
  }
  FieldStats::allreduce(world, mine);
  for (std::size_t v = 0; v < 2; ++v) {
    EXPECT_EQ(mine[v].sum(), whole[v].sum());
    EXPECT_EQ(mine[v].sum_squares(), whole[v].sum_squares());
    EXPECT_EQ(mine[v].min(), whole[v].min());
    EXPECT_EQ(mine[v].max(), whole[v].max());
    EXPECT_EQ(mine[v].hash().to_hex(), whole[v].hash().to_hex());
  }
  EXPECT_GE(mine[1].min(), 0.0);
  FieldStats empty;
  empty.allreduce(world);
  EXPECT_EQ(empty.min(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(empty.max(), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace amrbench::support
