#include "loadbalance/balancer.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "amr/migrate.hpp"
#include "loadbalance/slicing.hpp"
#include "support/error.hpp"

namespace amrbench::loadbalance {

namespace {

Load measure(std::span<const std::int64_t> sizes) {
  const auto [low, high] = std::minmax_element(sizes.begin(), sizes.end());
  std::int64_t total = 0;
  for (const std::int64_t n : sizes) total += n;
  return {*low, *high, static_cast<double>(total) / static_cast<double>(sizes.size())};
}

bool never(const Load&, const amr::BalanceConfig&) {
  return false;
}
bool every(const Load& load, const amr::BalanceConfig&) {
  return load.blocks_max > load.blocks_min + 1;
}
bool threshold(const Load& load, const amr::BalanceConfig& config) {
  return load.blocks_max > load.blocks_min + 1 && load.spread() > config.threshold;
}

constexpr std::int64_t kOne = 8;  ///< weights are eighths of a block
/// What a block that splits, stays, or merges with seven others will weigh.
std::int64_t weight_after(amr::Change change) {
  return change == amr::Change::refine ? 8 * kOne : change == amr::Change::stay ? kOne : 1;
}

const PolicyEntry& find_policy(std::string_view name) {
  std::string names;
  for (const PolicyEntry& entry : policy_registry()) {
    if (entry.name == name) return entry;
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw support::InputError("balance.policy: no policy is called \"" + std::string(name) + "\" (choose from " + names +
                            ")");
}

}  // namespace

std::span<const PolicyEntry> policy_registry() {
  static constexpr std::array entries{
      PolicyEntry{"every", "rebalance after each refinement that left ranks more than one block apart", every},
      PolicyEntry{"threshold", "rebalance when (max - min) / mean of the blocks a rank exceeds balance.threshold",
                  threshold},
      PolicyEntry{"never", "leave blocks where refinement made them", never},
  };
  return entries;
}

Balancer::Balancer(const amr::BalanceConfig& config, std::string_view method)
    : config_(config), policy_(&find_policy(config.policy)), placement_(&find_placement(method)) {}

void Balancer::move(const amr::MigrationCount& count) {
  ++mine_.rebalances;
  mine_.blocks_migrated += count.blocks;
  mine_.bytes_migrated += count.bytes;
}

void Balancer::place(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                     std::span<const std::int64_t> weights, support::Metrics& metrics) {
  if (placement_->place != nullptr) {
    const std::vector<std::int32_t> destinations = placement_->place(mesh, weights);
    support::PhaseTimer migration(metrics, support::Phase::migrate);
    move(amr::migrate_to(mesh, fields, changes, destinations));
    return;
  }
  const std::vector<std::int64_t> cuts = slice_by_weight(mesh.comm(), weights, mesh.comm().size());
  support::PhaseTimer migration(metrics, support::Phase::migrate);
  move(amr::migrate(mesh, fields, changes, cuts));
}

void Balancer::place_roots(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) {
  if (placement_->place == nullptr || mesh.comm().size() == 1) return;
  support::PhaseTimer timer(metrics, support::Phase::balance);
  std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
  const std::vector<std::int64_t> ones(mesh.size(), 1);
  place(mesh, fields, none, ones, metrics);
}

bool Balancer::rebalance_ahead(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                               support::Metrics& metrics) {
  // Below this imbalance moving ahead saves less than the second cut afterwards costs.
  constexpr double kWorthwhile = 0.05;
  support::PhaseTimer timer(metrics, support::Phase::balance);
  std::int64_t mine = 0;
#pragma omp parallel for schedule(static) reduction(+ : mine)
  for (std::size_t i = 0; i < changes.size(); ++i) mine += weight_after(changes[i]);
  std::vector<std::int64_t> blocks = support::all_gather(mesh.comm(), mine);
  for (std::int64_t& n : blocks) n /= kOne;
  const Load load = measure(blocks);
  if (!policy_->wanted(load, config_) || load.imbalance() < kWorthwhile) return false;
  std::vector<std::int64_t> weights(changes.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < changes.size(); ++i) weights[i] = weight_after(changes[i]);
  place(mesh, fields, changes, weights, metrics);
  return true;
}

bool Balancer::rebalance(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) {
  support::PhaseTimer timer(metrics, support::Phase::balance);
  const bool wanted = policy_->wanted(measure(mesh.rank_sizes()), config_);
  if (wanted && placement_->place != nullptr) {
    std::vector<amr::Change> none(mesh.size(), amr::Change::stay);
    const std::vector<std::int64_t> ones(mesh.size(), 1);
    place(mesh, fields, none, ones, metrics);
  } else if (wanted) {
    const std::vector<std::int64_t> cuts = slice_evenly(mesh.global_size(), mesh.comm().size());
    support::PhaseTimer migration(metrics, support::Phase::migrate);
    move(amr::migrate(mesh, fields, cuts));
  }
  const double imbalance = measure(mesh.rank_sizes()).imbalance();
  mine_.imbalance_sum += imbalance;
  mine_.imbalance_max = std::max(mine_.imbalance_max, imbalance);
  ++mine_.decisions;
  return wanted;
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
