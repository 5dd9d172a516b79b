// Policies on five small models of how loads grow apart, beside the best schedule of each.
//
// A model has 400 segments. In segment t, k segments after the last cut, ranks lose u(t, k) seconds that a cut cures
// and v(t) seconds that none does; a cut costs 5 s. The best schedule is a shortest path. Regret is measured on what
// policies can do about: losses that a cut cures, and cuts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "loadbalance/decider.hpp"

namespace amrbench::loadbalance {
namespace {

constexpr int kSegments = 400;
constexpr double kCost = 5.0, kMean = 10.0;

struct Model {
  const char* name;
  std::function<double(int, int)> curable;  ///< of segment t, when the last cut was before segment `cut`
  std::function<double(int)> incurable;
};

std::vector<Model> models() {
  const auto none = [](int) { return 0.0; };
  const auto linear = [](int t, int cut) { return 0.02 * (t - cut); };
  const auto steps = [](int every, double height) {
    return [=](int t, int cut) {
      const int jumps = t / every - cut / every;
      return height * jumps;
    };
  };
  return {{"linear", linear, none},
          {"linear and incurable", linear, [](int) { return 0.5; }},
          {"incurable", [](int, int) { return 0.0; }, [](int) { return 0.5; }},
          {"one step", [](int t, int cut) { return t >= 150 && cut < 150 ? 0.5 : 0.0; }, none},
          {"repeated steps", steps(40, 0.6), none}};
}

double best(const Model& model) {
  std::vector<double> least(kSegments + 1, std::numeric_limits<double>::infinity());
  least[0] = 0.0;  // cut before segment 0, as given
  for (int cut = 0; cut < kSegments; ++cut) {
    double sum = 0.0;
    for (int t = cut; t < kSegments; ++t) {
      sum += model.curable(t, cut);
      const double after = t + 1 < kSegments ? kCost : 0.0;
      least[static_cast<std::size_t>(t) + 1] =
          std::min(least[static_cast<std::size_t>(t) + 1], least[static_cast<std::size_t>(cut)] + sum + after);
    }
  }
  return least[kSegments];
}

/// Two ranks; loads are seconds of a stage, and segments have one. What a cut costs is known from the start.
double follow(const Model& model, const std::string& policy) {
  BalanceConfig config;
  config.policy = policy;
  Decider decider(make_policy(config));
  double lost = 0.0, cost = 0.0;
  int cut = 0;
  const auto load_of = [&](int t) {
    Load load;
    load.mean = kMean;
    load.max = kMean + model.curable(t, cut) + model.incurable(t);
    load.min = 2.0 * kMean - load.max;
    load.heaviest = 1e-6;
    load.outlook = Outlook{kMean + model.incurable(t), 100};
    return load;
  };
  const auto refine = [&](int t, double seconds_max) {
    decider.begin({t, kSegments, t});
    const RankReport reports[2] = {{seconds_max, cost, 100, 0}, {2.0 * kMean - seconds_max, 0.0, 0, 0}};
    decider.learn(t > 0 ? std::span(reports) : std::span(reports).first(2));
    cost = 0.0;
    const Load load = load_of(t);
    const bool cuts = decider.ask(load) != Action::leave || t == 0;
    if (cuts) {
      decider.moved(false, {.blocks = 100});
      cut = t;
      cost = kCost;
      lost += t > 0 ? kCost : 0.0;
    }
    decider.conclude(load_of(t));
  };
  double before = 0.0;
  for (int t = 0; t < kSegments; ++t) {
    refine(t, before);
    lost += model.curable(t, cut);
    before = load_of(t).max;
  }
  return lost;
}

TEST(PolicyModels, AutoIsNearTheBestScheduleAndNoneIsBelowIt) {
  std::map<std::string, std::map<std::string, double>> table;
  for (const Model& model : models()) {
    const double least = best(model);
    for (const PolicyEntry& entry : policy_registry()) {
      const double lost = follow(model, std::string(entry.name));
      EXPECT_GE(lost, least - 1e-9) << entry.name << ", " << model.name;
      table[std::string(entry.name)][model.name] = least > 0.0 ? lost / least - 1.0 : lost / kCost;
    }
  }
  std::printf("%-16s", "regret, percent");
  for (const Model& model : models()) std::printf(" %20s", model.name);
  for (const auto& [policy, row] : table) {
    std::printf("\n%-16s", policy.c_str());
    for (const Model& model : models()) std::printf(" %20.1f", 100.0 * row.at(model.name));
  }
  std::printf("\n");
  for (const Model& model : models()) EXPECT_LE(table["auto"][model.name], 0.1) << model.name;
}

}  // namespace
}  // namespace amrbench::loadbalance
