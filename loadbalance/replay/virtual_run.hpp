#pragma once
// A run that is replayed: one strategy on ranks that are not there, refinement by refinement.
//
// It does what Balancer does, with the same Decider, CostModel and Placement, but owners are numbers in an array, and
// seconds come from a Machine instead of clocks. So cuts, blocks that move and loads are those of the run, for policies
// that look at loads; those that look at seconds see the modelled ones.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "loadbalance/block_table.hpp"
#include "loadbalance/config.hpp"
#include "loadbalance/cost_model.hpp"
#include "loadbalance/decider.hpp"
#include "loadbalance/placement.hpp"
#include "loadbalance/replay/machine.hpp"
#include "loadbalance/replay/virtual_ranks.hpp"

namespace amrbench::loadbalance {

/// What is replayed.
struct Strategy {
  int ranks = 1;
  PartitionConfig partition;
  BalanceConfig balance;
};

/// Modelled seconds of the slowest rank, by phase; time_s of a run is their sum.
struct ReplayTimes {
  double stencil_s = 0.0;  ///< computation of the slowest rank of each segment
  double halo_s = 0.0;     ///< what communication adds to it
  double refine_s = 0.0;
  double balance_s = 0.0;  ///< exchanges of loads, and computing cuts
  double migrate_s = 0.0;
  [[nodiscard]] double total() const { return stencil_s + halo_s + refine_s + balance_s + migrate_s; }
};

/// What a stage of a segment exchanges; the largest of any of them, each number by itself.
struct ReplayHalo {
  std::int64_t degree_max = 0, edge_cut_max = 0, bytes_max = 0, bytes_total = 0;
  NodeTraffic nodes;

  void raise_to(const ReplayHalo& other);
};

/// A refinement that changed the mesh, and the segment that led to it.
struct ReplayStep {
  std::int64_t step = 0;
  std::int64_t blocks = 0;
  double imbalance = 0.0;  ///< after the decision
  bool has_cut = false;
  double segment_s = 0.0;    ///< stages since the refinement before
  double balancing_s = 0.0;  ///< placing anew and moving, in this refinement
};

/// Which rank owns each block under one rule of placing: shared by policies and by the search for the best schedule.
class Placer {
 public:
  /// Throws support::InputError for a strategy that cannot be replayed: weights that a run measures, or nodes that do
  /// not divide the ranks. partition.nodes: kNodesOfRun has the machine's ranks_per_node, a number of nodes its own.
  Placer(const Strategy& strategy, const TraceHeader& header, const Machine& machine);

  [[nodiscard]] const Strategy& strategy() const { return strategy_; }
  [[nodiscard]] const CostModel& model() const { return *model_; }
  /// Must tables have centres?
  [[nodiscard]] bool needs_centres() const { return model_->needs_centres() || !placement_.follows_keys(); }
  /// Must they have graphs?
  [[nodiscard]] bool needs_graph() const { return placement_.needs_graph(); }
  /// As Balancer sees it. O(blocks).
  [[nodiscard]] Load load(const BlockTable& table, std::span<const std::int32_t> owners, bool predicted, int cuts,
                          std::span<const double> shares = {}) const;
  /// Owners after placing anew, or nothing where that would change nothing and is left out. shares: of the ranks, for
  /// Action::incremental. O(blocks).
  [[nodiscard]] std::optional<Owners> place(const BlockTable& table, std::span<const std::int32_t> owners,
                                            Action action, const Load& load, std::span<const double> shares = {}) const;
  /// Fills in Load::outlook; returns the owners it tells of.
  std::optional<Owners> look_ahead(const BlockTable& table, std::span<const std::int32_t> owners, Load& load) const;
  [[nodiscard]] Owners place_roots(const BlockTable& table, Decider* decider) const;
  /// Owners of the blocks of the next pass.
  [[nodiscard]] static Owners follow(std::span<const std::int32_t> owners, std::span<const std::int32_t> origin);

  /// Seconds of the stages of a segment on this mesh, and of each rank's own work in it.
  struct Work {
    double stencil_s = 0.0, halo_s = 0.0;
    std::vector<double> rank_seconds;
    std::vector<double> rank_compute;  ///< of rank_seconds, what is no communication
    ReplayHalo halo;
  };
  /// costs: as TraceVisitor::segment.
  template <int Dim>
  [[nodiscard]] Work work(const amr::Mesh<Dim>& mesh, std::span<const double> costs,
                          std::span<const std::int32_t> owners, std::int64_t stages) const;
  /// Seconds of a pass of refinement on the mesh that it leaves; `origin`: of its blocks, where any changed.
  [[nodiscard]] double refine_seconds(std::span<const std::int32_t> owners,
                                      std::span<const std::int32_t> origin = {}) const;
  /// Seconds of telling each other loads.
  [[nodiscard]] double exchange_seconds() const;
  /// Seconds of computing new owners.
  [[nodiscard]] double cut_seconds(std::span<const std::int32_t> owners) const;
  [[nodiscard]] MoveCost move(std::span<const std::int32_t> from, std::span<const std::int32_t> to) const {
    return move_cost(from, to, strategy_.ranks, header_.block_bytes(), machine_);
  }
  [[nodiscard]] std::int64_t block_bytes() const { return header_.block_bytes(); }

 private:
  [[nodiscard]] std::optional<Owners> place(const BlockTable& table, std::span<const std::int32_t> owners,
                                            Action action, const Load& load, std::span<const double> shares,
                                            double limit_move) const;
  Strategy strategy_;
  TraceHeader header_;
  Machine machine_;
  std::unique_ptr<CostModel> model_;
  Placement placement_;
};

/// A strategy whose policy decides.
class VirtualRun {
 public:
  /// Throws support::InputError where policy and placer do not go together.
  VirtualRun(const Placer& placer, std::unique_ptr<Policy> policy) : placer_(placer), decider_(std::move(policy)) {
    check_shares(decider_, placer.strategy().partition);
  }
  /// Balancer::measures().
  [[nodiscard]] bool measures() const { return placer_.model().measures() || decider_.measures(); }

  // In the order of a run. Tables are weighed by the placer's model.
  void place_roots(const BlockTable& table) { owners_ = placer_.place_roots(table, &decider_); }
  /// The stages since the last refinement, on the mesh as it is.
  template <int Dim>
  void work(const amr::Mesh<Dim>& mesh, std::span<const double> costs, std::int64_t stages);
  void begin(const amr::RunPosition& position) { decider_.begin(position); }
  /// `table`: of what the blocks become.
  void ahead(const BlockTable& table);
  void follow(std::span<const std::int32_t> origin);
  void conclude(const BlockTable& table);
  /// A consensus that found nothing to change.
  void look() { times_.refine_s += placer_.refine_seconds(owners_); }

  [[nodiscard]] const Owners& owners() const { return owners_; }
  [[nodiscard]] const ReplayTimes& times() const { return times_; }
  /// As in a run's record: own computation of the rank with the most, and waiting and communication of that with most.
  [[nodiscard]] double stencil_max() const;
  [[nodiscard]] double halo_max() const;
  [[nodiscard]] const BalanceTotals& totals() const { return decider_.totals(); }
  [[nodiscard]] const ReplayHalo& halo() const { return halo_; }
  [[nodiscard]] const ReplayHalo& last_halo() const { return last_halo_; }
  /// Bytes that all ranks send in all stages, and those of them that go to other nodes.
  [[nodiscard]] double halo_bytes() const { return halo_bytes_; }
  [[nodiscard]] double node_halo_bytes() const { return node_halo_bytes_; }
  [[nodiscard]] const std::vector<ReplayStep>& series() const { return series_; }

 private:
  void learn();
  void decide(const BlockTable& table, bool predicted);
  const Placer& placer_;
  Decider decider_;
  Owners owners_;
  ReplayTimes times_;
  ReplayHalo halo_, last_halo_;
  double halo_bytes_ = 0.0, node_halo_bytes_ = 0.0;
  std::vector<ReplayStep> series_;
  double segment_s_ = 0.0;
  std::vector<double> rank_seconds_;  ///< worked since the last refinement
  std::vector<double> compute_;       ///< of each rank in all
  double cost_ = 0.0;                 ///< of balancing in the last refinement
};

}  // namespace amrbench::loadbalance
