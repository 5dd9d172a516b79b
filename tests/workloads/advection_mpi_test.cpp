// Advection on the mesh: its order, adaptive meshes as good as fine ones, mass that is kept, the same bits however a
// run is carried out.
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "amr/checkpoint/checkpoint.hpp"
#include "amr/simulation.hpp"
#include "apps/config.hpp"
#include "apps/config_check.hpp"
#include "loadbalance/balancer.hpp"
#include "partitioners/partitioner.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "temporary_folder.hpp"
#include "workloads/advection/advection.hpp"
#include "workloads/slope_transfer.hpp"

namespace amrbench::workloads {
namespace {

using support::Communicator;

apps::Config bump_config(int dim, int root, int max_level) {
  apps::Config config;
  config.mesh.dim = dim;
  config.mesh.root = {root, root, root};
  config.mesh.block = {8, 8, 8};
  config.mesh.max_level = max_level;
  config.mesh.block_change = 1;
  config.run.workload = "advection";
  config.run.steps = 0;
  config.run.refine_every = 2;
  config.run.checksum_every = 8;
  config.run.tolerance = 1e-13;
  config.balance.policy = "every";
  apps::complete_config(config);
  return config;
}

/// What a run leaves, on every rank alike.
struct BumpResult {
  std::uint64_t mesh = 0, history = 0, field = 0;
  std::int64_t steps = 0, split = 0, merged = 0;
  int conserved = 0;
  double drift = 0.0, cells = 0.0;
  bool passed = false;
  std::map<std::string, double> findings;
  [[nodiscard]] double error() const { return findings.at("error_l1"); }
  [[nodiscard]] bool same_bits(const BumpResult& other) const {
    return mesh == other.mesh && history == other.history && field == other.field && steps == other.steps &&
           findings == other.findings;
  }
};

/// From the start, or from where `restart` is; `at_step` is called after every step.
template <int Dim>
BumpResult run_bump(const Communicator& comm, const apps::Config& config, const amr::Restart* restart = nullptr,
                    const std::function<void(amr::Simulation<Dim>&, std::int64_t)>& at_step = {}) {
  Advection<Dim> workload(config, config.advection);
  loadbalance::Balancer<Dim> balancer(config.balance, config.partition);
  support::Metrics metrics;
  amr::Simulation<Dim> simulation(comm, config, loadbalance::make_key_space<Dim>(config.mesh, config.partition),
                                  workload, balancer, metrics, restart);
  BumpResult r;
  simulation.run([&](std::int64_t step, double, const amr::RunTotals&) {
    if (restart == nullptr && !at_step) r.history = support::mix64(r.history, amr::mesh_digest(simulation.mesh()));
    if (at_step) at_step(simulation, step);
  });
  r.mesh = amr::mesh_digest(simulation.mesh());
  r.field = simulation.statistics()[0].hash().value();
  for (const amr::Finding& f : simulation.findings()) r.findings[f.name] = f.value;
  const amr::RunTotals& totals = simulation.totals();
  r.steps = totals.steps;
  r.split = totals.blocks_split;
  r.merged = totals.blocks_merged;
  r.cells = totals.blocks_mean() * static_cast<double>(simulation.fields().layout().block_cells());
  const amr::ConservationCheck& check = simulation.conservation();
  r.conserved = check.conserved();
  r.drift = check.worst_drift();
  r.passed = check.passed() && check.checks() > 0;
  return r;
}

/// The order between meshes of levels level - 1 and level everywhere.
template <int Dim>
double order_of_uniform_meshes(int root, int level, double width) {
  const Communicator world = Communicator::world();
  std::array<double, 2> errors{};
  for (int k = 0; k < 2; ++k) {
    apps::Config config = bump_config(Dim, root, level - 1 + k);
    config.mesh.uniform = true;
    config.advection.width = width;
    config.run.time = 0.1;
    config.run.tolerance = 1.0;  // a bump this wide reaches the sides
    errors[std::size_t(k)] = run_bump<Dim>(world, config).error();
  }
  const double order = std::log2(errors[0] / errors[1]);
  if (world.is_root())
    std::printf("%d dimensions, %d cells an edge: L1 error %.3g, order %.2f\n", Dim, (root << level) * 8, errors[1],
                order);
  return order;
}

TEST(Advection, IsOfSecondOrderOnUniformMeshes) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  EXPECT_GE(order_of_uniform_meshes<2>(2, 3, 0.3), 1.8);
  EXPECT_GE(order_of_uniform_meshes<2>(2, 4, 0.3), 1.8);
  EXPECT_GE(order_of_uniform_meshes<3>(3, 2, 0.35), 1.8);
}

TEST(Advection, AdaptiveMeshesAreAsGoodAsFineOnesWithAThirdOfTheCells) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  const Communicator world = Communicator::world();
  apps::Config config = bump_config(2, 4, 3);
  config.advection.refine_above = 5e-3;
  config.advection.coarsen_below = 1e-3;
  const BumpResult adaptive = run_bump<2>(world, config);
  config.mesh.uniform = true;
  const BumpResult fine = run_bump<2>(world, config);
  if (world.is_root())
    std::printf("error %.4g, %.3g of the fine mesh's, with %.3g of its cells\n", adaptive.error(),
                adaptive.error() / fine.error(), adaptive.cells / fine.cells);
  EXPECT_LE(adaptive.error(), 1.3 * fine.error());
  EXPECT_LE(adaptive.cells, fine.cells / 3.0);
}

TEST(Advection, KeepsItsMassWhileBlocksChange) {
  const Communicator world = Communicator::world();
  const auto check = [&](const BumpResult& result) {
    if (world.is_root())
      std::printf("%ld steps, %ld blocks split, %ld merged, mass drifted by %.2g\n", long(result.steps),
                  long(result.split), long(result.merged), result.drift);
    EXPECT_TRUE(result.passed);
    EXPECT_EQ(result.conserved, 1) << "the bump must not have reached a side";
    EXPECT_LE(result.drift, 1e-13);
    EXPECT_GT(result.split, 10);
    EXPECT_GT(result.merged, 5);
  };
  apps::Config config = bump_config(2, 4, 3);
  config.advection.width = 0.15;
  check(run_bump<2>(world, config));
  config = bump_config(3, 4, 2);
  config.advection.width = 0.15;
  config.run.time = 0.15;
  check(run_bump<3>(world, config));
}

TEST(Advection, WatchesItsMassUntilTheBumpLeaves) {
  apps::Config config = bump_config(2, 2, 1);
  config.advection.velocity = {-2.0, 1.0, 0.0};
  config.run.time = 0.5;
  config.run.tolerance = 1e-12;
  const BumpResult result = run_bump<2>(Communicator::world(), config);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.conserved, 0);
  EXPECT_LE(result.findings.at("largest"), 1e-2);
}

/// The order between meshes of levels level - 1 and level everywhere, once the bump is back where it began.
template <int Dim>
double order_of_a_period(int root, int level, double width) {
  const Communicator world = Communicator::world();
  std::array<double, 2> errors{};
  for (int k = 0; k < 2; ++k) {
    apps::Config config = bump_config(Dim, root, level - 1 + k);
    config.mesh.periodic = {true, true, Dim == 3};
    config.mesh.uniform = true;
    config.advection.width = width;
    config.advection.velocity = {1.0, -1.0, Dim == 3 ? 1.0 : 0.0};
    config.run.time = 1.0;
    const BumpResult result = run_bump<Dim>(world, config);
    EXPECT_TRUE(result.passed);
    EXPECT_EQ(result.conserved, 1) << "nothing leaves a closed domain";
    EXPECT_LE(result.drift, 1e-13);
    errors[std::size_t(k)] = result.error();
  }
  const double order = std::log2(errors[0] / errors[1]);
  if (world.is_root())
    std::printf("%d dimensions, a period, %d cells an edge: L1 error %.3g, order %.2f\n", Dim, (root << level) * 8,
                errors[1], order);
  return order;
}

TEST(Advection, BringsTheBumpBackThroughPeriodicSides) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  EXPECT_GE(order_of_a_period<2>(1, 4, 0.45), 1.8);
  EXPECT_GE(order_of_a_period<3>(1, 3, 0.45), 1.6);
}

TEST(Advection, AdaptiveMeshesFollowTheBumpThroughPeriodicSides) {
  AMRBENCH_SKIP_ACCURACY_WHERE_SANITIZED();
  const Communicator world = Communicator::world();
  apps::Config config = bump_config(2, 2, 4);
  config.mesh.periodic = {true, true, false};
  config.advection.refine_above = 5e-3;
  config.advection.coarsen_below = 1e-3;
  config.advection.velocity = {1.0, 1.0, 0.0};
  config.run.time = 1.0;
  const BumpResult adaptive = run_bump<2>(world, config);
  EXPECT_TRUE(adaptive.passed);
  EXPECT_EQ(adaptive.conserved, 1);
  EXPECT_GT(adaptive.merged, 50);
  config.mesh.uniform = true;
  const BumpResult fine = run_bump<2>(world, config);
  if (world.is_root())
    std::printf("a period: error %.4g, %.3g of the fine mesh's, with %.3g of its cells, mass drifted by %.2g\n",
                adaptive.error(), adaptive.error() / fine.error(), adaptive.cells / fine.cells, adaptive.drift);
  EXPECT_LE(adaptive.error(), 1.3 * fine.error());
  EXPECT_LE(adaptive.cells, fine.cells / 3.0);
}

TEST(Advection, RefusesABumpThatMeetsItself) {
  apps::Config config = bump_config(2, 2, 1);
  config.mesh.periodic[1] = true;
  config.advection.width = 0.6;
  EXPECT_THROW(Advection<2>(config, config.advection), support::InputError);
  config.advection.width = 0.5;
  EXPECT_NO_THROW(Advection<2>(config, config.advection));
}

template <int Dim>
void check_same_bits(std::uint64_t seed, apps::Config config) {
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  const std::vector<std::string> policies{"never", "every", "threshold", "amortized", "menon", "anticipate", "auto"};
  std::vector<std::string> methods;
  for (const auto& entry : partitioners::partitioner_registry()) methods.emplace_back(entry.name);
  std::mt19937_64 random(seed);
  config.run.steps = 12;
  config.run.tolerance = 1e-8;  // on coarse cells the bump spreads to the sides
  const BumpResult wanted = run_bump<Dim>(self, config);
  EXPECT_GT(wanted.split, 0);
  for (int trial = 0; trial < 4; ++trial) {
    config.partition.method = methods[random() % methods.size()];
    config.balance.policy = policies[random() % policies.size()];
    config.balance.weights = random() % 2 != 0 ? "measured" : "uniform";
    config.run.overlap = random() % 2 != 0;
    const int threads = 1 + static_cast<int>(random() % 2);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(Dim) + "-D, " + config.partition.method + ", " +
                 config.balance.policy + ", " + config.balance.weights + ", threads " + std::to_string(threads));
    omp_set_num_threads(threads);
    const BumpResult result = run_bump<Dim>(world, config);
    omp_set_num_threads(1);
    EXPECT_TRUE(result.passed);
    EXPECT_TRUE(result.same_bits(wanted));
  }
}

TEST(Advection, SameBitsOnAnyRanksThreadsMethodsAndPolicies) {
  check_same_bits<2>(2027, bump_config(2, 3, 3));
  apps::Config config = bump_config(3, 2, 2);
  config.mesh.block = {4, 6, 8};
  config.advection.velocity = {1.0, -0.5, 0.25};
  check_same_bits<3>(2028, config);
  config.mesh.root = {1, 2, 3};
  config.mesh.periodic = {true, true, false};
  config.advection.velocity = {-4.0, 3.0, 0.25};
  check_same_bits<3>(2029, config);
  config = bump_config(2, 1, 4);
  config.mesh.periodic = {true, true, false};
  config.advection.velocity = {-3.0, -2.0, 0.0};
  check_same_bits<2>(2030, config);
}

TEST(Advection, GoesOnFromACheckpointWithTheSameBits) {
  if (!amr::has_checkpoints()) GTEST_SKIP() << "this build has no checkpoints";
  const Communicator world = Communicator::world(), self = Communicator::duplicate(MPI_COMM_SELF);
  apps::Config config = bump_config(3, 2, 2);
  config.run.steps = 13;
  config.run.tolerance = 1e-8;
  const tests::TemporaryFolder folder(world);
  amr::CheckpointWriter writer(world, folder.path("c"));
  const BumpResult wanted = run_bump<3>(world, config, nullptr, [&](amr::Simulation<3>& simulation, std::int64_t step) {
    if (step != 7) return;
    const amr::RunState state = simulation.state();
    writer.save(simulation.mesh(), simulation.fields(), state, nlohmann::ordered_json::object());
  });
  support::barrier(world);
  const auto slots = amr::list_slots(folder.path("c"));
  ASSERT_EQ(slots.size(), 1U);
  for (const Communicator* comm : {&world, &self}) {
    const auto space = loadbalance::make_key_space<3>(config.mesh, config.partition);
    const amr::Checkpoint checkpoint(*comm, amr::slot_folder(folder.path("c"), slots[0]));
    checkpoint.verify(*comm, space);
    const amr::Restart restart = checkpoint.restart(*comm, space);
    EXPECT_TRUE(run_bump<3>(*comm, config, &restart).same_bits(wanted)) << "ranks " << comm->size();
  }
  support::barrier(world);  // the folder goes with its owner
}

/// Splits a block of random values and merges its children, where the layout has lanes and padding too; the children
/// stay in the range of the parent's values and give back its means.
template <int Dim>
void check_transfer(std::array<int, 3> cells, int variables) {
  const kernels::BlockLayout layout = kernels::make_layout(cells, variables);
  std::mt19937_64 random(7);
  std::vector<double> parent(layout.block_values(), 0.0);
  for (int v = 0; v < variables; ++v)
    for (int z = 0; z < cells[2]; ++z)
      for (int y = 0; y < cells[1]; ++y)
        for (int x = 0; x < cells[0]; ++x)
          parent[layout.offset(v, x, y, z)] = static_cast<double>(random() >> 11) * 0x1p-53;
  const SlopeTransfer<Dim> transfer;
  std::vector<std::vector<double>> children(std::size_t{1} << Dim, std::vector<double>(layout.block_values(), -1.0));
  children[0] = parent;  // octant 0 takes the parent's place
  std::vector<const double*> pointers;
  for (int octant = (1 << Dim) - 1; octant >= 0; --octant)
    transfer.split(layout, octant == 0 ? children[0].data() : parent.data(), octant,
                   children[std::size_t(octant)].data());
  bool differs = false;
  for (const auto& child : children) {
    for (const double q : child) {
      EXPECT_GE(q, -1e-15);
      EXPECT_LE(q, 1.0);
    }
    for (int x = 0; x < cells[0]; x += 2)
      differs = differs || child[layout.offset(0, x, 2, 0)] != child[layout.offset(0, x + 1, 2, 0)];
    pointers.push_back(child.data());
  }
  EXPECT_TRUE(differs) << "slopes are followed";
  transfer.merge(layout, pointers, children[0].data());
  for (std::size_t at = 0; at < parent.size(); ++at) EXPECT_NEAR(children[0][at], parent[at], 4e-16);
}

TEST(SlopeTransfer, SplitsWithinTheRangeAndMergesBack) {
  check_transfer<2>({6, 8, 1}, 3);
  check_transfer<3>({4, 6, 8}, 13);
}

}  // namespace
}  // namespace amrbench::workloads
