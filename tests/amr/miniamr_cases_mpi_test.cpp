// The same meshes and fields as miniAMR: its options in, its counts exactly and its fields to relative 1e-10 out, on
// any number of ranks. Where the figures come from stands in tests/amr/miniamr_cases_*.hpp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "amr/field_store.hpp"
#include "amr/miniamr_cases_meshes.hpp"
#include "amr/miniamr_cases_options.hpp"
#include "amr/miniamr_cases_shapes.hpp"
#include "amr/simulation.hpp"
#include "apps/miniamr_options.hpp"
#include "loadbalance/balancer.hpp"
#include "tests/sanitized.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::amr {
namespace {

using checks::MiniamrCase;
using support::Communicator;

/// The hash with which the cases' meshes and fields were described: SplitMix64's step.
std::uint64_t split_mix(std::uint64_t x) {
  return support::mix64(x + 0x9e3779b97f4a7c15U);
}

std::uint64_t hash_words(std::uint64_t first, std::initializer_list<std::uint64_t> rest) {
  std::uint64_t h = split_mix(first);
  for (const std::uint64_t word : rest) h = split_mix(h ^ word);
  return h;
}

/// Initial value of the cases with Initial::hash: seed 1, global cell of the root grid, variable.
double hash_value(std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint64_t variable) {
  return static_cast<double>(hash_words(1, {x, y, z, variable}) >> 11) * 0x1p-53;
}

std::uint64_t hash_of_mesh(const Mesh<3>& mesh) {
  std::uint64_t sum = 0;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    const auto& c = mesh.coord(i);
    sum += hash_words(static_cast<std::uint64_t>(mesh.level(i)), {c[0], c[1], c[2]});
  }
  return support::all_sum(mesh.comm(), sum);
}

/// Fields that no configuration offers: written over those of the simulation, which is not const.
void set_hash_fields(const Simulation<3>& simulation) {
  auto& fields =
      const_cast<FieldStore&>(host_fields(simulation.fields()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const Mesh<3>& mesh = simulation.mesh();
  const kernels::BlockLayout& l = fields.layout();
  for (std::int32_t i = 0; i < mesh.size(); ++i)
    for (int v = 0; v < l.variables; ++v)
      for (int z = 0; z < l.cells[2]; ++z)
        for (int y = 0; y < l.cells[1]; ++y)
          for (int x = 0; x < l.cells[0]; ++x) {
            const auto& c = mesh.coord(i);
            fields.block(i)[l.offset(v, x, y, z)] =
                hash_value(std::uint64_t(c[0]) * l.cells[0] + x, std::uint64_t(c[1]) * l.cells[1] + y,
                           std::uint64_t(c[2]) * l.cells[2] + z, std::uint64_t(v));
          }
}

apps::Config config_of(const MiniamrCase& c) {
  const std::string common = c.defaults == checks::Defaults::common ? checks::kCommonOptions : "";
  apps::Config config = apps::parse_miniamr(common + c.options).config;
  config.fields.initial = "ones";
  // The first sums are those of the ones: with other fields nothing could be held against them.
  if (c.initial == checks::Initial::hash) config.run.checksum_every = 0;
  return config;
}

void expect_close(double value, double expected, const char* what) {
  EXPECT_LE(std::abs(value - expected), 1e-10 * std::abs(expected)) << what << ": " << value << ", not " << expected;
}

void check_fields(const Simulation<3>& simulation, const MiniamrCase& c) {
  const auto stats = simulation.statistics();
  ASSERT_EQ(stats.size(), c.fields.size());
  for (std::size_t v = 0; v < stats.size(); ++v) {
    SCOPED_TRACE("variable " + std::to_string(v));
    expect_close(stats[v].sum().to_double(), c.fields[v].sum, "sum");
    expect_close(stats[v].sum_squares().to_double(), c.fields[v].squares, "sum of squares");
    expect_close(stats[v].min(), c.fields[v].min, "min");
    expect_close(stats[v].max(), c.fields[v].max, "max");
  }
}

void check_case(const Communicator& world, const MiniamrCase& c) {
  SCOPED_TRACE(c.name);
  const apps::Config config = config_of(c);
  loadbalance::Balancer balancer(config.balance);
  support::Metrics metrics;
  workloads::Averages workload(config);
  Simulation simulation(world, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload,
                        balancer, metrics);
  if (c.initial == checks::Initial::hash) set_hash_fields(simulation);
  std::uint64_t history = 0;
  std::int64_t refinements = -1, least = std::numeric_limits<std::int64_t>::max();
  double time = 0.0;
  simulation.run([&](std::int64_t, double now, const RunTotals& totals) {
    time = now;
    if (totals.refine_steps == refinements) return;
    refinements = totals.refine_steps;
    history = split_mix(history ^ hash_of_mesh(simulation.mesh()));
    least = std::min(least, totals.blocks);
  });
  const RunTotals& totals = simulation.totals();
  EXPECT_TRUE(simulation.conservation().passed()) << simulation.conservation().failure().value_or("");
  EXPECT_EQ(totals.steps, c.steps);
  expect_close(time, c.time, "time");
  EXPECT_EQ(totals.blocks_split, c.split);
  EXPECT_EQ(totals.blocks_merged, c.merged);
  EXPECT_EQ(totals.block_stages, c.block_stages);
  EXPECT_EQ(least, c.blocks_least);
  EXPECT_EQ(totals.blocks_max, c.blocks_most);
  EXPECT_EQ(totals.blocks_by_level, c.levels);
  EXPECT_EQ(hash_of_mesh(simulation.mesh()), c.mesh);
  EXPECT_EQ(history, c.history);
  check_fields(simulation, c);
}

/// All of them; under sanitizers every third.
template <class Cases>
void check_cases(const Communicator& world, const Cases& all) {
  int at = 0;
  for (const MiniamrCase& c : all)
    if (at++ % tests::cases(1, 3) == 0) check_case(world, c);
}

TEST(MiniamrCases, ReferenceCasesAndEveryShape) {
  const Communicator world = Communicator::world();
  check_cases(world, checks::kShapeCases);
}

TEST(MiniamrCases, MeshesAndTimeStepping) {
  const Communicator world = Communicator::world();
  check_cases(world, checks::kMeshCases);
}

TEST(MiniamrCases, ObjectsFieldsAndOptions) {
  const Communicator world = Communicator::world();
  check_cases(world, checks::kOptionCases);
}

}  // namespace
}  // namespace amrbench::amr
