#include "loadbalance/decider.hpp"

#include <algorithm>

#include "support/error.hpp"

namespace amrbench::loadbalance {

void check_shares(const Decider& decider, const PartitionConfig& partition) {
  if (decider.measures() && partition.slices == "exact")
    throw support::InputError(
        "partition.slices = \"exact\": balance.policy \"feedback\" gives ranks unequal shares; use \"midpoint\"");
}

void Decider::begin(const amr::RunPosition& position) {
  history_.step = position.step;
  history_.steps = position.steps;
  stages_ = position.stages;
  is_new_ = true;
  is_asked_ = false;
  last_ = {Action::leave, last_.imbalance_after, last_.imbalance_after};
}

void Decider::learn(std::span<const RankReport> reports) {
  Segment segment{history_.step, stages_ - stages_before_, 0.0, 0.0};
  history_.rank_seconds.clear();
  for (const RankReport& report : reports) {
    history_.rank_seconds.push_back(report.seconds);
    segment.seconds_max = std::max(segment.seconds_max, report.seconds);
    segment.seconds_mean += report.seconds / static_cast<double>(reports.size());
  }
  history_.segments.push_back(segment);
  if (is_over_) {
    outcome_.blocks = outcome_.bytes = 0;
    for (const RankReport& report : reports) {
      outcome_.blocks += report.blocks;
      outcome_.bytes += report.bytes;
      outcome_.seconds = std::max(outcome_.seconds, report.cost);
    }
    history_.outcomes.push_back(outcome_);
    policy_->observe(outcome_);
  }
  is_over_ = false;
  outcome_ = {};
  policy_->learn(history_);
  stages_before_ = stages_;
  is_new_ = false;
}

void Decider::forget_loads() {
  const auto forget = [](Outcome& o) { o.load_mean = o.curable_before = o.curable_after = 0.0; };
  std::for_each(history_.outcomes.begin(), history_.outcomes.end(), forget);
  forget(outcome_);
}

Action Decider::ask(const Load& load) {
  if (!is_asked_) last_.imbalance = load.imbalance();
  is_asked_ = true;
  const Action action = policy_->decide(history_, load);
  outcome_.curable_before = std::max(outcome_.curable_before, load.curable());
  if (outcome_.action == Action::leave) outcome_.action = action;
  return action == Action::leave ? action : outcome_.action;  // one decision, whatever else is answered later
}

Action Decider::ask_ahead(const Load& load) {
  const Action action = ask(load);
  return load.imbalance() < kWorthwhile ? Action::leave : action;
}

void Decider::moved(bool predicted, const amr::MigrationCount& count) {
  ++(predicted ? outcome_.cuts_ahead : outcome_.cuts_after);
  outcome_.blocks += count.blocks;
  outcome_.bytes += count.bytes;
  ++totals_.rebalances;
  totals_.blocks_migrated += count.blocks;
  totals_.bytes_migrated += count.bytes;
  totals_.bytes_migrated_least += count.bytes_least;
}

void Decider::conclude(const Load& load) {
  totals_.imbalance_sum += load.imbalance();
  totals_.imbalance_max = std::max(totals_.imbalance_max, load.imbalance());
  ++totals_.decisions;
  last_.imbalance_after = load.imbalance();
  if (outcome_.has_cut()) last_.action = outcome_.action;
  outcome_.load_mean = load.mean;
  outcome_.curable_after = load.curable();
  is_over_ = true;
}

}  // namespace amrbench::loadbalance
