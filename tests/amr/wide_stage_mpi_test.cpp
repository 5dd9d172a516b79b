// Stages that need edges and corners, on whole meshes: against their definition, and the same bits however they run.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "amr/field_store.hpp"
#include "amr/initial.hpp"
#include "amr/octets.hpp"
#include "amr/random_runs.hpp"
#include "amr/simulation.hpp"
#include "amr/wide_stage.hpp"
#include "apps/config.hpp"
#include "loadbalance/balancer.hpp"
#include "tests/sanitized.hpp"
#include "workloads/averages/averages.hpp"

namespace amrbench::amr {
namespace {

support::Communicator self() {
  return support::Communicator::duplicate(MPI_COMM_SELF);
}

/// A simulation with all it refers to, run to its end.
struct FinishedRun {
  FinishedRun(const support::Communicator& comm, const apps::Config& c)
      : config(c), workload(config), balancer(config.balance) {
    simulation = std::make_unique<Simulation<3>>(
        comm, config, loadbalance::make_key_space<3>(config.mesh, config.partition), workload, balancer, metrics);
    simulation->run([this](std::int64_t, double, const RunTotals& t) {
      levels_most = std::max(levels_most, std::count_if(t.blocks_by_level.begin(), t.blocks_by_level.end(),
                                                        [](std::int64_t n) { return n > 0; }));
    });
  }
  [[nodiscard]] std::vector<std::string> hashes() const {
    std::vector<std::string> all;
    for (const auto& stats : simulation->statistics()) all.push_back(stats.hash().to_hex());
    return all;
  }
  apps::Config config;
  workloads::Averages workload;
  loadbalance::Balancer<3> balancer;
  support::Metrics metrics;
  std::unique_ptr<Simulation<3>> simulation;
  std::ptrdiff_t levels_most = 0;  ///< levels in use at once
};

/// A small adaptive case: a sphere on its way through a domain of random shape.
apps::Config random_case(unsigned seed, const std::string& stencil) {
  std::mt19937 engine(seed);
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); };
  const auto real = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); };
  apps::Config c;
  c.mesh.root = {whole(1, 3), whole(1, 2), whole(1, 3)};
  c.mesh.block = {2 * whole(1, 3), 2 * whole(1, 3), 2 * whole(1, 3)};
  c.mesh.max_level = 2;
  c.fields.variables = stencil == "mixed" ? whole(8, 14) : whole(1, 10);
  c.fields.seed = seed;
  c.run.stencil = stencil;
  c.run.steps = 4;
  c.run.stages_per_step = whole(2, 4);
  c.run.refine_every = 2;
  c.run.checksum_every = whole(1, 3);
  ObjectConfig o;
  o.volume = whole(0, 1) == 1;
  o.center = {real(0.2, 0.8), real(0.2, 0.8), real(0.2, 0.8)};
  o.velocity = {real(-0.1, 0.1), real(-0.1, 0.1), real(-0.1, 0.1)};
  o.size = {0.25, real(0.1, 0.3), 0.2};
  c.objects = {o};
  if (seed % 2 == 0)
    for (std::size_t d = 0; d < 3; ++d) c.mesh.periodic[d] = (seed / 2 >> d & 1U) != 0;
  return c;
}

TEST(WideStage, GivesTheSameBitsForAnyRanksThreadsCurveAndExchange) {
  const support::Communicator world = support::Communicator::world();
  for (const std::string stencil : {"average27", "mixed"}) {
    const int all = tests::cases(4, 2);
    int refined = 0;
    for (unsigned seed = 1; seed <= static_cast<unsigned>(all); ++seed) {
      SCOPED_TRACE(stencil + ", seed " + std::to_string(seed));
      apps::Config config = random_case(seed, stencil);
      config.run.overlap = false;
      omp_set_num_threads(1);
      const FinishedRun expected(self(), config);
      ASSERT_TRUE(expected.simulation->conservation().passed()) << *expected.simulation->conservation().failure();
      refined += expected.levels_most > 1;
      for (const bool overlap : {false, true}) {
        for (const std::string curve : {"morton", "hilbert"}) {
          SCOPED_TRACE(curve + (overlap ? ", overlap" : ", blocking"));
          config.run.overlap = overlap;
          config.device.preallocated_blocks = overlap ? 100 : 0;
          config.partition.method = curve;
          config.balance.policy = overlap && curve == "hilbert" ? "never" : "every";
          omp_set_num_threads(overlap ? 2 : 1);
          const FinishedRun run(world, config);
          EXPECT_EQ(run.hashes(), expected.hashes());
          EXPECT_EQ(mesh_digest(run.simulation->mesh()), mesh_digest(expected.simulation->mesh()));
          EXPECT_TRUE(run.simulation->conservation().passed());
          EXPECT_EQ(run.simulation->conservation().worst_drift(), expected.simulation->conservation().worst_drift());
        }
      }
      omp_set_num_threads(1);
    }
    EXPECT_GE(refined, all - 1) << "too few of the random cases had changes of level";
  }
}

/// Ghost values by their definition (kernels/tile.hpp), one at a time from the cells of a mesh on one rank.
class GhostReference {
 public:
  explicit GhostReference(const Simulation<3>& s)
      : mesh_(s.mesh()), fields_(host_fields(s.fields())), l_(s.fields().layout()) {}

  /// The value of cell `at` of block i; a coordinate may be -1 or n. The last axis that is outside decides.
  double value(std::int32_t i, int v, std::array<int, 3> at) const {
    int axis = 2;
    while (axis >= 0 && at[axis] >= 0 && at[axis] < l_.cells[axis]) --axis;
    if (axis < 0) return fields_.block(i)[l_.offset(v, at[0], at[1], at[2])];
    const int side = at[axis] < 0 ? 0 : 1, face = 2 * axis + side;
    const int a = l_.face_axis_a(axis), b = l_.face_axis_b(axis);
    const auto& links = mesh_.links(i);
    const int inside = side ? l_.cells[axis] - 1 : 0, across = side ? 0 : l_.cells[axis] - 1;
    if (links.kind[face] == FaceKind::boundary) {
      at[axis] = inside;
      return value(i, v, at);
    }
    at[axis] = across;
    if (links.kind[face] == FaceKind::same) return value(links.index[face][0], v, at);
    if (links.kind[face] == FaceKind::coarse) {
      for (const int p : {a, b}) {
        const int half = int(mesh_.coord(i)[p] & 1) * l_.cells[p] / 2;
        at[p] = half + static_cast<int>(std::floor(at[p] / 2.0));
      }
      return value(links.index[face][0], v, at) / 4.0;
    }
    const int pa = at[a] >= l_.cells[a] / 2, pb = at[b] >= l_.cells[b] / 2;
    const std::int32_t fine = links.index[face][pa + 2 * pb];
    double sum = 0.0;
    for (const auto& [da, db] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      std::array<int, 3> f = at;
      f[a] = clamp(2 * (at[a] - pa * l_.cells[a] / 2) + da, axis, a);
      f[b] = clamp(2 * (at[b] - pb * l_.cells[b] / 2) + db, axis, b);
      const double x = value(fine, v, f);
      sum = da + db == 0 ? x : sum + x;
    }
    return sum;
  }

  double mean_of_27(std::int32_t i, int v, int x, int y, int z) const {
    std::array<double, 3> planes{};
    for (int c = 0; c < 27; ++c) {
      const double u = value(i, v, {x + c / 9 - 1, y + c / 3 % 3 - 1, z + c % 3 - 1});
      planes[c / 9] = c % 9 == 0 ? u : planes[c / 9] + u;
    }
    return (planes[0] + planes[1] + planes[2]) / 27.0;
  }

 private:
  int clamp(int f, int axis, int in_plane) const {
    const int extension = in_plane < axis ? 1 : 0;
    return std::clamp(f, -extension, l_.cells[in_plane] - 1 + extension);
  }
  const Mesh<3>& mesh_;
  const FieldStore& fields_;
  const kernels::BlockLayout& l_;
};

/// A mesh after some steps, on one rank, and what one stage more makes of its fields.
void expect_stage_by_definition(apps::Config config, std::map<FaceKind, int>& kinds, int& octets) {
  config.run.stages_per_step = 1;
  config.run.refine_every = 3;
  config.run.steps = 7;
  const FinishedRun before(self(), config);
  config.run.steps = 8;
  const FinishedRun after(self(), config);
  const GhostReference reference(*before.simulation);
  const Mesh<3>& mesh = before.simulation->mesh();
  const kernels::BlockLayout& l = before.simulation->fields().layout();
  ASSERT_EQ(mesh_digest(mesh), mesh_digest(after.simulation->mesh()));
  Octets found;
  found.rebuild(mesh);
  octets += static_cast<int>(found.places().size());
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    for (const FaceKind kind : mesh.links(i).kind) ++kinds[kind];
    for (std::size_t c = 0; c < l.block_cells(); ++c) {
      const int x = int(c) % l.cells[0], y = int(c) / l.cells[0] % l.cells[1], z = int(c) / l.cells[0] / l.cells[1];
      ASSERT_EQ(host_fields(after.simulation->fields()).block(i)[l.offset(0, x, y, z)],
                reference.mean_of_27(i, 0, x, y, z))
          << "block " << i << " at " << x << " " << y << " " << z;
    }
  }
}

TEST(WideStage, GhostsFollowTheirDefinitionAcrossLevels) {
  std::map<FaceKind, int> kinds;
  int octets = 0;
  for (unsigned seed = 11; seed <= 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_stage_by_definition(random_case(seed, "average27"), kinds, octets);
    if (testing::Test::HasFatalFailure()) return;
  }
  // Three levels and several objects: blocks whose neighbours have finer ones where they themselves have none.
  for (unsigned seed = 20; seed < 110; ++seed) {
    SCOPED_TRACE("objects of seed " + std::to_string(seed));
    apps::Config config = checks::random_config(static_cast<int>(seed % checks::kSets), seed);
    config.run.stencil = "average27";
    config.run.checksum_every = 0;
    expect_stage_by_definition(config, kinds, octets);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(octets, 200);
  for (const FaceKind kind : {FaceKind::boundary, FaceKind::same, FaceKind::coarse, FaceKind::fine})
    EXPECT_GT(kinds[kind], 50) << "faces of kind " << int(kind);
}

/// A field on one array over the whole domain, its edge cells repeated outwards, or those at the opposite side.
struct GlobalArray {
  std::array<int, 3> n;
  std::array<bool, 3> periodic;
  std::vector<double> values;
  [[nodiscard]] double at(int x, int y, int z) const {
    if (periodic[0]) x = (x + n[0]) % n[0];
    if (periodic[1]) y = (y + n[1]) % n[1];
    if (periodic[2]) z = (z + n[2]) % n[2];
    x = std::clamp(x, 0, n[0] - 1), y = std::clamp(y, 0, n[1] - 1), z = std::clamp(z, 0, n[2] - 1);
    return values[(std::size_t(z) * n[1] + y) * n[0] + x];
  }
  template <class F>
  void fill(F f) {
    std::vector<double> fresh;
    for (int z = 0; z < n[2]; ++z) {
      for (int y = 0; y < n[1]; ++y) {
        for (int x = 0; x < n[0]; ++x) fresh.push_back(f(x, y, z));
      }
    }
    values = std::move(fresh);
  }
  void average() {
    fill([this](int x, int y, int z) {
      std::array<double, 3> planes{};
      for (int c = 0; c < 27; ++c) {
        const double u = at(x + c / 9 - 1, y + c / 3 % 3 - 1, z + c % 3 - 1);
        planes[c / 9] = c % 9 == 0 ? u : planes[c / 9] + u;
      }
      return (planes[0] + planes[1] + planes[2]) / 27.0;
    });
  }
};

TEST(WideStage, IsAPlainArraysAverageOnAUniformMesh) {
  const support::Communicator world = support::Communicator::world();
  using Shape = std::pair<int, std::array<bool, 3>>;  // level, closed axes
  for (const Shape& shape : {Shape{0, {}}, Shape{1, {}}, Shape{0, {true, false, true}}, Shape{1, {true, true, true}}}) {
    const int level = shape.first;
    const auto& periodic = shape.second;
    SCOPED_TRACE("level " + std::to_string(level));
    apps::Config c;
    c.mesh.root = {3, 2, 4};
    c.mesh.periodic = periodic;
    c.mesh.block = {4, 6, 2};
    c.mesh.max_level = level;
    c.mesh.uniform = true;
    c.fields.variables = 3;
    c.fields.seed = 5;
    c.run.stencil = "average27";
    c.run.steps = 2;
    c.run.stages_per_step = 3;
    c.run.checksum_every = 1;
    const FinishedRun run(world, c);
    GlobalArray expected{{12 << level, 12 << level, 8 << level}, periodic, {}};
    const double share = level ? 0.125 : 1.0;
    expected.fill([&](int x, int y, int z) {
      return share * random_value(c.fields.seed, 2, std::uint64_t(x >> level), std::uint64_t(y >> level),
                                  std::uint64_t(z >> level));
    });
    for (int stage = 0; stage < 6; ++stage) expected.average();
    const Mesh<3>& mesh = run.simulation->mesh();
    EXPECT_EQ(mesh.global_size(), 24 << (3 * level));
    const kernels::BlockLayout& l = run.simulation->fields().layout();
    for (std::int32_t i = 0; i < mesh.size(); ++i) {
      for (int z = 0; z < l.cells[2]; ++z) {
        for (int y = 0; y < l.cells[1]; ++y) {
          for (int x = 0; x < l.cells[0]; ++x) {
            const auto& at = mesh.coord(i);
            ASSERT_EQ(
                host_fields(run.simulation->fields()).block(i)[l.offset(2, x, y, z)],
                expected.at(int(at[0]) * l.cells[0] + x, int(at[1]) * l.cells[1] + y, int(at[2]) * l.cells[2] + z));
          }
        }
      }
    }
    const ConservationCheck& check = run.simulation->conservation();
    EXPECT_EQ(check.conserved(), 3) << "a uniform mesh must be checked";
    EXPECT_EQ(check.checks(), 6);
    EXPECT_TRUE(check.note().empty());
    EXPECT_TRUE(check.passed());
    EXPECT_LT(check.worst_drift(), 1e-13);
  }
}

TEST(WideStage, MixedWorkAveragesItsFirstAndLastVariablesAsTheSevenPointStencilDoes) {
  const support::Communicator world = support::Communicator::world();
  for (unsigned seed = 21; seed <= 23; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    apps::Config config = random_case(seed, "mixed");
    config.fields.variables = 11;
    const FinishedRun mixed(world, config);
    config.run.stencil = "average7";
    const FinishedRun average(world, config);
    const auto a = mixed.hashes(), b = average.hashes();
    for (const int v : {0, 8, 9, 10}) EXPECT_EQ(a[v], b[v]) << "variable " << v;
    for (int v = 1; v < 8; ++v) EXPECT_NE(a[v], b[v]) << "variable " << v;
    EXPECT_EQ(mixed.simulation->conservation().conserved(), 1);
    EXPECT_LT(mixed.simulation->conservation().worst_drift(), 1e-12);
  }
}

TEST(WideStage, LeavesPaddingLanesZero) {
  for (const std::string stencil : {"average27", "mixed"}) {
    apps::Config config = random_case(31, stencil);
    config.fields.variables = 13;  // two chunks of 7: one lane of padding
    const FinishedRun run(support::Communicator::world(), config);
    const FieldStore& fields = host_fields(run.simulation->fields());
    const kernels::BlockLayout& l = fields.layout();
    ASSERT_GT(l.lanes * l.chunks, l.variables);
    for (std::int32_t i = 0; i < fields.size(); ++i) {
      for (std::size_t c = 0; c < l.block_cells(); ++c)
        ASSERT_EQ(fields.block(i)[l.offset(l.variables, 0, 0, 0) + c * l.lanes], 0.0) << stencil << ", block " << i;
    }
  }
}

TEST(WideStage, AveragesOf27AreNotHeldToTheirTotalsOnceLevelsDiffered) {
  const support::Communicator world = support::Communicator::world();
  apps::Config config = random_case(41, "average27");
  config.mesh.root = {2, 2, 2};
  config.run.steps = 20;
  config.run.stages_per_step = 3;
  config.run.checksum_every = 1;
  config.objects[0].center = {0.3, 0.4, 0.6};
  config.objects[0].velocity = {0.2, 0.1, 0.1};
  const FinishedRun run(world, config);
  const ConservationCheck& check = run.simulation->conservation();
  ASSERT_GT(run.levels_most, 1);
  ASSERT_EQ(run.simulation->totals().blocks, 8) << "the sphere has left, the mesh is uniform again";
  EXPECT_TRUE(check.passed());
  EXPECT_EQ(check.checks(), 60);
  EXPECT_EQ(check.conserved(), 0);
  EXPECT_NE(check.note().find("0 of " + std::to_string(config.fields.variables)), std::string::npos) << check.note();
  // The totals did drift: holding them to the first would have failed.
  config.run.steps = 0;
  config.mesh.max_level = 0;
  const FinishedRun start(world, config);
  const double first = start.simulation->statistics()[0].sum().to_double();
  EXPECT_GT(std::abs(run.simulation->statistics()[0].sum().to_double() / first - 1.0), 1e-4);
}

TEST(ConservationCheck, HoldsTheFewestVariablesItWasEverLimitedTo) {
  std::vector<support::FieldStats> first(3);
  for (auto& stats : first) stats.add(2.0, 1);
  ConservationCheck check(first, 3, 1e-8);
  EXPECT_TRUE(check.note().empty());
  check.limit(2);
  check.limit(3);
  EXPECT_EQ(check.conserved(), 2);
  EXPECT_TRUE(check.check({2.0, 2.0, 7.0}, 1, 1));
  EXPECT_FALSE(check.note().empty());
  EXPECT_FALSE(check.check({2.0, 2.1, 2.0}, 1, 2));
  ConservationCheck finite(first, 3, 1e-8);
  finite.limit(0);
  EXPECT_TRUE(finite.check({9.0, 9.0, 9.0}, 1, 1));
  EXPECT_FALSE(finite.check({9.0, 9.0, std::nan("")}, 1, 2));
}

}  // namespace
}  // namespace amrbench::amr
