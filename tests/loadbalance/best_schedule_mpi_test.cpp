// The best schedule against trying all of them; other things that replays must keep to.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "amr/random_runs.hpp"
#include "loadbalance/replay/best_schedule.hpp"
#include "loadbalance/replayed_run.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"
#include "workloads/water_runs.hpp"

namespace amrbench::loadbalance {
namespace {

using amr::checks::random_config;

/// Replays are one process's work: of several ranks the first does it. Collective.
bool is_first() {
  return support::Communicator::world().is_root();
}

/// Two bits a refinement: whether it cuts ahead, and after.
class Scripted final : public Policy {
 public:
  explicit Scripted(std::uint64_t script) : script_(script) {}
  [[nodiscard]] Action decide(const History& history, const Load& load) const override {
    const auto at = 2 * history.outcomes.size() + (load.predicted ? 0 : 1);
    return load.is_even() || (script_ >> at & 1) == 0 ? Action::leave : Action::full;
  }

 private:
  std::uint64_t script_;
};

/// Feeds runs, and records what segments cost at least.
template <int Dim>
class AllRuns final : public TraceVisitor<Dim> {
 public:
  AllRuns(const Placer& placer, std::vector<VirtualRun>& runs) : placer_(placer), runs_(runs) {}
  void roots(Tables<Dim>& tables) override {
    for (VirtualRun& run : runs_) run.place_roots(table(tables));
  }
  void segment(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) override {
    for (VirtualRun& run : runs_) run.work(mesh, costs, stages);
    ++segments;
  }
  void begin(const amr::RunPosition& position, bool /*changes*/) override {
    for (VirtualRun& run : runs_) run.begin(position);
    ++refinements;
  }
  void ahead(Tables<Dim>& tables) override {
    for (VirtualRun& run : runs_) run.ahead(table(tables));
  }
  void follow(std::span<const std::int32_t> origin) override {
    for (VirtualRun& run : runs_) run.follow(origin);
  }
  void conclude(Tables<Dim>& tables, bool /*changes*/) override {
    for (VirtualRun& run : runs_) run.conclude(table(tables));
  }
  void look() override {
    for (VirtualRun& run : runs_) run.look();
  }
  [[nodiscard]] bool measures() const override { return placer_.model().measures(); }
  int refinements = 0, segments = 0;

 private:
  const BlockTable& table(Tables<Dim>& tables) const {
    return tables.of(placer_.strategy().balance.weights, placer_.model(), placer_.needs_centres(),
                     placer_.needs_graph());
  }
  const Placer& placer_;
  std::vector<VirtualRun>& runs_;
};

/// A machine on which cutting is neither free nor never worth it.
Machine random_machine(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto scaled = [&](double typical) { return typical * std::exp2(amr::checks::between(random, -3.0, 3.0)); };
  Machine m;
  m.overlap = random() % 2 != 0;
  m.ranks_per_node = 1 + static_cast<int>(random() % 4);
  m.update_s = scaled(1e-9);
  m.node_latency_s = scaled(1e-7);
  m.latency_s = scaled(5e-7);
  m.node_byte_s = scaled(1e-10);
  m.byte_s = scaled(5e-10);
  m.refine_block_s = scaled(1e-7);
  m.cut_block_s = scaled(3e-7);
  return m;
}

/// Of a trace with at most four refinements.
template <int Dim>
void expect_best(const std::string& file, const Strategy& strategy, const Machine& machine) {
  const Placer placer(strategy, TraceReader(file).header(), machine);
  std::vector<VirtualRun> runs;
  for (std::uint64_t script = 0; script < 256; ++script) runs.emplace_back(placer, std::make_unique<Scripted>(script));
  AllRuns<Dim> all(placer, runs);
  follow_trace<Dim>(file, key_curve(strategy.partition), all, {});
  ASSERT_LE(all.refinements, 4);
  ASSERT_GE(all.refinements, 2);
  double least = std::numeric_limits<double>::infinity();
  for (const VirtualRun& run : runs) least = std::min(least, run.times().total());
  // Without a bound, and with one that leaves just the best.
  const std::vector<double> nothing(static_cast<std::size_t>(all.segments), 0.0);
  for (const double bound : {std::numeric_limits<double>::infinity(), least * (1.0 + 1e-9)}) {
    BestSchedule<Dim> best(placer, bound, nothing);
    follow_trace<Dim>(file, key_curve(strategy.partition), best, {});
    EXPECT_NEAR(best.seconds(), least, 1e-9 * least);
  }
}

TEST(BestSchedule, IsTheBestOfAllSchedules) {
  if (!is_first()) return;
  const tests::TemporaryFolder folder;
  for (int set = 1; set <= tests::cases(8, 2); ++set) {
    apps::Config config = random_config(set);
    config.run.steps = 3;
    config.run.refine_every = 1;
    const std::string file = folder.path("t" + std::to_string(set));
    record_mesh(config, file);
    for (const int ranks : {2, 7, 16}) {
      Strategy strategy{ranks, config.partition, config.balance};
      strategy.partition.method = set % 3 == 0 ? "orb" : "hilbert";
      strategy.balance.weights = set % 2 == 0 ? "level" : "uniform";
      const auto seed = std::uint64_t{100} * static_cast<unsigned>(set) + static_cast<unsigned>(ranks);
      SCOPED_TRACE("seed " + std::to_string(seed));
      expect_best<3>(file, strategy, random_machine(seed));
    }
  }
}

TEST(BestSchedule, IsTheBestWhereBlocksDifferInCostAndMeshesStay) {
  if (!is_first()) return;
  const auto self = support::Communicator::duplicate(MPI_COMM_SELF);
  const tests::TemporaryFolder folder;
  for (const bool frozen : {false, true}) {
    apps::Config config =
        workloads::checks::make_config(frozen ? "walled_dam_break" : "bowl_planar", {8, 8, 1}, 2, 5e-3);
    config.mesh.frozen = frozen;
    config.run.steps = 60;
    config.run.refine_every = 20;
    config.balance.weights = "workload";
    const std::string file = folder.path(frozen ? "frozen" : "t");
    checks::run_traced<2>(self, config, file);
    for (const int ranks : {2, 7, 16}) {
      for (const char* weights : {"workload", "uniform"}) {
        Strategy strategy{ranks, config.partition, config.balance};
        strategy.partition.method = ranks == 7 ? "kd_parts" : "hilbert";
        strategy.balance.weights = weights;
        if (frozen && strategy.balance.weights == "uniform") continue;  // one refinement, the first
        if (tests::fewer_cases() && ranks != 7) continue;
        SCOPED_TRACE(std::string(weights) + ", " + std::to_string(ranks) + " ranks" + (frozen ? ", frozen" : ""));
        expect_best<2>(file, strategy, random_machine(static_cast<unsigned>(ranks)));
      }
    }
  }
}

TEST(BestSchedule, NoPolicyIsBelowItAndStatesAreFew) {
  if (!is_first()) return;
  const tests::TemporaryFolder folder;
  for (int set = 1; set <= tests::cases(6, 2); ++set) {
    apps::Config config = random_config(set);
    config.run.steps = 12;
    config.run.refine_every = 1;
    const std::string file = folder.path("t" + std::to_string(set));
    const auto told = record_mesh(config, file);
    ReplayRequest request;
    request.machine = random_machine(static_cast<std::uint64_t>(set));
    for (const PolicyEntry& entry : policy_registry()) {
      Strategy strategy{5 + 3 * set, config.partition, config.balance};
      strategy.balance.policy = std::string(entry.name);
      request.strategies.push_back(strategy);
    }
    double optimum = 0.0;
    for (const ReplayRow& row : replay(file, request)) {
      SCOPED_TRACE(row.strategy.balance.policy + ", set " + std::to_string(set));
      EXPECT_GE(row.optimum_s, row.ideal_s);
      EXPECT_LE(row.optimum_s, row.times.total());
      EXPECT_TRUE(row.optimum_exact);
      optimum = row.optimum_s;
    }
    const Placer placer(request.strategies[0], TraceReader(file).header(), request.machine);
    BestSchedule<3> best(placer, std::numeric_limits<double>::infinity(), {});
    follow_trace<3>(file, "morton", best, {});
    EXPECT_NEAR(best.seconds(), optimum, 1e-9 * optimum);
    // At most a few for each refinement: cuts at the same one leave the same owners but for how their passes went.
    EXPECT_LE(best.states_max(), static_cast<std::size_t>(4 * told.refinements));
  }
}

TEST(Replay, RenamedPartsMoveFewerBlocks) {
  if (!is_first()) return;
  const tests::TemporaryFolder folder;
  const apps::Config config = random_config(4);
  const std::string file = folder.path("t");
  record_mesh(config, file);
  ReplayRequest request;
  for (const char* method : {"orb", "kd_parts"})
    for (const bool rename : {false, true}) {
      Strategy strategy{24, config.partition, config.balance};
      strategy.partition.method = method;
      strategy.partition.rename = rename;
      request.strategies.push_back(strategy);
    }
  const auto rows = replay(file, request);
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    EXPECT_LT(rows[i + 1].totals.blocks_migrated, rows[i].totals.blocks_migrated);
    EXPECT_EQ(rows[i + 1].totals.imbalance_max, rows[i].totals.imbalance_max);
  }
}

TEST(Replay, RanksAreIndependentOfEachOtherAndOfThreads) {
  if (!is_first()) return;
  const tests::TemporaryFolder folder;
  const apps::Config config = random_config(5);
  const std::string file = folder.path("t");
  record_mesh(config, file);
  ReplayRequest many;
  for (const int ranks : {1, 3, 64, 1000})
    for (const char* method : {"hilbert", "orb"}) {
      Strategy strategy{ranks, config.partition, config.balance};
      strategy.partition.method = method;
      many.strategies.push_back(strategy);
    }
  const auto together = replay(file, many);
  ASSERT_EQ(together.size(), many.strategies.size());
  for (std::size_t i = 0; i < together.size(); ++i) {
    SCOPED_TRACE(i);
    ReplayRequest one;
    one.strategies = {many.strategies[i]};
    const ReplayRow alone = replay(file, one).at(0);
    EXPECT_EQ(alone.times.total(), together[i].times.total());
    EXPECT_EQ(alone.optimum_s, together[i].optimum_s);
    EXPECT_EQ(alone.totals.blocks_migrated, together[i].totals.blocks_migrated);
  }
  EXPECT_EQ(together[0].times.halo_s, 0.0);
  EXPECT_EQ(together[0].totals.rebalances, 0);
}

TEST(Replay, StrategiesThatCannotBeReplayedAreRefused) {
  if (!is_first()) return;
  const tests::TemporaryFolder folder;
  const apps::Config config = random_config(2);
  const std::string file = folder.path("t");
  record_mesh(config, file);
  const auto refused = [&](auto change) {
    ReplayRequest request;
    Strategy strategy{4, config.partition, config.balance};
    change(strategy);
    request.strategies = {strategy};
    EXPECT_THROW(replay(file, request), support::InputError);
  };
  refused([](Strategy& s) { s.partition.method = "nothing"; });
  refused([](Strategy& s) { s.balance.policy = "nothing"; });
  refused([](Strategy& s) { s.balance.weights = "nothing"; });
  refused([](Strategy& s) { s.partition.splitter = "nothing"; });
}

TEST(Replay, ATraceThatNoMeshFollowsIsRefused) {
  if (!is_first()) return;
  const tests::TemporaryFolder folder;
  const std::string file = folder.path("t");
  const auto refused = [&](const TracePass& pass) {
    TraceWriter writer(file, {{2, 2, 2}, 2, {4, 4, 4}, 1, 1, "x", {}});
    writer.write({0, 0, {pass}});
    writer.finish(1, 1);
    ReplayRequest request;
    request.strategies = {{2, {}, {}}};
    EXPECT_THROW(replay(file, request), support::InputError);
  };
  refused({{{8}, {}, {}}, {{}, {}, {}}});  // outside the grid
  refused({{{}, {0}, {}}, {{}, {}, {}}});  // no such block yet
  refused({{{}, {}, {0}}, {{}, {}, {}}});  // deeper than the mesh goes
  refused({{{}, {}, {}}, {{0}, {}, {}}});  // a merge of what was never split
  refused({{{}, {}, {}}, {{}, {}, {1}}});  // into a parent that has no children
}

}  // namespace
}  // namespace amrbench::loadbalance
