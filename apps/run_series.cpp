#include "apps/run_series.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "amr/checkpoint/run_state.hpp"

namespace amrbench::apps {

namespace {

using support::Phase;

/// `row` comes to stand for what `next` tells, too.
void merge(SeriesRow& row, SeriesRow next) {
  next.refinements += row.refinements;
  next.decision.action = std::max(next.decision.action, row.decision.action);
  next.decision.imbalance = std::max(next.decision.imbalance, row.decision.imbalance);
  next.decision.imbalance_after = std::max(next.decision.imbalance_after, row.decision.imbalance_after);
  next.blocks_migrated += row.blocks_migrated;
  next.stage_s += row.stage_s;
  next.refine_s += row.refine_s;
  next.balance_s += row.balance_s;
  row = std::move(next);
}

double since(double now, double& before) {
  return now - std::exchange(before, now);
}

}  // namespace

void RunSeries::add(SeriesRow row) {
  if (!rows_.empty() && rows_.back().refinements < stride_)
    merge(rows_.back(), std::move(row));
  else
    rows_.push_back(std::move(row));
  if (rows_.size() < kMost || rows_.back().refinements < stride_) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) {
    merge(rows_[2 * i], std::move(rows_[2 * i + 1]));
    if (i > 0) rows_[i] = std::move(rows_[2 * i]);
  }
  rows_.resize(kMost / 2);
  stride_ *= 2;
}

void RunSeries::observe(const amr::RunTotals& totals, const loadbalance::BalancerState& balancer,
                        const support::Metrics& metrics) {
  if (totals.refine_steps == refinements_) return;
  refinements_ = totals.refine_steps;
  SeriesRow row;
  row.step = totals.steps;
  row.blocks = totals.blocks;
  row.blocks_by_level = totals.blocks_by_level;
  row.decision = balancer.last_decision();
  row.blocks_migrated = balancer.blocks_sent() - std::exchange(sent_, balancer.blocks_sent());
  row.stage_s = since(metrics.seconds(Phase::stencil) + metrics.seconds(Phase::halo), stage_s_);
  row.refine_s = since(metrics.seconds(Phase::refine), refine_s_);
  row.balance_s = since(metrics.seconds(Phase::balance) + metrics.seconds(Phase::migrate), balance_s_);
  add(std::move(row));
}

std::vector<SeriesRow> RunSeries::reduce(const support::Communicator& comm) const {
  std::vector<SeriesRow> rows = rows_;
  std::vector<std::int64_t> blocks;
  std::vector<double> seconds;
  for (const SeriesRow& row : rows) {
    blocks.push_back(row.blocks_migrated);
    seconds.insert(seconds.end(), {row.stage_s, row.refine_s, row.balance_s});
  }
  support::all_sum(comm, std::span(blocks));
  support::all_max(comm, std::span(seconds));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].blocks_migrated = blocks[i];
    rows[i].stage_s = seconds[3 * i];
    rows[i].refine_s = seconds[3 * i + 1];
    rows[i].balance_s = seconds[3 * i + 2];
  }
  return rows;
}

nlohmann::ordered_json RunSeries::save(const support::Communicator& comm) const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SeriesRow& r : reduce(comm))
    rows.push_back({r.step, r.refinements, r.blocks, r.blocks_by_level, static_cast<int>(r.decision.action),
                    r.decision.imbalance, r.decision.imbalance_after, r.blocks_migrated, r.stage_s, r.refine_s,
                    r.balance_s});
  return {{"stride", stride_}, {"refinements", refinements_}, {"rows", rows}};
}

void RunSeries::load(const nlohmann::ordered_json& saved, const loadbalance::BalancerState& balancer, bool is_first) {
  stride_ = amr::whole_number(saved.at("stride"));
  refinements_ = amr::whole_number(saved.at("refinements"));
  sent_ = balancer.blocks_sent();
  if (stride_ < 1 || saved.at("rows").size() > kMost) throw std::runtime_error("no series");
  for (const auto& r : saved.at("rows")) {
    SeriesRow row;
    row.step = amr::whole_number(r.at(0));
    row.refinements = amr::whole_number(r.at(1));
    row.blocks = amr::whole_number(r.at(2));
    for (const auto& count : r.at(3)) row.blocks_by_level.push_back(amr::whole_number(count));
    const auto last = static_cast<std::int64_t>(loadbalance::Action::full);
    row.decision = {static_cast<loadbalance::Action>(amr::whole_number(r.at(4), 0, last)), r.at(5).get<double>(),
                    r.at(6).get<double>()};
    row.blocks_migrated = is_first ? amr::whole_number(r.at(7)) : 0;
    row.stage_s = r.at(8).get<double>();
    row.refine_s = r.at(9).get<double>();
    row.balance_s = r.at(10).get<double>();
    rows_.push_back(std::move(row));
  }
}

}  // namespace amrbench::apps
