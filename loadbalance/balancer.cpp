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

Balancer::Balancer(const amr::BalanceConfig& config) : config_(config), policy_(&find_policy(config.policy)) {}

bool Balancer::rebalance(amr::Mesh<3>& mesh, amr::FieldStore& fields, support::Metrics& metrics) {
  support::PhaseTimer timer(metrics, support::Phase::balance);
  const bool wanted = policy_->wanted(measure(mesh.rank_sizes()), config_);
  if (wanted) {
    const std::vector<std::int64_t> cuts = slice_evenly(mesh.global_size(), mesh.comm().size());
    support::PhaseTimer migration(metrics, support::Phase::migrate);
    const amr::MigrationCount count = amr::migrate(mesh, fields, cuts);
    ++mine_.rebalances;
    mine_.blocks_migrated += count.blocks;
    mine_.bytes_migrated += count.bytes;
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
