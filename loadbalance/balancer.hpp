#pragma once
// Balancer: puts cost model, policy, placement and migration together for the time loop.
//
// mesh -> BlockTable -> CostModel -> loads -> Policy -> Placement -> Migrator. Every number a policy sees is reduced
// over ranks first. What a decision cost and how long ranks worked travel with the first exchange of loads of the next
// refinement, so nothing is sent for them.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amr/rebalancer.hpp"
#include "loadbalance/cost_model.hpp"
#include "loadbalance/migrator.hpp"
#include "loadbalance/placement.hpp"
#include "loadbalance/policy.hpp"

namespace amrbench::loadbalance {

/// What balancing did during a run, over ranks.
struct BalanceTotals {
  std::int64_t rebalances = 0;  ///< how often blocks were placed anew
  std::int64_t blocks_migrated = 0;
  std::int64_t bytes_migrated = 0;
  double imbalance_sum = 0.0;  ///< of max / mean - 1 of the ranks' loads after each decision
  double imbalance_max = 0.0;
  std::int64_t decisions = 0;
  [[nodiscard]] double imbalance_mean() const {
    return decisions > 0 ? imbalance_sum / static_cast<double>(decisions) : 0.0;
  }
};

/// Places blocks anew whenever the policy wants it: ahead of changes by what each block will become, and only when
/// ranks would end up clearly apart; after them by the blocks there are.
class Balancer final : public amr::Rebalancer {
 public:
  /// Throws support::InputError on an unknown policy, cost model, method or splitter.
  explicit Balancer(const BalanceConfig& config, const PartitionConfig& partition = {});
  /// With objects that need not be registered.
  Balancer(std::unique_ptr<Policy> policy, std::unique_ptr<CostModel> model, const PartitionConfig& partition);

  void place_roots(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) override;
  void begin(const amr::RunPosition& position) override;
  /// One exchange of loads; where blocks move along their keys, two more for the cuts.
  bool rebalance_ahead(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                       support::Metrics& metrics) override;
  /// Nothing is exchanged where blocks weigh the same and follow the keys, but for the blocks that move.
  bool rebalance(amr::Mesh<3>& mesh, amr::Fields& fields, support::Metrics& metrics) override;

  [[nodiscard]] const History& history() const { return history_; }
  /// Totals over ranks. Collective.
  [[nodiscard]] BalanceTotals totals(const support::Communicator& comm) const;

 private:
  /// What a rank tells the others.
  struct Share {
    double load, heaviest_block, heaviest_row;  ///< NaN where a weight was refused
    double seconds;                             ///< worked since the last refinement
    double cost;                                ///< seconds of deciding and moving in the last refinement
    std::int64_t blocks, bytes;                 ///< moved in it
  };
  Load weigh(amr::Mesh<3>& mesh, std::span<const amr::Change> changes, bool predicted, const support::Metrics& metrics);
  [[nodiscard]] Share share_of_table() const;
  void remember(std::span<const Share> shares);
  Load present_load(amr::Mesh<3>& mesh, const support::Metrics& metrics);
  Action ask(const Load& load);
  Destinations destinations(const amr::Mesh<3>& mesh, Action action, const Load& load);
  void move(amr::Mesh<3>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes, Action action, const Load& load,
            support::Metrics& metrics);

  std::unique_ptr<Policy> policy_;
  std::unique_ptr<CostModel> model_;
  Placement placement_;
  BlockTable table_;
  double heaviest_row_ = 1.0;  ///< largest load of a row of any rank's table
  History history_;
  Outcome outcome_;                    ///< of this refinement so far; blocks and bytes are this rank's
  bool is_over_ = false;               ///< is outcome_ complete, and has the policy yet to hear of it?
  bool is_new_ = false;                ///< has this refinement yet to ask how long ranks worked?
  double worked_ = 0.0, spent_ = 0.0;  ///< of this rank's clocks, up to the last exchange
  std::int64_t stages_ = 0, stages_before_ = 0;
  BalanceTotals mine_;
};

}  // namespace amrbench::loadbalance
