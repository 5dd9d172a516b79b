#include "loadbalance/replay/virtual_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "loadbalance/gentle_cuts.hpp"
#include "partitioners/even_shares.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

/// Owners of blocks that stand in rank order and are cut there.
Owners owners_of_cuts(std::span<const std::int64_t> cuts, std::span<const std::int32_t> order, std::size_t blocks) {
  Owners owners(blocks);
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r)
    for (auto at = static_cast<std::size_t>(cuts[r]); at < static_cast<std::size_t>(cuts[r + 1]); ++at)
      owners[order.empty() ? at : static_cast<std::size_t>(order[at])] = static_cast<std::int32_t>(r);
  return owners;
}

/// The rows of a table in another order; what placing looks at.
BlockTable in_order(const BlockTable& table, std::span<const std::int32_t> order) {
  BlockTable sorted;
  const auto dims = static_cast<std::size_t>(table.grid.dim);
  sorted.blocks = table.blocks;
  sorted.grid = table.grid;
  sorted.key.resize(order.size());
  sorted.weight.resize(order.size());
  sorted.share.resize(order.size());
  sorted.centre.resize(table.centre.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto from = static_cast<std::size_t>(order[i]);
    sorted.key[i] = table.key[from];
    sorted.weight[i] = table.weight[from];
    sorted.share[i] = table.share[from];
    if (!table.centre.empty()) std::copy_n(&table.centre[dims * from], dims, &sorted.centre[dims * i]);
  }
  return sorted;
}

/// The graph of the rows in another order.
partitioners::Graph in_order(const partitioners::Graph& graph, std::span<const std::int32_t> order) {
  std::vector<std::int32_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  partitioners::Graph sorted;
  sorted.offsets.reserve(order.size() + 1);
  sorted.adjacent.reserve(graph.adjacent.size());
  for (const std::int32_t from : order) {
    const auto begin = static_cast<std::ptrdiff_t>(sorted.adjacent.size());
    for (std::int64_t e = graph.offsets[static_cast<std::size_t>(from)];
         e < graph.offsets[static_cast<std::size_t>(from) + 1]; ++e)
      sorted.adjacent.push_back(place[static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(e)])]);
    std::sort(sorted.adjacent.begin() + begin, sorted.adjacent.end());
    sorted.offsets.push_back(static_cast<std::int64_t>(sorted.adjacent.size()));
  }
  return sorted;
}

std::vector<std::int64_t> rank_sizes(std::span<const std::int32_t> owners, int ranks) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
  for (const std::int32_t r : owners) ++counts[static_cast<std::size_t>(r)];
  return counts;
}

std::int64_t fullest(std::span<const std::int32_t> owners, int ranks) {
  const std::vector<std::int64_t> counts = rank_sizes(owners, ranks);
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

double heaviest_row(const BlockTable& table) {
  double heaviest = 0.0;
  for (std::size_t i = 0; i < table.size(); ++i) heaviest = std::max(heaviest, table.weight[i] * table.share[i]);
  return heaviest;
}

/// With the number of nodes, where it is the machine's.
Strategy with_nodes(const Strategy& strategy, const Machine& machine) {
  Strategy with = strategy;
  int& nodes = with.partition.nodes;
  const int ranks = strategy.ranks;
  if (nodes == kNodesOfRun) {
    const int on_one = std::min(ranks, machine.ranks_per_node);
    if (ranks % on_one != 0)
      throw support::InputError(fmt::format(
          "{} ranks, {} on a node of the machine: parts in two levels need as many on each", ranks, on_one));
    nodes = ranks / on_one;
  } else if (nodes > 0 && ranks % nodes != 0) {
    throw support::InputError(
        fmt::format("{} nodes do not divide {} ranks: parts in two levels need as many on each", nodes, ranks));
  }
  return with;
}

}  // namespace

Placer::Placer(const Strategy& strategy, const TraceHeader& header, const Machine& machine)
    : strategy_(with_nodes(strategy, machine)),
      header_(header),
      machine_(machine),
      model_(make_cost_model(strategy.balance, header.work)),
      placement_(strategy_.partition) {
  if (strategy_.partition.nodes > 0) machine_.ranks_per_node = strategy_.ranks / strategy_.partition.nodes;
  if (model_->remembers() && !model_->wants_costs())
    throw support::InputError(
        fmt::format("balance.weights {}: a run measures them, a trace does not hold them; \"region\" knows the work of "
                    "the trace, \"workload\" its costs",
                    strategy.balance.weights));
}

Load Placer::load(const BlockTable& table, std::span<const std::int32_t> owners, bool predicted, int cuts,
                  std::span<const double> shares) const {
  Load load = measure(rank_loads(table, owners, strategy_.ranks, model_->is_uniform()), shares);
  if (!model_->is_uniform() || predicted) {
    load.heaviest = 0.0;
    for (const double weight : table.weight) load.heaviest = std::max(load.heaviest, weight);
  }
  load.predicted = predicted;
  load.cuts = cuts;
  return load;
}

std::optional<Owners> Placer::place(const BlockTable& table, std::span<const std::int32_t> owners, Action action,
                                    const Load& load, std::span<const double> shares) const {
  return place(table, owners, action, load, shares, strategy_.balance.limit_move);
}

std::optional<Owners> Placer::place(const BlockTable& table, std::span<const std::int32_t> owners, Action action,
                                    const Load& load, std::span<const double> shares, double limit_move) const {
  const support::Communicator alone;
  const std::vector<std::int32_t> order = rank_order(owners, strategy_.ranks);
  const BlockTable sorted = order.empty() ? BlockTable{} : in_order(table, order);
  const BlockTable& rows = order.empty() ? table : sorted;
  Destinations to;
  if (action == Action::incremental || placement_.follows_keys()) {
    to = model_->is_uniform() && !load.predicted
             ? placement_.slice_evenly(alone, table.blocks, rows.key, strategy_.ranks, shares)
             : placement_.slice(alone, rows, strategy_.ranks, heaviest_row(table), shares);
  } else {
    std::vector<std::int32_t> now(owners.begin(), owners.end());
    std::ranges::sort(now);  // as the rows stand
    partitioners::Graph graph;
    if (needs_graph()) graph = order.empty() ? *table.graph : in_order(*table.graph, order);
    to = placement_.place(alone, rows, strategy_.ranks, heaviest_row(table), now, needs_graph() ? &graph : nullptr);
  }
  if (limit_move > 0.0 && !to.cuts.empty()) limit_cuts(to.cuts, rank_sizes(owners, strategy_.ranks), limit_move);
  Owners placed;
  if (to.cuts.empty()) {
    placed.resize(owners.size());
    for (std::size_t i = 0; i < placed.size(); ++i)
      placed[order.empty() ? i : static_cast<std::size_t>(order[i])] = to.ranks[i];
    if (limit_move > 0.0) limit_moves(placed, owners, strategy_.ranks, limit_move);
  } else {
    placed = owners_of_cuts(to.cuts, order, owners.size());
    // As in a run: blocks that lie by these cuts already are left alone where they differ in weight.
    if (!model_->is_uniform() && std::equal(placed.begin(), placed.end(), owners.begin())) return {};
  }
  return placed;
}

std::optional<Owners> Placer::look_ahead(const BlockTable& table, std::span<const std::int32_t> owners,
                                         Load& load) const {
  if (load.is_even()) return {};
  const auto outlook_of = [&](const std::optional<Owners>& placed) {
    const std::span<const std::int32_t> after = placed ? std::span<const std::int32_t>(*placed) : owners;
    const std::vector<double> loads = rank_loads(table, after, strategy_.ranks, false);
    return Outlook{*std::max_element(loads.begin(), loads.end()), move(owners, after).count.blocks};
  };
  std::optional<Owners> placed = place(table, owners, Action::full, load);
  load.outlook = outlook_of(placed);
  if (!placement_.follows_keys()) load.sliced = outlook_of(place(table, owners, Action::incremental, load));
  return placed;
}

Owners Placer::place_roots(const BlockTable& table, Decider* decider) const {
  // As a mesh deals them out (amr/mesh.cpp).
  std::vector<std::int64_t> cuts(static_cast<std::size_t>(strategy_.ranks) + 1);
  for (std::size_t r = 0; r < cuts.size(); ++r) cuts[r] = table.blocks * static_cast<std::int64_t>(r) / strategy_.ranks;
  const Owners even = owners_of_cuts(cuts, {}, table.size());
  if (strategy_.ranks == 1 || (placement_.follows_keys() && model_->is_uniform())) return even;
  const Load now = load(table, even, false, 0);
  if (placement_.follows_keys() && now.is_even()) return even;
  std::optional<Owners> placed = place(table, even, Action::full, now, {}, 0.0);
  if (!placed) return even;
  if (decider) {
    decider->moved(false, move(even, *placed).count);
    decider->forget_outcome();
  }
  return std::move(*placed);
}

Owners Placer::follow(std::span<const std::int32_t> owners, std::span<const std::int32_t> origin) {
  Owners next(origin.size());
  for (std::size_t i = 0; i < origin.size(); ++i) next[i] = owners[static_cast<std::size_t>(origin[i])];
  return next;
}

template <int Dim>
Placer::Work Placer::work(const amr::Mesh<Dim>& mesh, std::span<const double> costs,
                          std::span<const std::int32_t> owners, std::int64_t stages) const {
  Work work;
  const auto times = static_cast<double>(stages);
  const auto values = static_cast<double>(header_.layout().block_values());
  work.rank_seconds.resize(static_cast<std::size_t>(strategy_.ranks));
  std::vector<double> blocks(work.rank_seconds.size());
  const std::vector<double> evaluations = block_work(mesh, header_, costs, owners);
  for (std::size_t i = 0; i < owners.size(); ++i) {  // evaluations of blocks so far
    work.rank_seconds[static_cast<std::size_t>(owners[i])] += evaluations[i];
    blocks[static_cast<std::size_t>(owners[i])] += 1.0;
  }
  const HaloCost halo = halo_cost(mesh, owners, strategy_.ranks, header_, machine_);
  std::vector<double> jumps;
  if (machine_.jump_cell_s > 0.0) jumps = jump_cells(mesh, owners, strategy_.ranks, header_);
  double compute = 0.0, send = 0.0, both = 0.0, sum = 0.0;
  for (std::size_t r = 0; r < work.rank_seconds.size(); ++r) {
    const double own = machine_.compute(work.rank_seconds[r], blocks[r], values) +
                       (jumps.empty() ? 0.0 : jumps[r] * machine_.jump_cell_s);
    compute = std::max(compute, own);
    sum += own;
    send = std::max(send, halo.seconds[r]);
    both = std::max(both, std::max(own, halo.seconds[r]));
    work.rank_compute.push_back(times * own);
    work.rank_seconds[r] = times * (machine_.overlap ? std::max(own, halo.seconds[r]) : own + halo.seconds[r]);
  }
  work.stencil_s = times * compute;
  work.halo_s = times * ((machine_.overlap ? both - compute : send) + machine_.waiting(compute, sum / strategy_.ranks));
  work.halo = {halo.degree_max, halo.edge_cut_max, halo.bytes_max, halo.bytes_total, halo.nodes};
  return work;
}

double Placer::refine_seconds(std::span<const std::int32_t> owners, std::span<const std::int32_t> origin) const {
  // Blocks that splits and merges made: children share their origin, behind a merged block the rest of its family is
  // missing.
  const std::int32_t family = 1 << header_.dim;
  std::vector<std::int64_t> made(static_cast<std::size_t>(strategy_.ranks));
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const bool is_child =
        (i > 0 && origin[i - 1] == origin[i]) || (i + 1 < origin.size() && origin[i + 1] == origin[i]);
    const bool is_merged = i + 1 < origin.size() && origin[i + 1] == origin[i] + family;
    made[static_cast<std::size_t>(owners[i])] += is_child || is_merged ? 1 : 0;
  }
  const std::int64_t most = *std::max_element(made.begin(), made.end());
  return static_cast<double>(fullest(owners, strategy_.ranks)) * machine_.refine_block_s +
         static_cast<double>(most * header_.block_bytes()) * machine_.change_byte_s + machine_.refine_pass_s +
         machine_.collective(strategy_.ranks);
}

double Placer::exchange_seconds() const {
  constexpr double kShareBytes = 56.0;
  const double byte_s = strategy_.ranks > machine_.ranks_per_node ? machine_.byte_s : machine_.node_byte_s;
  return machine_.collective(strategy_.ranks) + kShareBytes * strategy_.ranks * byte_s;
}

double Placer::cut_seconds(std::span<const std::int32_t> owners) const {
  return static_cast<double>(fullest(owners, strategy_.ranks)) * machine_.cut_block_s +
         2.0 * machine_.collective(strategy_.ranks);
}

template <int Dim>
void VirtualRun::work(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages) {
  const Placer::Work work = placer_.work(mesh, costs, owners_, stages);
  times_.stencil_s += work.stencil_s;
  times_.halo_s += work.halo_s;
  segment_s_ += work.stencil_s + work.halo_s;
  rank_seconds_.resize(work.rank_seconds.size());
  compute_.resize(work.rank_compute.size());
  for (std::size_t r = 0; r < compute_.size(); ++r) compute_[r] += work.rank_compute[r];
  for (std::size_t r = 0; r < rank_seconds_.size(); ++r) rank_seconds_[r] += work.rank_seconds[r];
  last_halo_ = work.halo;
  halo_.raise_to(work.halo);
  halo_bytes_ += static_cast<double>(stages) * static_cast<double>(work.halo.bytes_total);
  node_halo_bytes_ += static_cast<double>(stages) * static_cast<double>(work.halo.nodes.bytes_total);
}

void ReplayHalo::raise_to(const ReplayHalo& other) {
  const auto raise = [](auto& mine, auto its) { mine = std::max(mine, its); };
  raise(degree_max, other.degree_max);
  raise(edge_cut_max, other.edge_cut_max);
  raise(bytes_max, other.bytes_max);
  raise(bytes_total, other.bytes_total);
  raise(nodes.nodes, other.nodes.nodes);
  raise(nodes.degree_max, other.nodes.degree_max);
  raise(nodes.messages_max, other.nodes.messages_max);
  raise(nodes.edge_cut_max, other.nodes.edge_cut_max);
  raise(nodes.edge_cut_total, other.nodes.edge_cut_total);
  raise(nodes.bytes_max, other.nodes.bytes_max);
  raise(nodes.bytes_total, other.nodes.bytes_total);
}

template void VirtualRun::work(const amr::Mesh<2>&, std::span<const double>, std::int64_t);
template void VirtualRun::work(const amr::Mesh<3>&, std::span<const double>, std::int64_t);
template Placer::Work Placer::work(const amr::Mesh<2>&, std::span<const double>, std::span<const std::int32_t>,
                                   std::int64_t) const;
template Placer::Work Placer::work(const amr::Mesh<3>&, std::span<const double>, std::span<const std::int32_t>,
                                   std::int64_t) const;

/// Asks the policy and does what it says.
void VirtualRun::decide(const BlockTable& table, bool predicted) {
  Load load = placer_.load(table, owners_, predicted, decider_.cuts(), decider_.rank_shares());
  std::optional<Owners> placed;
  const bool looks = decider_.wants_outlook() && !load.is_even();
  if (looks) placed = placer_.look_ahead(table, owners_, load);
  const Action action = predicted ? decider_.ask_ahead(load) : decider_.ask(load);
  if (looks || action != Action::leave) {
    const double deciding = placer_.cut_seconds(owners_);
    times_.balance_s += deciding;
    if (!looks) cost_ += deciding;
  }
  if (action == Action::leave) {
    if (!predicted) decider_.conclude(load);
    return;
  }
  if (!looks || action == Action::incremental)
    placed = placer_.place(table, owners_, action, load, decider_.rank_shares());
  if (placed) {
    const MoveCost moved = placer_.move(owners_, *placed);
    times_.migrate_s += moved.seconds;
    cost_ += moved.seconds;
    decider_.moved(predicted, moved.count);
    owners_ = std::move(*placed);
  }
  if (!predicted) decider_.conclude(placer_.load(table, owners_, false, decider_.cuts(), decider_.rank_shares()));
}

double VirtualRun::stencil_max() const {
  return compute_.empty() ? 0.0 : *std::max_element(compute_.begin(), compute_.end());
}

double VirtualRun::halo_max() const {
  const double both = times_.stencil_s + times_.halo_s;
  return compute_.empty() ? 0.0 : both - *std::min_element(compute_.begin(), compute_.end());
}

/// The exchange of loads, with which ranks tell what they measured.
void VirtualRun::learn() {
  if (decider_.is_new()) {
    std::vector<RankReport> reports(static_cast<std::size_t>(placer_.strategy().ranks));
    for (std::size_t r = 0; r < reports.size(); ++r)
      reports[r] = {r < rank_seconds_.size() ? rank_seconds_[r] : 0.0, cost_, 0, 0};
    reports[0].blocks = decider_.outcome().blocks;
    reports[0].bytes = decider_.outcome().bytes;
    decider_.learn(reports);
    std::fill(rank_seconds_.begin(), rank_seconds_.end(), 0.0);
    cost_ = 0.0;
  }
  times_.balance_s += placer_.exchange_seconds();
}

void VirtualRun::ahead(const BlockTable& table) {
  learn();
  decide(table, true);
}

void VirtualRun::follow(std::span<const std::int32_t> origin) {
  owners_ = Placer::follow(owners_, origin);
  times_.refine_s += placer_.refine_seconds(owners_, origin);
}

void VirtualRun::conclude(const BlockTable& table) {
  if (decider_.is_new()) learn();  // nothing changed
  decide(table, false);
  const double imbalance = placer_.load(table, owners_, false, 0, decider_.rank_shares()).imbalance();
  series_.push_back(
      {decider_.history().step, table.blocks, imbalance, decider_.outcome().has_cut(), segment_s_, cost_});
  segment_s_ = 0.0;
}

}  // namespace amrbench::loadbalance
