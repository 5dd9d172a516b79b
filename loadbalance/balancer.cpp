#include "loadbalance/balancer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "loadbalance/block_graph.hpp"
#include "loadbalance/gentle_cuts.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// Where each local block goes.
template <int Dim>
std::vector<std::int32_t> ranks_of(const Destinations& to, const amr::Mesh<Dim>& mesh) {
  if (to.cuts.empty()) return to.ranks;
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(mesh.size()));
  std::size_t rank = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    while (to.cuts[rank + 1] <= mesh.global_begin() + static_cast<std::int64_t>(i)) ++rank;
    ranks[i] = static_cast<std::int32_t>(rank);
  }
  return ranks;
}

/// Do the blocks lie by these cuts already? Not where there are none.
bool are_cuts_of(std::span<const std::int64_t> cuts, std::span<const std::int64_t> rank_sizes) {
  for (std::size_t r = 0; r < rank_sizes.size() && !cuts.empty(); ++r)
    if (cuts[r + 1] - cuts[r] != rank_sizes[r]) return false;
  return !cuts.empty();
}

}  // namespace

BalancerState::BalancerState(std::unique_ptr<Policy> policy, std::unique_ptr<CostModel> model,
                             const PartitionConfig& partition)
    : decider_(std::move(policy)), model_(std::move(model)), placement_(partition) {
  check_shares(decider_, partition);
}

template <int Dim>
Balancer<Dim>::Balancer(const BalanceConfig& config, const PartitionConfig& partition,
                        std::span<const amr::WorkConfig> work)
    : Balancer(make_policy(config), make_cost_model(config, work), partition) {
  limit_move_ = config.limit_move;
}

template <int Dim>
Balancer<Dim>::Balancer(std::unique_ptr<Policy> policy, std::unique_ptr<CostModel> model,
                        const PartitionConfig& partition)
    : BalancerState(std::move(policy), std::move(model), partition) {}

template <int Dim>
void Balancer<Dim>::begin(const amr::RunPosition& position) {
  decider_.begin(position);
  stages_ = position.stages;
}

template <int Dim>
void Balancer<Dim>::learn(amr::Mesh<Dim>& mesh, std::span<const double> block_seconds,
                          const support::Metrics& metrics) {
  if (stages_ == stages_learnt_) return;
  const double worked = work_seconds(metrics);
  std::vector<double> weights(mesh.weights().begin(), mesh.weights().end());
  const bool knew = model_->has_learnt();
  model_->learn(weights, {block_seconds, std::max(0.0, worked - learnt_), stages_ - stages_learnt_});
  if (model_->has_learnt() && !knew) decider_.forget_loads();
  if (model_->remembers()) mesh.set_weights(weights);
  learnt_ = worked;
  stages_learnt_ = stages_;
}

template <int Dim>
void Balancer<Dim>::set_costs(amr::Mesh<Dim>& mesh, std::span<const double> costs) {
  if (costs.empty())
    mesh.set_weights(std::vector<double>(static_cast<std::size_t>(mesh.size()), 1.0));
  else
    mesh.set_weights(costs);
}

template <int Dim>
typename Balancer<Dim>::Share Balancer<Dim>::share_of_table() const {
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

/// The same where every block weighs 1, without a table.
template <int Dim>
typename Balancer<Dim>::Share Balancer<Dim>::share_of_equals(const amr::Mesh<Dim>& mesh,
                                                             std::span<const amr::Change> changes) const {
  constexpr double kFamily = 1 << Dim;
  std::int64_t splits = 0, merges = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : splits, merges)
  for (std::size_t i = 0; i < changes.size(); ++i) {
    splits += changes[i] == amr::Change::refine;
    merges += changes[i] == amr::Change::coarsen;
  }
  const std::int64_t stays = mesh.size() - splits - merges;
  Share share{};
  share.load = static_cast<double>(stays) + kFamily * static_cast<double>(splits) +
               static_cast<double>(merges) / kFamily;  // exact
  share.heaviest_block = mesh.size() > 0 ? 1.0 : 0.0;
  share.heaviest_row = splits > 0 ? kFamily : stays > 0 ? 1.0 : merges > 0 ? 1.0 / kFamily : 0.0;
  return share;
}

template <int Dim>
void Balancer<Dim>::tabulate(amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes) {
  fill_block_table(mesh, changes, table_);
  if (model_->needs_centres()) fill_centres(mesh, table_);
  model_->weigh(table_);
  if (model_->remembers()) mesh.set_weights(table_.weight);
  has_table_ = true;
}

/// Weighs the blocks and exchanges loads. Fills the table, but where all blocks weigh the same. Collective.
template <int Dim>
Load Balancer<Dim>::weigh(amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes, bool predicted,
                          const support::Metrics& metrics) {
  const double worked = work_seconds(metrics);
  // A GPU's events may come in late: until the first have, its work is timed by the host.
  table_.seconds = decider_.is_new() ? std::max(0.0, worked - worked_) : 0.0;
  const bool are_equal = model_->is_uniform();
  has_table_ = false;
  if (!are_equal) tabulate(mesh, changes);
  Share mine = are_equal ? share_of_equals(mesh, changes) : share_of_table();
  mine.report = {table_.seconds, cost_, decider_.outcome().blocks, decider_.outcome().bytes};
  const std::vector<Share> shares = support::all_gather(mesh.comm(), mine);
  if (decider_.is_new()) {
    std::vector<RankReport> reports;
    for (const Share& share : shares) reports.push_back(share.report);
    decider_.learn(reports);
    worked_ = worked;
    cost_ = 0.0;
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
  Load load = measure(loads, decider_.rank_shares());
  load.heaviest = heaviest_block;
  load.predicted = predicted;
  load.cuts = decider_.cuts();
  return load;
}

/// Of the blocks as they are. Collective where blocks differ in weight, else local.
template <int Dim>
Load Balancer<Dim>::present_load(amr::Mesh<Dim>& mesh, const support::Metrics& metrics) {
  if (!model_->is_uniform() || decider_.is_new()) return weigh(mesh, {}, false, metrics);
  Load load = measure(std::vector<double>(mesh.rank_sizes().begin(), mesh.rank_sizes().end()), decider_.rank_shares());
  load.cuts = decider_.cuts();
  has_table_ = false;
  heaviest_row_ = 1.0;
  return load;
}

/// Are blocks dealt out by their number alone?
template <int Dim>
bool Balancer<Dim>::slices_evenly(Action action, const Load& load) const {
  return (action == Action::incremental || placement_.follows_keys()) && model_->is_uniform() && !load.predicted;
}

/// The table must hold the blocks that are to move, but where slices_evenly().
template <int Dim>
Destinations Balancer<Dim>::destinations(const amr::Mesh<Dim>& mesh, Action action, const Load& load) {
  Destinations to = unlimited_destinations(mesh, action, load);
  if (limit_move_ <= 0.0) return to;
  const int self = mesh.comm().rank();
  if (!to.cuts.empty()) limit_cuts(to.cuts, mesh.rank_sizes(), limit_move_);
  limit_moves(to.ranks, std::vector<std::int32_t>(to.ranks.size(), self), mesh.comm().size(), limit_move_);
  return to;
}

template <int Dim>
Destinations Balancer<Dim>::unlimited_destinations(const amr::Mesh<Dim>& mesh, Action action, const Load& load) {
  const support::Communicator& comm = mesh.comm();
  const auto shares = decider_.rank_shares();
  if (slices_evenly(action, load))
    return placement_.slice_evenly(comm, mesh.global_size(), mesh.keys(), comm.size(), shares);
  if (action == Action::incremental || placement_.follows_keys())
    return placement_.slice(comm, table_, comm.size(), heaviest_row_, shares);
  fill_centres(mesh, table_);
  partitioners::Graph graph;
  if (placement_.needs_graph()) graph = gather_block_graph(mesh);
  return placement_.place(comm, table_, comm.size(), heaviest_row_, table_.owner,
                          placement_.needs_graph() ? &graph : nullptr);
}

/// Fills in what placing anew would give, where the policy wants to know; keeps where blocks would go. Collective.
template <int Dim>
void Balancer<Dim>::look_ahead(amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes, Load& load) {
  seen_.reset();
  if (!decider_.wants_outlook() || load.is_even()) return;
  if (!has_table_) tabulate(mesh, changes);
  seen_ = destinations(mesh, Action::full, load);
  load.outlook = outlook_of(mesh, *seen_);
  if (!placement_.follows_keys()) load.sliced = outlook_of(mesh, destinations(mesh, Action::incremental, load));
}

/// The table must hold the blocks that are to move. Collective.
template <int Dim>
Outlook Balancer<Dim>::outlook_of(const amr::Mesh<Dim>& mesh, const Destinations& destinations) const {
  const support::Communicator& comm = mesh.comm();
  const std::vector<std::int32_t> to = ranks_of(destinations, mesh);
  // The last entry counts blocks that move: exact in a double.
  std::vector<double> sums(static_cast<std::size_t>(comm.size()) + 1);
  for (std::size_t i = 0; i < to.size(); ++i) {
    sums[static_cast<std::size_t>(to[i])] += table_.weight[i] * table_.share[i];
    sums.back() += to[i] != comm.rank() ? 1.0 : 0.0;
  }
  support::all_sum(comm, std::span<double>(sums));
  return {*std::max_element(sums.begin(), sums.end() - 1), static_cast<std::int64_t>(sums.back())};
}

template <int Dim>
void Balancer<Dim>::move(amr::Mesh<Dim>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes, Action action,
                         const Load& load, support::Metrics& metrics) {
  const double start = support::Metrics::steady_seconds();
  if (!has_table_ && !slices_evenly(action, load)) tabulate(mesh, changes);
  const Destinations to = seen_ && action == Action::full ? std::move(*seen_) : destinations(mesh, action, load);
  seen_.reset();
  // Unequal weights may keep ranks apart though they are cut as well as slices can be.
  if (!model_->is_uniform() && are_cuts_of(to.cuts, mesh.rank_sizes())) return;
  const Moved moved = carry_out(to, mesh, fields, changes, metrics);
  cost_ += support::Metrics::steady_seconds() - start;
  decider_.moved(load.predicted, moved.count);
}

template <int Dim>
void Balancer<Dim>::place_roots(amr::Mesh<Dim>& mesh, amr::Fields& fields, support::Metrics& metrics) {
  // Root blocks stand in even stretches of the keys as it is.
  if (mesh.comm().size() == 1 || (placement_.follows_keys() && model_->is_uniform())) return;
  support::PhaseTimer timer(metrics, support::Phase::balance);
  std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
  const Load load = weigh(mesh, {}, false, metrics);
  const double limit = std::exchange(limit_move_, 0.0);  // not the first time
  if (!placement_.follows_keys() || !load.is_even()) move(mesh, fields, none, Action::full, load, metrics);
  limit_move_ = limit;
  decider_.forget_outcome();
}

template <int Dim>
bool Balancer<Dim>::rebalance_ahead(amr::Mesh<Dim>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                                    support::Metrics& metrics) {
  support::PhaseTimer timer(metrics, support::Phase::balance);
  Load load = weigh(mesh, changes, true, metrics);
  look_ahead(mesh, changes, load);
  const Action action = decider_.ask_ahead(load);
  if (action == Action::leave) return false;
  move(mesh, fields, changes, action, load, metrics);
  return true;
}

template <int Dim>
bool Balancer<Dim>::rebalance(amr::Mesh<Dim>& mesh, amr::Fields& fields, support::Metrics& metrics) {
  support::PhaseTimer timer(metrics, support::Phase::balance);
  Load load = present_load(mesh, metrics);
  look_ahead(mesh, {}, load);
  const Action action = decider_.ask(load);
  if (action != Action::leave) {
    std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
    move(mesh, fields, none, action, load, metrics);
    load = present_load(mesh, metrics);
  }
  decider_.conclude(load);
  return action != Action::leave;
}

BalanceTotals BalancerState::totals(const support::Communicator& comm) const {
  BalanceTotals all = decider_.totals();
  std::array<std::int64_t, 3> moved{all.blocks_migrated, all.bytes_migrated, all.bytes_migrated_least};
  support::all_sum(comm, std::span<std::int64_t>(moved));
  all.blocks_migrated = moved[0];
  all.bytes_migrated = moved[1];
  all.bytes_migrated_least = moved[2];
  return all;
}

template class Balancer<2>;
template class Balancer<3>;

}  // namespace amrbench::loadbalance
