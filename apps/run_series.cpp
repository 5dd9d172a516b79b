#include "apps/run_series.hpp"

#include <algorithm>
#include <span>
#include <utility>

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

void RunSeries::observe(const amr::RunTotals& totals, const loadbalance::Balancer& balancer,
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

}  // namespace amrbench::apps
