#include "loadbalance/balancer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "loadbalance/block_graph.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

double spent_seconds(const support::Metrics& metrics) {
  return metrics.seconds(support::Phase::balance) + metrics.seconds(support::Phase::migrate);
}

/// Do the blocks lie by these cuts already? Not where there are none.
bool are_cuts_of(std::span<const std::int64_t> cuts, std::span<const std::int64_t> rank_sizes) {
  for (std::size_t r = 0; r < rank_sizes.size() && !cuts.empty(); ++r)
    if (cuts[r + 1] - cuts[r] != rank_sizes[r]) return false;
  return !cuts.empty();
}

}  // namespace

Balancer::Balancer(const BalanceConfig& config, const PartitionConfig& partition)
    : Balancer(make_policy(config), make_cost_model(config), partition) {}

Balancer::Balancer(std::unique_ptr<Policy> policy, std::unique_ptr<CostModel> model, const PartitionConfig& partition)
    : policy_(std::move(policy)), model_(std::move(model)), placement_(partition) {}

void Balancer::begin(const amr::RunPosition& position) {
  history_.step = position.step;
  history_.steps = position.steps;
  stages_ = position.stages;
  is_new_ = true;
}

Balancer::Share Balancer::share_of_table() const {
  double load = 0.0, block = 0.0, row = 0.0;
  bool bad = false;
#pragma omp parallel for schedule(static) reduction(+ : load) reduction(max : block, row) reduction(|| : bad)
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const double weight = table_.weight[i], all = weight * table_.share[i];
    bad = bad || !(weight >= 0.0 && std::isfinite(weight));
    load += all;
    block = std::max(block, weight);
    row = std::max(row, all);
  }
  Share share{};
  share.load = bad ? std::numeric_limits<double>::quiet_NaN() : load;
  share.heaviest_block = block;
  share.heaviest_row = row;
  return share;
}

/// The segment that ends now and the outcome of the refinement before.
void Balancer::remember(std::span<const Share> shares) {
  Segment segment{history_.step, stages_ - stages_before_, 0.0, 0.0};
  history_.rank_seconds.clear();
  for (const Share& share : shares) {
    history_.rank_seconds.push_back(share.seconds);
    segment.seconds_max = std::max(segment.seconds_max, share.seconds);
    segment.seconds_mean += share.seconds / static_cast<double>(shares.size());
  }
  history_.segments.push_back(segment);
  if (is_over_) {
    outcome_.blocks = outcome_.bytes = 0;
    for (const Share& share : shares) {
      outcome_.blocks += share.blocks;
      outcome_.bytes += share.bytes;
      outcome_.seconds = std::max(outcome_.seconds, share.cost);
    }
    history_.outcomes.push_back(outcome_);
    policy_->observe(outcome_);
  }
  is_over_ = false;
  outcome_ = {};
}

/// Fills the table, weighs it and exchanges loads. Collective.
Load Balancer::weigh(amr::Mesh<3>& mesh, std::span<const amr::Change> changes, bool predicted,
                     const support::Metrics& metrics) {
  const double worked = work_seconds(metrics), spent = spent_seconds(metrics);
  // A GPU's events may come in late: until the first have, its work is timed by the host.
  table_.seconds = is_new_ ? std::max(0.0, worked - worked_) : 0.0;
  fill_block_table(mesh, changes, table_);
  if (model_->needs_centres()) fill_centres(mesh, table_);
  model_->weigh(table_);
  if (model_->remembers()) mesh.set_weights(table_.weight);
  Share mine = share_of_table();
  mine.seconds = table_.seconds;
  mine.cost = spent - spent_;
  mine.blocks = outcome_.blocks;
  mine.bytes = outcome_.bytes;
  const std::vector<Share> shares = support::all_gather(mesh.comm(), mine);
  if (is_new_) {
    remember(shares);
    worked_ = worked;
    spent_ = spent;
    stages_before_ = stages_;
    is_new_ = false;
  }
  std::vector<double> loads;
  double heaviest_block = 0.0;
  heaviest_row_ = 0.0;
  for (const Share& share : shares) {
    if (std::isnan(share.load))
      throw support::RunError("balance.weights: the cost model gave a block of rank " + std::to_string(loads.size()) +
                              " a weight that is negative or not finite");
    // A family that merges may stand on several ranks before it does: whole blocks are compared.
    loads.push_back(model_->is_uniform() ? std::floor(share.load) : share.load);
    heaviest_block = std::max(heaviest_block, share.heaviest_block);
    heaviest_row_ = std::max(heaviest_row_, share.heaviest_row);
  }
  Load load = measure(loads);
  load.heaviest = heaviest_block;
  load.predicted = predicted;
  load.cuts = outcome_.cuts_ahead;
  return load;
}

/// Of the blocks as they are. Collective where blocks differ in weight, else local.
Load Balancer::present_load(amr::Mesh<3>& mesh, const support::Metrics& metrics) {
  if (!model_->is_uniform()) return weigh(mesh, {}, false, metrics);
  Load load = measure(std::vector<double>(mesh.rank_sizes().begin(), mesh.rank_sizes().end()));
  load.cuts = outcome_.cuts_ahead;
  return load;
}

Action Balancer::ask(const Load& load) {
  const Action action = policy_->decide(history_, load);
  if (outcome_.action == Action::leave) outcome_.action = action;
  return action == Action::leave ? action : outcome_.action;  // one decision, whatever else is answered later
}

/// The table must hold the blocks as they are; for blocks that weigh the same and follow the keys none is needed.
Destinations Balancer::destinations(const amr::Mesh<3>& mesh, Action action, const Load& load) {
  const support::Communicator& comm = mesh.comm();
  if (action == Action::incremental || placement_.follows_keys()) {
    if (model_->is_uniform() && !load.predicted) return Placement::slice_evenly(mesh.global_size(), comm.size());
    return placement_.slice(comm, table_, comm.size(), heaviest_row_);
  }
  fill_centres(mesh, table_);
  partitioners::Graph graph;
  if (placement_.needs_graph()) graph = gather_block_graph(mesh);
  return placement_.place(comm, table_, comm.size(), heaviest_row_, placement_.needs_graph() ? &graph : nullptr);
}

void Balancer::move(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes, Action action,
                    const Load& load, support::Metrics& metrics) {
  const Destinations to = destinations(mesh, action, load);
  // Unequal weights may keep ranks apart though they are cut as well as slices can be.
  if (!model_->is_uniform() && are_cuts_of(to.cuts, mesh.rank_sizes())) return;
  const Moved moved = carry_out(to, mesh, fields, changes, metrics);
  ++(load.predicted ? outcome_.cuts_ahead : outcome_.cuts_after);
  outcome_.blocks += moved.blocks;
  outcome_.bytes += moved.bytes;
  ++mine_.rebalances;
  mine_.blocks_migrated += moved.blocks;
  mine_.bytes_migrated += moved.bytes;
}

void Balancer::place_roots(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) {
  // Root blocks stand in even stretches of the keys as it is.
  if (mesh.comm().size() == 1 || (placement_.follows_keys() && model_->is_uniform())) return;
  support::PhaseTimer timer(metrics, support::Phase::balance);
  std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
  const Load load = weigh(mesh, {}, false, metrics);
  if (!placement_.follows_keys() || !load.is_even()) move(mesh, fields, none, Action::full, load, metrics);
  outcome_ = {};
}

bool Balancer::rebalance_ahead(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                               support::Metrics& metrics) {
  // Below this imbalance moving ahead saves less than the second cut afterwards costs.
  constexpr double kWorthwhile = 0.05;
  support::PhaseTimer timer(metrics, support::Phase::balance);
  const Load load = weigh(mesh, changes, true, metrics);
  const Action action = ask(load);
  if (action == Action::leave || load.imbalance() < kWorthwhile) return false;
  move(mesh, fields, changes, action, load, metrics);
  return true;
}

bool Balancer::rebalance(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) {
  support::PhaseTimer timer(metrics, support::Phase::balance);
  Load load = present_load(mesh, metrics);
  const Action action = ask(load);
  if (action != Action::leave) {
    const bool sliced = action == Action::incremental || placement_.follows_keys();
    if (model_->is_uniform() && !sliced) load = weigh(mesh, {}, false, metrics);
    std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
    move(mesh, fields, none, action, load, metrics);
    load = present_load(mesh, metrics);
  }
  mine_.imbalance_sum += load.imbalance();
  mine_.imbalance_max = std::max(mine_.imbalance_max, load.imbalance());
  ++mine_.decisions;
  is_over_ = true;
  return action != Action::leave;
}

BalanceTotals Balancer::totals(const support::Communicator& comm) const {
  BalanceTotals all = mine_;
  std::array<std::int64_t, 2> moved{mine_.blocks_migrated, mine_.bytes_migrated};
  support::all_sum(comm, std::span<std::int64_t>(moved));
  all.blocks_migrated = moved[0];
  all.bytes_migrated = moved[1];
  return all;
}

}  // namespace amrbench::loadbalance
