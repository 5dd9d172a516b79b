#pragma once
// The time loop: stages, moving objects, refinement, balancing, checks (miniAMR's driver;
// docs/architecture.md).
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "amr/backend.hpp"
#include "amr/checkpoint/restart.hpp"
#include "amr/checkpoint/run_state.hpp"
#include "amr/config.hpp"
#include "amr/fields.hpp"
#include "amr/growth.hpp"
#include "amr/mesh.hpp"
#include "amr/objects.hpp"
#include "amr/rebalancer.hpp"
#include "amr/stage.hpp"
#include "amr/verify.hpp"

namespace amrbench::amr {

/// Called on every rank after each step (and after the first refinement, with step 0).
using StepObserver = std::function<void(std::int64_t step, double simulated_time, const RunTotals& totals)>;

class Simulation {
 public:
  /// Makes the root mesh and its initial fields, keeps the first sums. `space`: the keys of the blocks, of the
  /// configuration's root grid and levels. The references must outlive it. With `restart`, of a run of the same problem
  /// and of keys of this space: the mesh, fields and sums that are there instead. Collective.
  Simulation(const support::Communicator& comm, const Config& config, const sfc::KeySpace<3>& space,
             Rebalancer& rebalancer, support::Metrics& metrics, const Restart* restart = nullptr);

  /// The first refinement and all steps, or those that are left; ends early when a check fails. Collective.
  void run(const StepObserver& observer);
  /// For observers: the step just done is the last, whatever the configuration says. On every rank alike. Local.
  void stop() { is_stopped_ = true; }
  /// For observers: what the steps to come depend on besides blocks and values. Makes the check that is open, if one
  /// is; of use only if conservation() passes then. The fields are complete when it returns. Collective.
  [[nodiscard]] RunState state();

  [[nodiscard]] const RunTotals& totals() const { return totals_; }
  [[nodiscard]] const ConservationCheck& conservation() const { return check_; }
  [[nodiscard]] const Mesh<3>& mesh() const { return mesh_; }
  [[nodiscard]] const Fields& fields() const { return fields_; }
  [[nodiscard]] const Stage& stage() const { return stage_; }
  /// Statistics of the fields as they are now. Collective.
  [[nodiscard]] std::vector<support::FieldStats> statistics() const { return field_stats(mesh_, fields_); }
  /// The last check, of the fields as they are now, by their statistics.
  void check_end(const std::vector<support::FieldStats>& stats);

 private:
  void go_on(const Restart& restart);
  void refine(int passes);
  void count_blocks();
  void advance_stage(std::int64_t step);
  /// Makes the check that a stage before left open, if one did; whether all have passed. A check waits for the device,
  /// so it is made as late as the next stage allows, and refinements are planned meanwhile.
  bool checks_pass();
  [[nodiscard]] bool more_steps();
  [[nodiscard]] double time_delta() const;
  [[nodiscard]] bool adapts() const { return config_.mesh.max_level > 0 && !config_.mesh.uniform; }

  const Config& config_;
  Rebalancer& rebalancer_;
  support::Metrics& metrics_;
  Mesh<3> mesh_;
  Backend backend_;
  Fields& fields_;  ///< of the back end
  Stage& stage_;
  Growth growth_;
  std::vector<Object> objects_;
  ConservationCheck check_;
  std::optional<std::int64_t> open_check_;  ///< the step whose last stage was added up and is to be checked
  RunTotals totals_;
  double time_ = 0.0;          ///< simulated
  bool is_restarted_ = false;  ///< the first refinement was made by the run before
  bool is_stopped_ = false;
};

}  // namespace amrbench::amr
