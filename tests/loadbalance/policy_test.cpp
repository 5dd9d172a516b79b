// Policies and cost models alone: no mesh, no ranks.
#include "loadbalance/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "loadbalance/cost_model.hpp"
#include "loadbalance/decider.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {
namespace {

Load load_of(const std::vector<double>& loads, double heaviest = 1.0) {
  Load load = measure(loads);
  load.heaviest = heaviest;
  return load;
}

TEST(Measure, FindsExtremesAndMean) {
  const Load load = load_of({3, 7, 2});
  EXPECT_EQ(load.min, 2);
  EXPECT_EQ(load.max, 7);
  EXPECT_EQ(load.mean, 4);
  EXPECT_DOUBLE_EQ(load.spread(), 5.0 / 4.0);
  EXPECT_DOUBLE_EQ(load.imbalance(), 0.75);
  const Load none = load_of({0, 0});
  EXPECT_EQ(none.spread(), 0.0);
  EXPECT_EQ(none.imbalance(), 0.0);
}

TEST(Policy, EveryLeavesWhatIsAsEvenAsBlocksAllow) {
  const auto policy = make_policy({"every"});
  EXPECT_EQ(policy->decide({}, load_of({4, 5, 4})), Action::leave);
  EXPECT_EQ(policy->decide({}, load_of({4, 6, 4})), Action::full);
  EXPECT_EQ(policy->decide({}, load_of({4, 12, 4}, 8.0)), Action::leave);  // one block of weight 8 apart
  EXPECT_EQ(policy->decide({}, load_of({4, 12.5, 4}, 8.0)), Action::full);
}

TEST(Policy, ThresholdComparesTheSpread) {
  const auto policy = make_policy({"threshold", 0.5});
  EXPECT_EQ(policy->decide({}, load_of({8, 10, 12})), Action::leave);  // 0.4
  EXPECT_EQ(policy->decide({}, load_of({9, 10, 14})), Action::leave);  // 5 / 11
  EXPECT_EQ(policy->decide({}, load_of({8, 10, 15})), Action::full);   // 7 / 11
  EXPECT_EQ(policy->decide({}, load_of({1, 2})), Action::leave);       // 2/3, but one block apart
  EXPECT_EQ(make_policy({"threshold", 0.0})->decide({}, load_of({8, 10})), Action::full);
}

TEST(Policy, NeverLeaves) {
  EXPECT_EQ(make_policy({"never"})->decide({}, load_of({0, 100})), Action::leave);
}

/// A history whose last cut cost `cost` and whose segments since then took max and mean seconds.
History history_of(double cost, const std::vector<std::pair<double, double>>& segments, std::int64_t stages = 10) {
  History history;
  history.segments.push_back({0, 0, 0.0, 0.0});
  history.outcomes.push_back({Action::full, 0, 1, 5, 500, cost});
  for (const auto& [most, mean] : segments) {
    if (history.segments.size() > 1) history.outcomes.push_back({});
    history.segments.push_back({0, stages, most, mean});
  }
  return history;
}

/// How many segments of a loss go by until the policy cuts; 0 = never within 40.
template <class Loss>
int fires_after(const char* policy, double cost, Loss&& loss) {
  std::vector<std::pair<double, double>> segments;
  for (int t = 1; t <= 40; ++t) {
    segments.push_back(loss(t));
    if (make_policy({policy})->decide(history_of(cost, segments), load_of({4, 9})) != Action::leave) return t;
  }
  return 0;
}

TEST(CostPolicies, CutWhenTheLossComesToTheCost) {
  const auto linear = [](int t) { return std::pair(2.0 + 0.125 * (t - 1), 1.0); };  // 1 second is lost whatever is done
  EXPECT_EQ(fires_after("amortized", 1.25, linear), 5);                             // 0.125 * (0 + 1 + 2 + 3 + 4)
  EXPECT_EQ(fires_after("menon", 1.25, linear), 2);                                 // 1 + 1.125
  EXPECT_EQ(fires_after("menon_baseline", 1.25, linear), 5);                        // as amortized where the mean stays
  EXPECT_EQ(fires_after("boulmier", 1.25, linear), 5);                              // 0.125 * (5 * 4 - 10)
  const auto step = [](int t) { return std::pair(t < 4 ? 1.0 : 2.0, 1.0); };
  EXPECT_EQ(fires_after("boulmier", 2.5, step), 4);        // 4 * 1 - 1
  EXPECT_EQ(fires_after("menon_baseline", 2.5, step), 6);  // 1 + 1 + 1
  const auto incurable = [](int) { return std::pair(3.0, 1.0); };
  EXPECT_EQ(fires_after("menon", 5.0, incurable), 3);
  for (const char* policy : {"amortized", "menon_baseline", "boulmier"})
    EXPECT_EQ(fires_after(policy, 5.0, incurable), 0) << policy;
  // All ranks grow alike: time rises, waiting does not.
  const auto growth = [](int t) { return std::pair(1.0 * t, 1.0 * t); };
  EXPECT_EQ(fires_after("amortized", 5.0, growth), 4);  // 1 + 2 + 3
  EXPECT_EQ(fires_after("menon", 5.0, growth), 0);
}

TEST(CostPolicies, MakeTheFirstCutAtOnceAndNoneWhereRanksAreEven) {
  for (const char* name : {"amortized", "menon", "menon_baseline", "boulmier"}) {
    const auto policy = make_policy({name});
    EXPECT_EQ(policy->decide({}, load_of({4, 9})), Action::full) << name;
    EXPECT_EQ(policy->decide({}, load_of({4, 5})), Action::leave) << name;
    // Stages, not segments, tell how long ranks worked.
    History history = history_of(1.0, {{1, 1}, {1, 1}});
    history.segments.push_back({0, 40, 4.0, 4.0});
    history.outcomes.push_back({});
    EXPECT_EQ(policy->decide(history, load_of({4, 9})), Action::leave) << name;
  }
}

TEST(Policy, EveryNCutsAtTheFirstRefinementAndCountsFromThere) {
  BalanceConfig config{"every_n"};
  for (const int every : {1, 2, 3, 5}) {
    config.every = every;
    const auto policy = make_policy(config);
    History history;
    for (int refinement = 0; refinement < 11; ++refinement) {
      EXPECT_EQ(policy->decide(history, load_of({4, 9})) == Action::full, refinement % every == 0)
          << "every " << every << ", refinement " << refinement;
      EXPECT_EQ(policy->decide(history, load_of({4, 5})), Action::leave) << "even";
      history.outcomes.push_back({});
    }
  }
}

TEST(Policy, AskingAgainGivesTheSameAnswer) {
  for (const PolicyEntry& entry : policy_registry()) {
    const auto policy = make_policy({std::string(entry.name), 0.2});
    for (const auto& loads : std::vector<std::vector<double>>{{1, 5}, {3, 3}, {0, 0}, {2, 9, 4}}) {
      const Action first = policy->decide({}, load_of(loads));
      EXPECT_EQ(policy->decide({}, load_of(loads)), first) << entry.name;
    }
  }
}

TEST(Registries, NameWhatThereIs) {
  for (const auto& [key, refused] :
       {std::pair{"balance.policy", +[] { make_policy({"sometimes"}); }},
        std::pair{"balance.weights", +[] { make_cost_model({.weights = "sometimes"}); }}}) {
    try {
      refused();
      FAIL() << "accepted";
    } catch (const support::InputError& error) {
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("sometimes"), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(action_name(Action::leave), "leave");
  EXPECT_EQ(action_name(Action::incremental), "incremental");
  EXPECT_EQ(action_name(Action::full), "full");
}

BlockTable table_of(std::vector<std::int8_t> levels) {
  BlockTable table;
  table.key.resize(levels.size());
  table.weight.assign(levels.size(), 42.0);
  table.share.assign(levels.size(), 1.0);
  table.level = std::move(levels);
  return table;
}

TEST(CostModel, UniformAndByLevel) {
  BlockTable table = table_of({0, 3, 1, 20});
  make_cost_model({.weights = "uniform"})->weigh(table);
  EXPECT_EQ(table.weight, (std::vector<double>{1, 1, 1, 1}));
  make_cost_model({.weights = "level"})->weigh(table);
  EXPECT_EQ(table.weight, (std::vector<double>{1, 8, 2, 1 << 20}));
  table.share = {8, 1, 0.125, 1};
  EXPECT_EQ(table.loads(), (std::vector<double>{8, 8, 0.25, 1 << 20}));
}

double hand = 0.0;

TEST(WorkSeconds, AreTheHostsWithoutWaitsOrTheGpus) {
  hand = 0.0;
  support::Metrics metrics([] { return hand; });
  {
    const support::PhaseTimer timer(metrics, support::Phase::halo);
    hand = 3.0;
  }
  {
    const support::PhaseTimer timer(metrics, support::Phase::stencil);
    hand = 7.0;
  }
  metrics.count("halo_wait_ns", 1'000'000'000);
  EXPECT_DOUBLE_EQ(work_seconds(metrics), 6.0);
  metrics.count_max("device_memory_bytes", 1);
  EXPECT_EQ(work_seconds(metrics), 0.0);  // a GPU's, of which nothing has come in yet
  metrics.count("device_stencil_ns", 250'000'000);
  metrics.count("device_faces_ns", 500'000'000);
  metrics.count("device_wait_ns", 9'000'000'000);
  EXPECT_DOUBLE_EQ(work_seconds(metrics), 0.75);
}

TEST(Feedback, SharesFollowIdleTime) {
  const auto policy = make_policy({.policy = "feedback", .sensitivity = 0.5});
  EXPECT_TRUE(policy->measures());
  EXPECT_TRUE(policy->rank_shares().empty());
  History history;
  history.segments = {{5, 10, 4.0, 2.0}};
  history.rank_seconds = {4.0, 1.0, 1.0, 2.0};
  policy->learn(history);
  const std::vector<double> shares(policy->rank_shares().begin(), policy->rank_shares().end());
  ASSERT_EQ(shares.size(), 4U);
  // share + e / ranks * (mean - seconds) / longest
  EXPECT_DOUBLE_EQ(shares[0], 0.25 - 0.125 * 0.5);
  EXPECT_DOUBLE_EQ(shares[1], 0.25 + 0.125 * 0.25);
  EXPECT_DOUBLE_EQ(shares[3], 0.25);
  // Loads count beside shares.
  const Load load = measure(std::vector<double>{3.0, 4.5, 4.5, 4.0}, shares);
  EXPECT_NEAR(load.max, 4.0, 1e-12);
  EXPECT_NEAR(load.min, 4.0, 1e-12);
  history.segments.push_back({6, 0, 0.0, 0.0});  // nothing was measured
  policy->learn(history);
  EXPECT_TRUE(std::equal(shares.begin(), shares.end(), policy->rank_shares().begin()));
}

TEST(Feedback, FindsTheSpeedOfRanks) {
  // Rank 1 is three times as slow; what a rank takes follows its share.
  const auto policy = make_policy({.policy = "feedback"});
  std::vector<double> shares(3, 1.0 / 3);
  History history;
  for (int k = 0; k < 60; ++k) {
    history.rank_seconds = {shares[0], 3.0 * shares[1], shares[2]};
    const auto& s = history.rank_seconds;
    history.segments.push_back({k, 10, *std::max_element(s.begin(), s.end()), (s[0] + s[1] + s[2]) / 3});
    policy->learn(history);
    shares.assign(policy->rank_shares().begin(), policy->rank_shares().end());
  }
  EXPECT_NEAR(shares[0], 3.0 / 7, 0.01);
  EXPECT_NEAR(shares[1], 1.0 / 7, 0.01);
}

TEST(MeasuredWeights, AreSecondsAStageSmoothed) {
  const auto model = make_cost_model({.weights = "measured"});
  EXPECT_TRUE(model->measures() && model->remembers() && !model->is_uniform());
  std::vector<double> weights{1.0, 1.0, 1.0};
  const std::vector<double> first{2.0, 4.0, 6.0}, second{4.0, 4.0, 2.0};
  model->learn(weights, {first, 99.0, 2});
  EXPECT_EQ(weights, (std::vector<double>{1.0, 2.0, 3.0}));
  model->learn(weights, {second, 99.0, 1});
  EXPECT_EQ(weights, (std::vector<double>{2.5, 3.0, 2.5}));
  // Where only the rank is measured, its seconds go by what blocks weighed.
  model->learn(weights, {{}, 16.0, 1});
  EXPECT_EQ(weights, (std::vector<double>{3.75, 4.5, 3.75}));
}

/// A load whose fullest rank a full cut brings from 20 to `full`, slicing to `sliced`; blocks that either moves.
Load curable_load(double full, std::int64_t blocks, double sliced, std::int64_t fewer) {
  Load load = measure(std::vector<double>{4.0, 20.0});
  load.outlook = Outlook{full, blocks};
  load.sliced = Outlook{sliced, fewer};
  return load;
}

TEST(Auto, SlicesWhereBlocksThatStaySaveMoreThanAFullCutWins) {
  // A unit of load takes 1 s in a segment; cuts cost 0.01 s a block; a cut at every second refinement so far.
  History history;
  history.segments.push_back({0, 0, 0.0, 0.0});
  for (int k = 1; k <= 8; ++k) {
    Outcome outcome;
    outcome.load_mean = 12.0;
    if (k % 2 == 1) {
      outcome.action = Action::full;
      outcome.cuts_after = 1;
      outcome.blocks = 100 * k;
      outcome.seconds = 1.0 * k;
    }
    history.outcomes.push_back(outcome);
    history.segments.push_back({k, 10, 12.0, 12.0});
  }
  history.step = 8;
  history.steps = 1000;
  const auto policy = make_policy({"auto"});
  EXPECT_EQ(policy->decide(history, curable_load(12.0, 500, 12.0, 20)), Action::incremental);
  EXPECT_EQ(policy->decide(history, curable_load(12.0, 500, 19.0, 20)), Action::full);   // leaves 7 s a segment
  EXPECT_EQ(policy->decide(history, curable_load(12.0, 100, 12.0, 100)), Action::full);  // saves nothing
  EXPECT_EQ(policy->decide(history, curable_load(20.0, 500, 20.0, 20)), Action::leave);  // cures nothing
  EXPECT_EQ(policy->decide(history, curable_load(20.0, 500, 12.0, 20)), Action::incremental);
  // The same load takes twice as long as after the last full cut: neighbours have become worse.
  history.segments.back().seconds_max = 24.0;
  EXPECT_EQ(policy->decide(history, curable_load(12.0, 500, 12.0, 20)), Action::full);
  // anticipate knows no slicing in place.
  EXPECT_EQ(make_policy({"anticipate"})->decide(history, curable_load(12.0, 500, 12.0, 20)), Action::full);
}

/// Two ranks, of which one has half as much again as the mean; a cut evens them and moves 50 blocks.
Load uneven(double mean) {
  Load load = measure(std::vector<double>{0.5 * mean, 1.5 * mean});
  load.heaviest = 1e-3 * mean;
  load.outlook = load.sliced = Outlook{mean, 50};
  return load;
}

TEST(Auto, ForgetsLoadsOfAnotherUnit) {
  // Blocks weigh 1 until their seconds are measured: 1000 of them a rank, then 1e-3 s.
  for (const bool forgets : {true, false}) {
    Decider decider(make_policy({"auto"}));
    decider.begin({0, 100, 0});
    decider.learn(std::vector<RankReport>(2));
    EXPECT_NE(decider.ask(uneven(1000.0)), Action::leave);  // nothing is known yet
    decider.moved(false, {50, 50, 50});
    decider.conclude(measure(std::vector<double>{1000.0, 1000.0}));
    decider.begin({5, 100, 100});
    if (forgets) decider.forget_loads();
    decider.learn(std::vector<RankReport>{{0.5, 0.01, 25, 25}, {1.5, 0.01, 25, 25}});
    // 0.5 s are lost in each of 19 segments, and a cut takes 0.01 s.
    EXPECT_EQ(decider.ask(uneven(1e-3)) != Action::leave, forgets);
  }
}

}  // namespace
}  // namespace amrbench::loadbalance
