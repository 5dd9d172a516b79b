#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "loadbalance/cost_policies.hpp"
#include "loadbalance/feedback_policy.hpp"
#include "loadbalance/outlook_policies.hpp"
#include "loadbalance/policy.hpp"
#include "support/registry.hpp"

namespace amrbench::loadbalance {

namespace {

class Never final : public Policy {
 public:
  explicit Never(const BalanceConfig& /*config*/) {}
  [[nodiscard]] Action decide(const History& /*history*/, const Load& /*load*/) const override { return Action::leave; }
};

class Every final : public Policy {
 public:
  explicit Every(const BalanceConfig& /*config*/) {}
  [[nodiscard]] Action decide(const History& /*history*/, const Load& load) const override {
    return load.is_even() ? Action::leave : Action::full;
  }
};

class EveryN final : public Policy {
 public:
  explicit EveryN(const BalanceConfig& config) : every_(static_cast<std::size_t>(config.every)) {}
  [[nodiscard]] Action decide(const History& history, const Load& load) const override {
    return load.is_even() || history.outcomes.size() % every_ != 0 ? Action::leave : Action::full;
  }

 private:
  std::size_t every_;
};

class Threshold final : public Policy {
 public:
  explicit Threshold(const BalanceConfig& config) : threshold_(config.threshold) {}
  [[nodiscard]] Action decide(const History& /*history*/, const Load& load) const override {
    return load.is_even() || load.spread() <= threshold_ ? Action::leave : Action::full;
  }

 private:
  double threshold_;
};

template <class P>
std::unique_ptr<Policy> make_policy_of(const BalanceConfig& config) {
  return std::make_unique<P>(config);
}

}  // namespace

std::span<const PolicyEntry> policy_registry() {
  static constexpr std::array entries{
      PolicyEntry{"every", "rebalance after each refinement that left ranks more than one block apart",
                  make_policy_of<Every>},
      PolicyEntry{"every_n",
                  "the same at the first refinement that changed the mesh and each balance.every-th after it",
                  make_policy_of<EveryN>},
      PolicyEntry{"threshold", "rebalance when (max - min) / mean of the ranks' loads exceeds balance.threshold",
                  make_policy_of<Threshold>},
      PolicyEntry{"amortized", "rebalance when the slowest rank has lost what a cut costs since the last (measured)",
                  make_amortized},
      PolicyEntry{"menon", "rebalance when ranks have waited for the slowest as long as a cut takes (measured)",
                  make_menon},
      PolicyEntry{"menon_baseline", "the same above what they waited right after the last cut", make_menon_baseline},
      PolicyEntry{"boulmier", "rebalance when the mean loss a segment, cost of the cut included, is least (measured)",
                  make_boulmier},
      PolicyEntry{"anticipate", "rebalance when what a cut would have saved since the last comes to what it costs",
                  make_anticipate},
      PolicyEntry{"auto",
                  "rebalance when the loss a segment reaches that of the best rhythm of cuts and steps are left",
                  make_auto},
      PolicyEntry{"feedback", "slice by shares of the ranks that follow their idle time (measured)", make_feedback},
      PolicyEntry{"never", "leave blocks where refinement made them", make_policy_of<Never>},
  };
  return entries;
}

std::unique_ptr<Policy> make_policy(const BalanceConfig& config) {
  return support::find_entry(policy_registry(), config.policy, "balance.policy").make(config);
}

std::string_view action_name(Action action) {
  constexpr std::array<std::string_view, 3> kNames{"leave", "incremental", "full"};
  return kNames.at(static_cast<std::size_t>(action));
}

nlohmann::ordered_json Policy::save() const {
  return nullptr;
}

Load measure(std::span<const double> loads_of_ranks, std::span<const double> shares) {
  Load load;
  if (loads_of_ranks.empty()) return load;
  std::vector<double> loads(loads_of_ranks.begin(), loads_of_ranks.end());
  for (std::size_t r = 0; r < shares.size(); ++r) loads[r] /= shares[r] * static_cast<double>(loads.size());
  const auto [low, high] = std::minmax_element(loads.begin(), loads.end());
  double total = 0.0;
  for (const double l : loads) total += l;
  load.min = *low;
  load.max = *high;
  load.mean = total / static_cast<double>(loads.size());
  return load;
}

}  // namespace amrbench::loadbalance
