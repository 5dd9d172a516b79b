#pragma once
// Balancer: puts cost model, policy, placement and migration together for the time loop.
//
// mesh -> BlockTable -> CostModel -> loads -> Policy -> Placement -> Migrator. Every number a policy sees is reduced
// over ranks first. What a decision cost and how long ranks worked travel with the first exchange of loads of the next
// refinement, so nothing is sent for them.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "amr/rebalancer.hpp"
#include "loadbalance/cost_model.hpp"
#include "loadbalance/decider.hpp"
#include "loadbalance/migrator.hpp"
#include "loadbalance/placement.hpp"

namespace amrbench::loadbalance {

/// What of balancing does not depend on the dimension of the mesh: its objects, its clocks and its history.
class BalancerState {
 public:
  /// For checkpoints: what decisions to come depend on besides blocks and their weights, the same on every rank.
  /// Collective.
  [[nodiscard]] nlohmann::ordered_json save(const support::Communicator& comm) const;
  /// Back, before the simulation is made, in a run that has done so many stages. keeps_history: on as many ranks with
  /// as many threads on the same back end; else seconds measured there say nothing here, and policies begin anew.
  /// Throws std::exception for what save() never gives. Local.
  void load(const nlohmann::ordered_json& saved, const support::Communicator& comm, bool keeps_history,
            std::int64_t stages);

  [[nodiscard]] const History& history() const { return decider_.history(); }
  [[nodiscard]] const Decision& last_decision() const { return decider_.last(); }
  /// Blocks that this rank has sent so far.
  [[nodiscard]] std::int64_t blocks_sent() const { return decider_.totals().blocks_migrated; }
  /// Totals over ranks. Collective.
  [[nodiscard]] BalanceTotals totals(const support::Communicator& comm) const;

 protected:
  BalancerState(std::unique_ptr<Policy> policy, std::unique_ptr<CostModel> model, const PartitionConfig& partition);

  Decider decider_;
  std::unique_ptr<CostModel> model_;
  Placement placement_;
  double limit_move_ = 0.0;         ///< BalanceConfig::limit_move
  double heaviest_row_ = 1.0;       ///< largest load of a row of any rank's table
  double worked_ = 0.0;             ///< of this rank's clock, up to the last exchange
  double learnt_ = 0.0;             ///< the same up to the last learn()
  std::int64_t stages_ = 0;         ///< done when this refinement began
  std::int64_t stages_learnt_ = 0;  ///< and at the last learn()
  double cost_ = 0.0;               ///< seconds of placing and moving in this refinement
};

/// Places blocks anew whenever the policy wants it: ahead of changes by what each block will become, and only when
/// ranks would end up clearly apart; after them by the blocks there are.
template <int Dim = 3>
class Balancer final : public amr::Rebalancer<Dim>, public BalancerState {
 public:
  /// Throws support::InputError on an unknown policy, cost model, method or splitter.
  explicit Balancer(const BalanceConfig& config, const PartitionConfig& partition = {},
                    std::span<const amr::WorkConfig> work = {});
  /// With objects that need not be registered.
  Balancer(std::unique_ptr<Policy> policy, std::unique_ptr<CostModel> model, const PartitionConfig& partition);

  void place_roots(amr::Mesh<Dim>& mesh, amr::Fields& fields, support::Metrics& metrics) override;
  [[nodiscard]] bool measures() const override { return model_->measures() || decider_.measures(); }
  void begin(const amr::RunPosition& position) override;
  void learn(amr::Mesh<Dim>& mesh, std::span<const double> block_seconds, const support::Metrics& metrics) override;
  [[nodiscard]] bool wants_costs() const override { return model_->wants_costs(); }
  void set_costs(amr::Mesh<Dim>& mesh, std::span<const double> costs) override;
  /// One exchange of loads; where blocks move along their keys, two more for the cuts.
  bool rebalance_ahead(amr::Mesh<Dim>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes,
                       support::Metrics& metrics) override;
  /// Nothing is exchanged where blocks weigh the same and follow the keys, but for the blocks that move.
  bool rebalance(amr::Mesh<Dim>& mesh, amr::Fields& fields, support::Metrics& metrics) override;

 private:
  /// What a rank tells the others.
  struct Share {
    double load, heaviest_block, heaviest_row;  ///< NaN where a weight was refused
    RankReport report;
  };
  Load weigh(amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes, bool predicted,
             const support::Metrics& metrics);
  [[nodiscard]] Share share_of_table() const;
  [[nodiscard]] Share share_of_equals(const amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes) const;
  void tabulate(amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes);
  Load present_load(amr::Mesh<Dim>& mesh, const support::Metrics& metrics);
  Destinations destinations(const amr::Mesh<Dim>& mesh, Action action, const Load& load);
  Destinations unlimited_destinations(const amr::Mesh<Dim>& mesh, Action action, const Load& load);
  [[nodiscard]] bool slices_evenly(Action action, const Load& load) const;
  void look_ahead(amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes, Load& load);
  [[nodiscard]] Outlook outlook_of(const amr::Mesh<Dim>& mesh, const Destinations& destinations) const;
  void move(amr::Mesh<Dim>& mesh, amr::Fields& fields, std::vector<amr::Change>& changes, Action action,
            const Load& load, support::Metrics& metrics);

  BlockTable table_;
  bool has_table_ = false;            ///< does it hold the blocks weighed last?
  std::optional<Destinations> seen_;  ///< of the last outlook
};

extern template class Balancer<2>;
extern template class Balancer<3>;

}  // namespace amrbench::loadbalance
