#pragma once
// Decider: what a refinement decides and what becomes of it, for a run and for its replay alike.
//
// It holds the policy, the history that the policy sees, and the totals of the record. It knows no mesh: whoever owns
// the blocks tells it loads, moves them when it says so, and tells it what moved.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "amr/migrate.hpp"
#include "amr/rebalancer.hpp"
#include "loadbalance/policy.hpp"
#include "support/mpi.hpp"

namespace amrbench::loadbalance {

/// What balancing did during a run, over ranks.
struct BalanceTotals {
  std::int64_t rebalances = 0;  ///< how often blocks were placed anew
  std::int64_t blocks_migrated = 0;
  std::int64_t bytes_migrated = 0;
  std::int64_t bytes_migrated_least = 0;  ///< by any naming of the same parts (amr::MigrationCount)
  double imbalance_sum = 0.0;             ///< of max / mean - 1 of the ranks' loads after each decision
  double imbalance_max = 0.0;
  std::int64_t decisions = 0;
  [[nodiscard]] double imbalance_mean() const {
    return decisions > 0 ? imbalance_sum / static_cast<double>(decisions) : 0.0;
  }
};

class Decider;
/// Throws support::InputError where a policy wants shares for ranks and slices cannot have them.
void check_shares(const Decider& decider, const PartitionConfig& partition);

/// What became of the last refinement, the same on every rank.
struct Decision {
  Action action = Action::leave;  ///< that was carried out
  double imbalance = 0.0;         ///< Load::imbalance() when the policy was first asked, or as it was where it was not
  double imbalance_after = 0.0;   ///< when it was over
};

/// What a rank tells the others once a refinement.
struct RankReport {
  double seconds = 0.0;                ///< worked since the last refinement
  double cost = 0.0;                   ///< of placing anew and moving in the last refinement
  std::int64_t blocks = 0, bytes = 0;  ///< moved in it
};

class Decider {
 public:
  /// Below this predicted imbalance moving ahead saves less than the second cut afterwards costs.
  static constexpr double kWorthwhile = 0.05;

  explicit Decider(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  /// A refinement begins at this position.
  void begin(const amr::RunPosition& position);
  /// Has this refinement yet to learn what was measured since the last?
  [[nodiscard]] bool is_new() const { return is_new_; }
  /// The segment that ends now and the outcome of the refinement before; one report a rank. Once a refinement.
  void learn(std::span<const RankReport> reports);
  /// Loads have another unit from now on: what is known of those before is worth nothing.
  void forget_loads();
  /// Before changes are applied: what to do now. Small imbalance that is only predicted is left for later.
  [[nodiscard]] Action ask_ahead(const Load& load);
  /// After the last change.
  [[nodiscard]] Action ask(const Load& load);
  /// Blocks were placed anew: `blocks` and `bytes` count for the totals, and for the outcome where this process knows
  /// of all ranks.
  void moved(bool predicted, const amr::MigrationCount& count);
  /// The refinement is over; `load` is what it leaves.
  void conclude(const Load& load);
  /// Placing the roots is no refinement.
  void forget_outcome() { outcome_ = {}; }

  /// For checkpoints: policy, history, totals and the outcome of which the policy has not heard, of all ranks and the
  /// same on each. `cost`: the outcome's seconds on this rank. Collective.
  [[nodiscard]] nlohmann::ordered_json save(const support::Communicator& comm, double cost) const;
  /// Back, at this many stages; counts that add up over ranks on rank 0. keeps_history: else only the totals,
  /// for a policy that knows nothing yet. Returns the outcome's seconds. Throws std::exception for what save() never
  /// gives. Local.
  double load(const nlohmann::ordered_json& saved, const support::Communicator& comm, bool keeps_history,
              std::int64_t stages);

  /// Policy::rank_shares().
  [[nodiscard]] std::span<const double> rank_shares() const { return policy_->rank_shares(); }
  /// Policy::measures().
  [[nodiscard]] bool measures() const { return policy_->measures(); }
  /// Policy::wants_outlook().
  [[nodiscard]] bool wants_outlook() const { return policy_->wants_outlook(); }
  /// How often this refinement moved blocks ahead of its changes.
  [[nodiscard]] int cuts() const { return outcome_.cuts_ahead; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  [[nodiscard]] const Decision& last() const { return last_; }
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const BalanceTotals& totals() const { return totals_; }

 private:
  std::unique_ptr<Policy> policy_;
  History history_;
  Outcome outcome_;       ///< of this refinement so far
  bool is_over_ = false;  ///< is outcome_ complete, and has the policy yet to hear of it?
  bool is_new_ = false;
  std::int64_t stages_ = 0, stages_before_ = 0;
  Decision last_;
  bool is_asked_ = false;  ///< in this refinement
  BalanceTotals totals_;
};

}  // namespace amrbench::loadbalance
