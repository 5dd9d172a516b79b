// The shallow-water equations on the mesh: the same bits however a run is carried out, water that is not lost, and
// adaptive meshes that are as good as fine ones.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "amr/adapt.hpp"
#include "amr/checkpoint/checkpoint.hpp"
#include "amr/field_store.hpp"
#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "apps/config_check.hpp"
#include "loadbalance/balancer.hpp"
#include "partitioners/partitioner.hpp"
#include "sanitized.hpp"
#include "support/hash.hpp"
#include "temporary_folder.hpp"
#include "tests/sanitized.hpp"
#include "workloads/water_runs.hpp"

namespace amrbench::workloads {
namespace {

using checks::make_config;
using checks::Result;
using checks::run;
using support::Communicator;

bool full_form() {
  const char* const full = std::getenv("AMRBENCH_FULL");
  return full != nullptr && std::string(full) == "1";
}

TEST(ShallowWater, SameBitsOnAnyRanksThreadsMethodsAndPolicies) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  std::mt19937_64 random(2026);
  const std::vector<std::string> policies{"never", "every", "threshold", "amortized", "menon", "anticipate", "auto"};
  std::vector<std::string> methods;
  for (const auto& entry : partitioners::partitioner_registry()) methods.emplace_back(entry.name);
  const std::vector<std::pair<std::string, std::string>> cases{{"bowl_planar", "double"},   {"dam_break_dry", "double"},
                                                               {"lake", "double"},          {"bowl_radial", "single"},
                                                               {"dam_break_dry", "single"}, {"lake", "single"}};
  for (const auto& [problem, precision] : cases) {
    const bool dam = problem == "dam_break_dry";
    apps::Config config = make_config(problem, dam ? std::array{6, 1, 1} : std::array{3, 3, 1}, 3, dam ? 1e-4 : 5e-3);
    config.run.steps = 24;
    config.shallow_water.precision = precision;
    const Result wanted = run(self, config);
    EXPECT_TRUE(wanted.passed) << problem;
    EXPECT_GT(wanted.split, 0) << problem;
    for (std::size_t trial = 0; trial < (full_form() ? 24U : static_cast<unsigned>(tests::cases(4, 2))); ++trial) {
      // Graph methods are built or not; they place blocks like any other.
      config.partition.method = methods[random() % methods.size()];
      config.balance.policy = policies[random() % policies.size()];
      config.balance.weights = random() % 2 != 0 ? "measured" : "uniform";
      config.run.overlap = random() % 2 != 0;
      const int threads = 1 + static_cast<int>(random() % 2);
      SCOPED_TRACE(problem + ", " + precision + ", " + config.partition.method + ", " + config.balance.policy + ", " +
                   config.balance.weights + ", threads " + std::to_string(threads));
      omp_set_num_threads(threads);
      const Result result = run(world, config);
      omp_set_num_threads(1);
      EXPECT_TRUE(result.passed);
      EXPECT_TRUE(result.same_bits(wanted));
    }
  }
}

/// Of a run that goes once through the domain.
apps::Config closed_vortex(int root, int max_level) {
  apps::Config config = make_config("vortex_drifting", {root, root, 1}, max_level, 1e-2);
  config.mesh.periodic = {true, true, false};
  config.run.time = 10.0;  // twice along x, once along y
  return config;
}

TEST(ShallowWater, CarriesAVortexThroughPeriodicSides) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  const Communicator world = Communicator::world();
  std::array<double, 2> errors{};
  double cells = 0.0;
  for (int k = 0; k < 2; ++k) {
    apps::Config config = closed_vortex(2, 1 + k);
    config.mesh.uniform = true;
    const Result result = run(world, config);
    EXPECT_TRUE(result.passed);
    EXPECT_LE(result.drift, 1e-13) << "nothing leaves a closed domain";
    errors[std::size_t(k)] = result.findings.at("error_depth_l1");
    cells = result.cells;
  }
  const Result adaptive = run(world, closed_vortex(2, 2));
  EXPECT_TRUE(adaptive.passed);
  EXPECT_GT(adaptive.merged, 20);
  if (world.is_root())
    std::printf("errors %.4g and %.4g m, order %.2f; adaptive %.4g with %.3g of the cells\n", errors[0], errors[1],
                std::log2(errors[0] / errors[1]), adaptive.findings.at("error_depth_l1"), adaptive.cells / cells);
  EXPECT_GE(std::log2(errors[0] / errors[1]), 1.7);
  EXPECT_LE(adaptive.findings.at("error_depth_l1"), 1.5 * errors[1]);
  EXPECT_LE(adaptive.cells, 0.8 * cells);
}

TEST(ShallowWater, SameBitsThroughPeriodicSides) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  for (const char* const precision : {"double", "single"}) {
    SCOPED_TRACE(precision);
    apps::Config config = closed_vortex(1, 3);
    config.shallow_water.precision = precision;
    config.run.steps = 40;
    config.run.time = 4.0;
    const Result wanted = run(self, config);
    EXPECT_TRUE(wanted.passed);
    EXPECT_GT(wanted.split, 0);
    for (const char* const method : {"morton", "hilbert", "orb", "gensfc"}) {
      SCOPED_TRACE(method);
      config.partition.method = method;
      EXPECT_TRUE(run(world, config).same_bits(wanted));
    }
  }
}

TEST(ShallowWater, ALakeStaysAtRestAcrossPeriodicSides) {
  const Communicator world = Communicator::world();
  apps::Config config = make_config("lake", {3, 2, 1}, 3, 0.05);
  config.mesh.periodic = {true, true, false};
  config.run.steps = 40;
  const Result result = run(world, config);
  EXPECT_TRUE(result.passed);
  EXPECT_GT(result.split, 0);
  EXPECT_LE(result.findings.at("error_depth_l1"), 1e-12);
  EXPECT_LE(result.findings.at("error_discharge_x_l1"), 1e-12);
  EXPECT_LE(result.findings.at("error_discharge_y_l1"), 1e-12);
}

/// Floats have 24 bits, and 40 steps of a lake 1 m deep round a little.
TEST(ShallowWater, InSinglePrecisionIsTheSameButForRounding) {
  const Communicator world = Communicator::world();
  for (const char* const problem : {"bowl_radial", "dam_break_wet", "dam_break_dry_y", "vortex_drifting", "lake"}) {
    SCOPED_TRACE(problem);
    const std::string name = problem;
    apps::Config config = make_config(problem,
                                      name.back() == 'y'        ? std::array{1, 6, 1}
                                      : name.starts_with("dam") ? std::array{6, 1, 1}
                                                                : std::array{3, 3, 1},
                                      2, 1e-3);
    config.mesh.uniform = true;  // rounding moves marks
    config.run.steps = 40;
    config.shallow_water.dry_depth = 1e-5;
    const Result wanted = run(world, config);
    config.shallow_water.precision = "single";
    const Result result = run(world, config);
    EXPECT_TRUE(result.passed);
    EXPECT_FALSE(result.same_bits(wanted));
    for (const char* const error : {"error_depth_l1", "error_discharge_x_l1", "error_discharge_y_l1"})
      EXPECT_NEAR(result.findings.at(error), wanted.findings.at(error), 1e-7) << error;
    EXPECT_NEAR(result.findings.at("volume"), wanted.findings.at("volume"), 1e-7 * wanted.findings.at("volume"));
    EXPECT_GE(result.findings.at("smallest_depth"), 0.0);
    if (world.is_root())
      std::printf(
          "%s: errors of depth %.9g and %.9g in single, of discharge %.9g and %.9g, volumes' ratio - 1: %.2g, "
          "drift %.2g\n",
          problem, wanted.findings.at("error_depth_l1"), result.findings.at("error_depth_l1"),
          wanted.findings.at("error_discharge_x_l1"), result.findings.at("error_discharge_x_l1"),
          result.findings.at("volume") / wanted.findings.at("volume") - 1.0, result.drift);
  }
}

TEST(ShallowWater, ALakeStaysAtRestAcrossLevels) {
  const Communicator world = Communicator::world();
  apps::Config config = make_config("lake", {3, 3, 1}, 3, 0.05);
  config.run.steps = 40;
  const Result result = run(world, config);
  EXPECT_TRUE(result.passed);
  EXPECT_GT(result.split, 0);
  EXPECT_LE(result.findings.at("error_depth_l1"), 1e-12);
  EXPECT_LE(result.findings.at("error_discharge_x_l1"), 1e-12);
  EXPECT_LE(result.findings.at("error_discharge_y_l1"), 1e-12);
}

/// Splits or merges all blocks as a run does, and hands the bed on.
void change_all(ShallowWater& workload, amr::Mesh<2>& mesh, amr::Fields& fields, amr::Change change) {
  const std::vector<amr::Change> marks(std::size_t(mesh.size()), change);
  amr::apply_changes(mesh, fields, amr::reach_consensus(mesh, marks));
  workload.adapted(mesh, fields);
}

TEST(ShallowWater, SplittingKeepsVolumeAndStillSurfacesAndMergingTakesItBack) {
  const Communicator world = Communicator::world();
  for (const char* const problem : {"lake_deep", "lake", "lake_low"}) {
    SCOPED_TRACE(problem);
    const bool all_wet = std::string(problem) == "lake_deep";
    const apps::Config config = make_config(problem, {2, 2, 1}, 2, 1.0);
    ShallowWater workload(config, config);
    amr::Mesh<2> mesh(world, loadbalance::make_key_space<2>(config.mesh, config.partition));
    const amr::Backend<2> backend = workload.make_backend(mesh.comm());
    amr::Fields& fields = *backend.fields;
    workload.set_initial(mesh, fields);
    const auto volume = [&] {
      return amr::field_stats(mesh, fields, [&](int level) { return workload.measure(level); })[0].sum().to_double();
    };
    const auto bed_hash = [&] { return amr::field_stats(mesh, fields)[3].hash().value(); };
    const double first = volume();
    const std::uint64_t bed = bed_hash();
    for (int pass = 0; pass < 2; ++pass) {
      change_all(workload, mesh, fields, amr::Change::refine);
      EXPECT_NEAR(volume(), first, 1e-13 * first);
      for (std::int32_t i = 0; i < mesh.size(); ++i) {
        ASSERT_EQ(mesh.level(i), pass + 1);
        const double* const block = amr::host_fields(fields).block(i);
        const std::size_t plane = fields.layout().block_cells();
        for (std::size_t at = 0; at < plane; ++at) {
          ASSERT_GE(block[at], 0.0);
          if (all_wet) {
            ASSERT_NEAR(block[at] + block[3 * plane + at], 4.0, 1e-12);
          }
          ASSERT_EQ(block[plane + at], 0.0);  // no flow
        }
      }
      EXPECT_NE(bed_hash(), bed);  // rock of its own
    }
    for (int pass = 0; pass < 2; ++pass) change_all(workload, mesh, fields, amr::Change::coarsen);
    EXPECT_EQ(mesh.global_size(), 4);
    EXPECT_NEAR(volume(), first, 1e-13 * first);
    EXPECT_EQ(bed_hash(), bed);
  }
}

TEST(ShallowWater, KeepsItsMassWhileShoresMoveAndBlocksChange) {
  const Communicator world = Communicator::world();
  apps::Config config = make_config("bowl_radial", {2, 2, 1}, 3, 5e-3);
  config.run.steps = full_form() ? 10000 : 300;
  config.run.time = 1e9;
  const Result result = run(world, config);
  if (world.is_root())
    std::printf("%ld steps, %ld blocks split, %ld merged, mass drifted by %.2g\n", long(result.steps),
                long(result.split), long(result.merged), result.drift);
  EXPECT_TRUE(result.passed);  // run.tolerance is 1e-13
  EXPECT_LE(result.drift, 1e-13);
  EXPECT_GE(result.findings.at("smallest_depth"), 0.0);
  EXPECT_GT(result.split, 10);
  EXPECT_GT(result.merged, 10);
  EXPECT_EQ(result.steps, config.run.steps);
}

TEST(ShallowWater, AdaptiveMeshesAreAsGoodAsFineOnesWithAThirdOfTheCells) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  const Communicator world = Communicator::world();
  for (const char* const problem : {"dam_break_wet", "dam_break_wet_y"}) {
    SCOPED_TRACE(problem);
    const bool along_y = std::string(problem).back() == 'y';
    apps::Config config = make_config(problem, along_y ? std::array{1, 16, 1} : std::array{16, 1, 1}, 3, 1e-5);
    const Result adaptive = run(world, config);
    config.mesh.uniform = true;
    const Result fine = run(world, config);
    if (world.is_root())
      std::printf("%s: error %.4g of the fine mesh's, cells %.3g of its\n", problem,
                  adaptive.findings.at("error_depth_l1") / fine.findings.at("error_depth_l1"),
                  adaptive.cells / fine.cells);
    EXPECT_LE(adaptive.findings.at("error_depth_l1"), 1.3 * fine.findings.at("error_depth_l1"));
    EXPECT_LE(adaptive.cells, fine.cells / 3.0);
    EXPECT_EQ(adaptive.findings.at("end_time"), config.run.time);
  }
}

TEST(ShallowWater, SharesOutBlocksThatHoldWaterOnAMeshThatStays) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  apps::Config config = make_config("walled_dam_break", {8, 8, 1}, 2, 1.0);
  config.mesh.frozen = true;
  config.run.steps = 120;
  config.run.refine_every = 4;
  const Result wanted = run(self, config);
  EXPECT_TRUE(wanted.passed);
  EXPECT_GT(wanted.split, 0);
  EXPECT_LT(wanted.findings.at("computed_share"), 0.8);  // the ground behind the wall stays dry
  for (const char* const method : {"hilbert", "slabs", "kd_parts"}) {
    SCOPED_TRACE(method);
    config.partition.method = method;
    config.balance.weights = "uniform";
    const Result even = run(world, config);
    config.balance.weights = "workload";
    const Result shared = run(world, config);
    EXPECT_TRUE(even.same_bits(wanted));
    EXPECT_TRUE(shared.same_bits(wanted));
    EXPECT_EQ(shared.split, wanted.split);
    if (world.is_root())
      std::printf("%s: busiest rank %.3g above the mean with even blocks, %.3g with blocks that hold water\n", method,
                  even.computed_imbalance, shared.computed_imbalance);
    if (world.size() == 1) continue;
    // Two parts may happen to be alike: the upper and the lower half.
    if (world.size() > 2) {
      EXPECT_GT(even.computed_imbalance, 0.3);
    }
    EXPECT_LT(shared.computed_imbalance, 0.1);
  }
}

TEST(ShallowWater, BlocksCostTheSameOnAnyNumberOfRanks) {
  checks::expect_costs_of_one_rank(Communicator::world(), "cpu");
}

TEST(ShallowWater, GoesOnFromACheckpointWithTheSameBits) {
  if (!amr::has_checkpoints()) GTEST_SKIP() << "this build has no checkpoints";
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  apps::Config config = make_config("bowl_planar", {3, 3, 1}, 2, 5e-3);
  config.run.steps = 21;
  for (const char* const precision : {"double", "single"}) {
    SCOPED_TRACE(precision);
    config.shallow_water.precision = precision;
    const tests::TemporaryFolder folder(world);
    amr::CheckpointWriter writer(world, folder.path("c"));
    Result wanted = run(world, config, nullptr, [&](amr::Simulation<2>& simulation, std::int64_t step) {
      if (step != 11) return;
      const amr::RunState state = simulation.state();
      writer.save(simulation.mesh(), simulation.fields(), state, nlohmann::ordered_json::object());
    });
    support::barrier(world);
    const auto slots = amr::list_slots(folder.path("c"));
    ASSERT_EQ(slots.size(), 1U);
    for (const Communicator* comm : {&world, &self}) {
      for (const char* const curve : {"morton", "hilbert"}) {
        config.partition.method = curve;
        const auto space = loadbalance::make_key_space<2>(config.mesh, config.partition);
        const amr::Checkpoint checkpoint(*comm, amr::slot_folder(folder.path("c"), slots[0]));
        checkpoint.verify(*comm, space);
        const amr::Restart restart = checkpoint.restart(*comm, space);
        EXPECT_TRUE(run(*comm, config, &restart).same_bits(wanted)) << curve << ", ranks " << comm->size();
      }
    }
    support::barrier(world);  // the folder goes with rank 0
  }
}

}  // namespace
}  // namespace amrbench::workloads
