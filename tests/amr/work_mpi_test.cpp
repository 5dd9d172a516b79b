// Artificial work: factors by region and rank, and the rounds that carry them out.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "amr/random_mesh.hpp"
#include "amr/work.hpp"
#include "loadbalance/cost_model.hpp"

namespace amrbench::amr {
namespace {

using support::Communicator;

TEST(Work, FactorsMultiplyWhereTheyApply) {
  const std::vector<WorkConfig> work{
      {.factor = 2}, {.factor = 3, .lo = {0.5, 0, 0}}, {.factor = 5, .hi = {1, 0.5, 1}, .rank = 1}};
  EXPECT_EQ(work_factor({}, {0.5, 0.5, 0.5}), 1);
  EXPECT_EQ(work_factor(work, {0.25, 0.25, 0.25}), 2);
  EXPECT_EQ(work_factor(work, {0.5, 0.25, 0.25}), 6);  // a region holds its lower faces
  EXPECT_EQ(work_factor(work, {0.5, 0.5, 0.25}, 1), 6);
  EXPECT_EQ(work_factor(work, {0.5, 0.25, 0.25}, 1), 30);
  EXPECT_EQ(work_factor(work, {0.5, 0.25, 0.25}, 0), 6);
  EXPECT_EQ(work_factor(std::vector<WorkConfig>(9, {.factor = 1000}), {0, 0, 0}), 1000000);
}

TEST(Work, RoundsAddUpToTheFactorOfEachBlock) {
  const Communicator world = Communicator::world();
  const std::vector<WorkConfig> work{
      {.factor = 7, .hi = {0.5, 1, 1}}, {.factor = 3, .lo = {0, 0.4, 0}}, {.factor = 2, .rank = 0}};
  const Mesh<3> mesh(world, {sfc::Curve::hilbert, {5, 4, 3}, 3});
  std::vector<std::int32_t> blocks;
  for (std::int32_t i = 0; i < mesh.size(); i += 1 + i % 2) blocks.push_back(i);
  std::vector<int> times(static_cast<std::size_t>(mesh.size()), 0);
  for (const std::int32_t i : blocks) times[static_cast<std::size_t>(i)] = 1;
  const auto rounds = work_rounds(mesh, work, blocks);
  for (const WorkRound& round : rounds) {
    EXPECT_GT(round.times, 0);
    EXPECT_TRUE(std::is_sorted(round.blocks.begin(), round.blocks.end()));
    for (const std::int32_t i : round.blocks) times[static_cast<std::size_t>(i)] += round.times;
  }
  for (const std::int32_t i : blocks)
    EXPECT_EQ(times[static_cast<std::size_t>(i)], work_factor(work, mesh.centre(i), world.rank())) << "block " << i;
  // The regions are half of the domain, so somewhere there is work to repeat; on one of many ranks there may be none.
  const std::array counts{static_cast<std::int64_t>(std::accumulate(times.begin(), times.end(), 0)),
                          static_cast<std::int64_t>(blocks.size())};
  std::array<std::int64_t, 2> sums{};
  MPI_Allreduce(counts.data(), sums.data(), 2, MPI_INT64_T, MPI_SUM, world.get());
  EXPECT_GT(sums[0], sums[1]);
  EXPECT_TRUE(work_rounds(mesh, {}, blocks).empty());
}

TEST(Work, WeightsByRegionAreTheFactors) {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  const std::vector<WorkConfig> work{
      {.factor = 7, .hi = {1.0 / 3, 1, 1}}, {.factor = 3, .lo = {0, 0.4, 0}}, {.factor = 9, .rank = 0}};
  const Mesh<3> mesh(self, {sfc::Curve::morton, {3, 5, 7}, 2});
  loadbalance::BlockTable table;
  loadbalance::fill_block_table(mesh, {}, table);
  loadbalance::fill_centres(mesh, table);
  loadbalance::make_cost_model({.weights = "region"}, work)->weigh(table);
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    EXPECT_EQ(table.weight[static_cast<std::size_t>(i)], work_factor(work, mesh.centre(i))) << "block " << i;
}

}  // namespace
}  // namespace amrbench::amr
