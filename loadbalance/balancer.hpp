#pragma once
// Policies: when to rebalance.
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "amr/config.hpp"
#include "amr/migrate.hpp"
#include "amr/rebalancer.hpp"
#include "loadbalance/placement.hpp"

namespace amrbench::loadbalance {

/// Loads at the moment of a decision.
struct Load {
  std::int64_t blocks_min = 0;  ///< of a rank
  std::int64_t blocks_max = 0;
  double blocks_mean = 0.0;
  /// (max - min) / mean, miniAMR's measure; 0 for an empty mesh.
  [[nodiscard]] double spread() const {
    return blocks_mean > 0.0 ? double(blocks_max - blocks_min) / blocks_mean : 0.0;
  }
  /// max / mean - 1.
  [[nodiscard]] double imbalance() const { return blocks_mean > 0.0 ? double(blocks_max) / blocks_mean - 1.0 : 0.0; }
};

/// A policy by name; `wanted` says whether this load calls for a new cut.
struct PolicyEntry {
  std::string_view name;
  std::string_view description;
  bool (*wanted)(const Load& load, const amr::BalanceConfig& config);
};
/// All policies; a new one is one line in balancer.cpp.
std::span<const PolicyEntry> policy_registry();

/// What balancing did during a run; sums over ranks where it says so.
struct BalanceTotals {
  std::int64_t rebalances = 0;
  std::int64_t blocks_migrated = 0;  ///< all ranks
  std::int64_t bytes_migrated = 0;   ///< all ranks
  double imbalance_sum = 0.0;        ///< of max / mean - 1 after each decision
  double imbalance_max = 0.0;
  std::int64_t decisions = 0;
};

/// Places blocks anew whenever the policy wants it, by slices of the mesh's curve or by the placement's partitioner:
/// ahead of a refinement by the blocks that each block will become, and only when ranks would end up clearly apart;
/// after it by the blocks there are. Throws support::InputError on an unknown policy or method.
class Balancer final : public amr::Rebalancer {
 public:
  explicit Balancer(const amr::BalanceConfig& config, std::string_view method = "morton");
  void place_roots(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) override;
  bool rebalance_ahead(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                       support::Metrics& metrics) override;
  bool rebalance(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) override;
  /// Totals over ranks. Collective.
  [[nodiscard]] BalanceTotals totals(const support::Communicator& comm) const;

 private:
  void move(const amr::MigrationCount& count);
  void place(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
             std::span<const std::int64_t> weights, support::Metrics& metrics);

  amr::BalanceConfig config_;
  const PolicyEntry* policy_;
  const PlacementEntry* placement_;
  BalanceTotals mine_;
};

}  // namespace amrbench::loadbalance
