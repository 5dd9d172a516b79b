// Whole runs: every partitioner leaves the bits of `never`, policies see the same history on every rank, and balancing
// sends no more than it says.
#include <gtest/gtest.h>

#include <algorithm>

#include "amr/field_store.hpp"
#include "amr/random_runs.hpp"
#include "loadbalance/balancer.hpp"
#include "support/error.hpp"
#include "tests/sanitized.hpp"
#include "workloads/averages/averages.hpp"

namespace {
int collectives = 0;  ///< of this rank so far, but for those that build communicators
}

// The profiling interface of MPI: the program's calls come here first.
extern "C" {
int MPI_Allgather(const void* send, int n, MPI_Datatype from, void* receive, int m, MPI_Datatype to, MPI_Comm comm) {
  ++collectives;
  return PMPI_Allgather(send, n, from, receive, m, to, comm);
}
int MPI_Allreduce(const void* send, void* receive, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++collectives;
  return PMPI_Allreduce(send, receive, n, type, op, comm);
}
int MPI_Exscan(const void* send, void* receive, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++collectives;
  return PMPI_Exscan(send, receive, n, type, op, comm);
}
int MPI_Alltoall(const void* send, int n, MPI_Datatype from, void* receive, int m, MPI_Datatype to, MPI_Comm comm) {
  ++collectives;
  return PMPI_Alltoall(send, n, from, receive, m, to, comm);
}
}

namespace amrbench::loadbalance {
namespace {

using amr::checks::random_config;
using amr::checks::Result;
using amr::checks::run;
using amr::checks::Way;
using support::Communicator;

/// Does partition.splitter matter to the method?
bool follows_a_tree(std::string_view method) {
  return method == "morton" || method == "hilbert" || method == "gensfc";
}

TEST(Runs, EveryPartitionerLeavesTheBitsOfNever) {
  const Communicator world = Communicator::world();
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  for (const int set : {1, 6}) {
    int number = set;  // the other weights in the other set
    const Result expected = run(self, random_config(set), {.policy = "never"});
    for (const auto& entry : partitioners::partitioner_registry()) {
      if (tests::left_out(entry.name)) continue;
      for (const char* splitter : {"octree", "midpoint", "median"}) {
        if (std::string(splitter) != "octree" && !follows_a_tree(entry.name)) continue;
        const bool by_level = ++number % 2 == 0;
        const Way way{.overlap = true,
                      .method = std::string(entry.name),
                      .policy = "every",
                      .weights = by_level ? "level" : "uniform",
                      .splitter = splitter,
                      .slices = by_level ? "exact" : "midpoint"};
        SCOPED_TRACE("set " + std::to_string(set) + ", " + name_of(way));
        const Result result = run(world, random_config(set), way);
        EXPECT_EQ(result.mesh, expected.mesh);
        EXPECT_EQ(result.history, expected.history);
        EXPECT_EQ(result.fields, expected.fields);
        EXPECT_EQ(result.sums, expected.sums);
        EXPECT_TRUE(result == expected);
      }
    }
  }
}

TEST(Runs, EveryPolicyLeavesTheBitsOfNever) {
  const Communicator world = Communicator::world();
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  for (const int set : {2, 5}) {
    const Result expected = run(self, random_config(set), {.policy = "never"});
    for (const PolicyEntry& entry : policy_registry()) {
      const Way way{.policy = std::string(entry.name),
                    .weights = set == 2 ? "level" : "uniform",
                    .slices = set == 2 && entry.name != "feedback" ? "exact" : "midpoint"};
      SCOPED_TRACE("set " + std::to_string(set) + ", " + name_of(way));
      const Result result = run(world, random_config(set), way);
      EXPECT_EQ(result.history, expected.history);
      EXPECT_TRUE(result == expected);
    }
  }
}

/// Answers in turn by what it is told to, and keeps what it heard.
class Scripted final : public Policy {
 public:
  struct Log {
    std::vector<Outcome> outcomes;
    int asked = 0;
    int predicted = 0;
  };
  Scripted(Action action, Log& log) : action_(action), log_(log) {}
  Action decide(const History& history, const Load& load) const override {
    ++log_.asked;
    log_.predicted += load.predicted ? 1 : 0;
    EXPECT_EQ(history.rank_seconds.size(), std::size_t(Communicator::world().size()));
    EXPECT_EQ(history.outcomes.size(), log_.outcomes.size());
    return load.is_even() ? Action::leave : action_;
  }
  void observe(const Outcome& outcome) override { log_.outcomes.push_back(outcome); }

 private:
  Action action_;
  Log& log_;
};

/// A number that differs between ranks when any of its parts does.
void expect_same_everywhere(const Communicator& world, double value) {
  EXPECT_EQ(support::broadcast(world, value), value);
}

TEST(Runs, PoliciesSeeWhatHappenedAndAllRanksAgree) {
  const Communicator world = Communicator::world();
  for (const Action action : {Action::leave, Action::incremental, Action::full}) {
    SCOPED_TRACE(std::string(action_name(action)));
    auto config = random_config(3);
    config.run.refine_every = 1;
    Scripted::Log log;
    Balancer balancer(std::make_unique<Scripted>(action, log), make_cost_model({}), config.partition);
    support::Metrics metrics;
    workloads::Averages workload(config);
    amr::Simulation simulation(world, config, make_key_space<3>(config.mesh, config.partition), workload, balancer,
                               metrics);
    simulation.run([](std::int64_t, double, const amr::RunTotals&) {});
    const History& history = balancer.history();
    ASSERT_GT(history.segments.size(), 2U);
    EXPECT_EQ(history.outcomes.size(), history.segments.size() - 1);
    EXPECT_EQ(log.outcomes.size(), history.outcomes.size());
    EXPECT_GT(log.predicted, 0);
    EXPECT_GT(log.asked, log.predicted);
    ASSERT_EQ(history.rank_seconds.size(), std::size_t(world.size()));
    EXPECT_EQ(history.segments.front().stages, 0);
    EXPECT_EQ(history.segments.front().step, 0);
    EXPECT_GE(history.segments[1].step, 1);
    EXPECT_EQ(history.segments[1].stages, history.segments[1].step * config.run.stages_per_step);
    EXPECT_EQ(history.segments.front().seconds_max, 0.0);
    EXPECT_GT(history.segments.back().seconds_max, 0.0);
    EXPECT_GE(history.segments.back().seconds_max, history.segments.back().seconds_mean);
    std::int64_t stages = 0, blocks = 0, bytes = 0;
    for (const Segment& segment : history.segments) {
      stages += segment.stages;
      expect_same_everywhere(world, segment.seconds_max);
      expect_same_everywhere(world, segment.seconds_mean);
    }
    EXPECT_LE(stages, simulation.totals().stages);
    EXPECT_GT(stages, 0);
    for (const Outcome& outcome : log.outcomes) {
      blocks += outcome.blocks;
      bytes += outcome.bytes;
      expect_same_everywhere(world, outcome.seconds);
      if (outcome.action == Action::leave) {
        EXPECT_EQ(outcome.cuts_ahead + outcome.cuts_after, 0);
      }
      EXPECT_TRUE(outcome.action == Action::leave || outcome.action == action);
      EXPECT_EQ(outcome.seconds > 0.0, outcome.has_cut());
    }
    const BalanceTotals totals = balancer.totals(world);
    EXPECT_LE(blocks, totals.blocks_migrated);
    EXPECT_LE(bytes, totals.bytes_migrated);
    if (action == Action::leave || world.size() == 1) {
      EXPECT_EQ(totals.rebalances, 0);
    } else {
      EXPECT_GT(totals.rebalances, 0);
      EXPECT_GT(blocks, 0);
    }
    expect_same_everywhere(world, totals.imbalance_max);
  }
}

/// Answers otherwise ahead of changes than after them.
class Fickle final : public Policy {
 public:
  Action decide(const History& /*history*/, const Load& load) const override {
    if (load.is_even()) return Action::leave;
    return load.predicted ? Action::incremental : Action::full;
  }
};

/// A weight stays with its block once it is drawn; a lost one is 1 again.
class Remembering final : public CostModel {
 public:
  explicit Remembering(std::vector<double>& seconds) : seconds_(seconds) {}
  void weigh(BlockTable& table) const override {
    seconds_.push_back(table.seconds);
    for (std::size_t i = 0; i < table.size(); ++i) {
      ones_ += table.weight[i] == 1.0 ? 1 : 0;
      if (table.weight[i] == 1.0) table.weight[i] = 2.0 + static_cast<double>(support::mix64(table.key[i]) % 8);
    }
  }
  bool remembers() const override { return true; }
  [[nodiscard]] std::int64_t ones() const { return ones_; }

 private:
  std::vector<double>& seconds_;
  mutable std::int64_t ones_ = 0;
};

TEST(Runs, WeightsAreKeptWithTheirBlocksAndOneDecisionHolds) {
  const Communicator world = Communicator::world();
  auto config = random_config(3);
  config.run.refine_every = 1;
  std::vector<double> seconds;
  auto model = std::make_unique<Remembering>(seconds);
  const Remembering& remembering = *model;
  Balancer balancer(std::make_unique<Fickle>(), std::move(model), config.partition);
  support::Metrics metrics;
  workloads::Averages workload(config);
  amr::Simulation simulation(world, config, make_key_space<3>(config.mesh, config.partition), workload, balancer,
                             metrics);
  const std::int64_t roots = simulation.mesh().global_size();
  simulation.run([&](std::int64_t, double, const amr::RunTotals&) {
    const auto weights = simulation.mesh().weights();
    ASSERT_EQ(weights.size(), simulation.mesh().keys().size());
    for (const double w : weights) {
      EXPECT_GE(w, 2.0);
      EXPECT_LE(w, 9.0);
    }
  });
  // Only the root blocks were ever drawn: all others inherit.
  EXPECT_EQ(support::all_sum(world, remembering.ones()), roots);
  EXPECT_GT(simulation.totals().blocks_split, 0);
  EXPECT_GT(std::count_if(seconds.begin(), seconds.end(), [](double s) { return s > 0.0; }), 0);
  bool ahead = false;
  for (const Outcome& outcome : balancer.history().outcomes) {
    ahead = ahead || (outcome.cuts_ahead > 0 && outcome.cuts_after > 0);
    if (outcome.cuts_ahead > 0) {
      EXPECT_EQ(outcome.action, Action::incremental);
    }
  }
  EXPECT_TRUE(ahead || world.size() == 1);
}

/// Weighs blocks by where they are: the half of low x ten times as much as the other.
class HalfDomain final : public CostModel {
 public:
  void weigh(BlockTable& table) const override {
    for (std::size_t i = 0; i < table.size(); ++i)
      table.weight[i] = table.centre[3 * i] < 0.5 * table.extent(0) ? 10.0 : 1.0;
  }
};

TEST(Runs, AModelByRegionShiftsTheCuts) {
  const Communicator world = Communicator::world();
  amr::Mesh<3> mesh(world, {sfc::Curve::morton, {8, 4, 4}, 0});
  amr::FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
  fields.reset(mesh.size());
  Balancer balancer(make_policy({}), std::make_unique<HalfDomain>(), {});
  support::Metrics metrics;
  balancer.begin({});
  balancer.rebalance(mesh, fields, metrics);
  double mine = 0.0;
  for (std::int32_t i = 0; i < mesh.size(); ++i) mine += mesh.coord(i)[0] < 4 ? 10.0 : 1.0;
  const double most = support::all_max(world, mine), total = support::all_sum(world, mine);
  EXPECT_EQ(total, 64 * 10.0 + 64);
  EXPECT_LE(most, total / world.size() + 10.0);
}

/// Gives weights that mean nothing.
class Broken final : public CostModel {
 public:
  void weigh(BlockTable& table) const override { std::fill(table.weight.begin(), table.weight.end(), -1.0); }
};

TEST(Runs, WeightsThatAreNoneAreRefusedOnEveryRank) {
  const Communicator world = Communicator::world();
  amr::Mesh<3> mesh(world, {sfc::Curve::morton, {4, 4, 4}, 0});
  amr::FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
  fields.reset(mesh.size());
  Balancer balancer(make_policy({}), std::make_unique<Broken>(), {});
  support::Metrics metrics;
  EXPECT_THROW(balancer.rebalance(mesh, fields, metrics), support::RunError);
}

TEST(Runs, BlocksThatWeighTheSameCostOneExchangeADecision) {
  const Communicator world = Communicator::world();
  amr::Mesh<3> mesh(world, {sfc::Curve::morton, {4, 4, 4}, 1});
  amr::FieldStore fields(kernels::make_layout({2, 2, 2}, 1));
  fields.reset(mesh.size());
  Balancer balancer(BalanceConfig{"never"});
  support::Metrics metrics;
  std::vector<amr::Change> changes(mesh.size(), amr::Change::stay);
  balancer.begin({});
  collectives = 0;
  EXPECT_FALSE(balancer.rebalance_ahead(mesh, fields, changes, metrics));
  EXPECT_EQ(collectives, 1);
  EXPECT_FALSE(balancer.rebalance(mesh, fields, metrics));
  EXPECT_EQ(collectives, 1);
  // The cuts of a weighted slicing are two more.
  BlockTable table;
  fill_block_table(mesh, {}, table);
  collectives = 0;
  EXPECT_FALSE(Placement({}).slice(world, table, world.size(), 1.0).cuts.empty());
  const int of_cuts = world.size() > 1 ? 2 : 0;
  EXPECT_EQ(collectives, of_cuts);
  EXPECT_FALSE(Placement({}).slice_evenly(world, mesh.global_size(), {}, world.size()).cuts.empty());
  EXPECT_EQ(collectives, of_cuts);
}

}  // namespace
}  // namespace amrbench::loadbalance
