// What balancing keeps from refinement to refinement, as JSON for checkpoints (docs/checkpoints.md).
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "amr/checkpoint/run_state.hpp"
#include "loadbalance/balancer.hpp"

namespace amrbench::loadbalance {

namespace {

using Json = nlohmann::ordered_json;

// Histories are long and their entries many: arrays without names.

Json segment_to_json(const Segment& s) {
  return {s.step, s.stages, s.seconds_max, s.seconds_mean};
}

Segment segment_from(const Json& json) {
  return {amr::whole_number(json.at(0)), amr::whole_number(json.at(1)), json.at(2).get<double>(),
          json.at(3).get<double>()};
}

Action action_from(const Json& json) {
  return static_cast<Action>(amr::whole_number(json, 0, static_cast<std::int64_t>(Action::full)));
}

int cuts_from(const Json& json) {
  return static_cast<int>(amr::whole_number(json, 0, std::numeric_limits<int>::max() / 2));
}

Json outcome_to_json(const Outcome& o) {
  return {static_cast<int>(o.action), o.cuts_ahead,   o.cuts_after, o.blocks, o.bytes, o.seconds, o.load_mean,
          o.curable_before,           o.curable_after};
}

Outcome outcome_from(const Json& json) {
  return {action_from(json.at(0)),       cuts_from(json.at(1)),         cuts_from(json.at(2)),
          amr::whole_number(json.at(3)), amr::whole_number(json.at(4)), json.at(5).get<double>(),
          json.at(6).get<double>(),      json.at(7).get<double>(),      json.at(8).get<double>()};
}

Json totals_to_json(const BalanceTotals& t) {
  return {{"rebalances", t.rebalances},
          {"blocks_migrated", t.blocks_migrated},
          {"bytes_migrated", t.bytes_migrated},
          {"bytes_migrated_least", t.bytes_migrated_least},
          {"imbalance_sum", t.imbalance_sum},
          {"imbalance_max", t.imbalance_max},
          {"decisions", t.decisions}};
}

BalanceTotals totals_from(const Json& json) {
  BalanceTotals t;
  t.rebalances = amr::whole_number(json.at("rebalances"));
  t.blocks_migrated = amr::whole_number(json.at("blocks_migrated"));
  t.bytes_migrated = amr::whole_number(json.at("bytes_migrated"));
  t.bytes_migrated_least = amr::whole_number(json.at("bytes_migrated_least"));
  t.imbalance_sum = json.at("imbalance_sum").get<double>();
  t.imbalance_max = json.at("imbalance_max").get<double>();
  t.decisions = amr::whole_number(json.at("decisions"));
  return t;
}

}  // namespace

Json Decider::save(const support::Communicator& comm, double cost) const {
  std::array<std::int64_t, 4> counts{totals_.blocks_migrated, totals_.bytes_migrated, outcome_.blocks, outcome_.bytes};
  support::all_sum(comm, std::span<std::int64_t>(counts));
  BalanceTotals totals = totals_;
  totals.blocks_migrated = counts[0];
  totals.bytes_migrated = counts[1];
  Outcome outcome = outcome_;
  outcome.blocks = counts[2];
  outcome.bytes = counts[3];
  outcome.seconds = support::all_max(comm, cost);
  Json segments = Json::array(), outcomes = Json::array();
  for (const Segment& s : history_.segments) segments.push_back(segment_to_json(s));
  for (const Outcome& o : history_.outcomes) outcomes.push_back(outcome_to_json(o));
  return {{"totals", totals_to_json(totals)},
          {"last", {static_cast<int>(last_.action), last_.imbalance, last_.imbalance_after}},
          {"policy", policy_->save()},
          {"segments", segments},
          {"outcomes", outcomes},
          {"rank_seconds", history_.rank_seconds},
          {"outcome", outcome_to_json(outcome)},
          {"outcome_is_over", is_over_}};
}

double Decider::load(const Json& saved, const support::Communicator& comm, bool keeps_history, std::int64_t stages) {
  const bool is_first = comm.is_root();
  totals_ = totals_from(saved.at("totals"));
  if (!is_first) totals_.blocks_migrated = totals_.bytes_migrated = 0;
  const Json& last = saved.at("last");
  last_ = {action_from(last.at(0)), last.at(1).get<double>(), last.at(2).get<double>()};
  stages_ = stages_before_ = stages;
  if (!keeps_history) return 0.0;
  if (const Json& policy = saved.at("policy"); !policy.is_null()) policy_->load(policy);
  for (const Json& s : saved.at("segments")) history_.segments.push_back(segment_from(s));
  for (const Json& o : saved.at("outcomes")) history_.outcomes.push_back(outcome_from(o));
  history_.rank_seconds = saved.at("rank_seconds").get<std::vector<double>>();
  outcome_ = outcome_from(saved.at("outcome"));
  is_over_ = saved.at("outcome_is_over").get<bool>();
  // A number a rank, or none yet.
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (const std::size_t numbers : {history_.rank_seconds.size(), policy_->rank_shares().size()})
    if (numbers != 0 && numbers != ranks) throw std::runtime_error("numbers of other ranks");
  // Policies go by it: outcome i led to segment i + 1.
  const bool has_outcomes = is_over_ || !history_.outcomes.empty();
  if (has_outcomes && history_.segments.size() < history_.outcomes.size() + 1)
    throw std::runtime_error("outcomes without segments");
  if (!is_first) outcome_.blocks = outcome_.bytes = 0;
  const double cost = outcome_.seconds;
  outcome_.seconds = 0.0;
  return cost;
}

Json BalancerState::save(const support::Communicator& comm) const {
  Json json = decider_.save(comm, cost_);
  json["has_learnt"] = model_->has_learnt();
  return json;
}

void BalancerState::load(const Json& saved, const support::Communicator& comm, bool keeps_history,
                         std::int64_t stages) {
  cost_ = decider_.load(saved, comm, keeps_history, stages);
  model_->resume(saved.at("has_learnt").get<bool>());
  stages_ = stages_learnt_ = stages;
}

}  // namespace amrbench::loadbalance
