#pragma once
// The time loop: stages, moving objects, refinement, balancing, checks (miniAMR's driver;
// docs/architecture.md).
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "amr/checkpoint/restart.hpp"
#include "amr/checkpoint/run_state.hpp"
#include "amr/config.hpp"
#include "amr/fields.hpp"
#include "amr/growth.hpp"
#include "amr/mesh.hpp"
#include "amr/rebalancer.hpp"
#include "amr/stage.hpp"
#include "amr/verify.hpp"
#include "amr/workload.hpp"

namespace amrbench::amr {

/// The mesh of a simulation, whatever its dimension.
using AnyMesh = std::variant<const Mesh<2>*, const Mesh<3>*>;

/// Called on every rank after each step (and after the first refinement, with step 0).
using StepObserver = std::function<void(std::int64_t step, double simulated_time, const RunTotals& totals)>;

/// What of a simulation does not depend on its dimension.
class SimulationBase {
 public:
  SimulationBase(const SimulationBase&) = delete;
  SimulationBase& operator=(const SimulationBase&) = delete;
  virtual ~SimulationBase() = default;

  /// The first refinement and all steps, or those that are left; ends early when a check fails. Collective.
  virtual void run(const StepObserver& observer) = 0;
  /// For observers: the step just done is the last, whatever the configuration says. On every rank alike. Local.
  void stop() { is_stopped_ = true; }
  /// For observers: what the steps to come depend on besides blocks and values. Makes the check that is open, if one
  /// is; of use only if conservation() passes then. The fields are complete when it returns. Collective.
  [[nodiscard]] virtual RunState state() = 0;

  [[nodiscard]] const RunTotals& totals() const { return totals_; }
  [[nodiscard]] const ConservationCheck& conservation() const { return *check_; }
  [[nodiscard]] virtual AnyMesh any_mesh() const = 0;
  [[nodiscard]] virtual const Fields& fields() const = 0;
  [[nodiscard]] virtual StageDevice device() const = 0;
  [[nodiscard]] virtual HaloSize halo_size() const = 0;
  /// Statistics of the fields as they are now. Collective.
  [[nodiscard]] virtual std::vector<support::FieldStats> statistics() const = 0;
  /// What the workload says of them. Collective.
  [[nodiscard]] virtual std::vector<Finding> findings() const = 0;
  /// What files it has of them. Collective.
  virtual void write_files(const std::filesystem::path& folder, support::Existing existing) const = 0;
  /// The last check, of the fields as they are now, by their statistics.
  void check_end(const std::vector<support::FieldStats>& stats);

 protected:
  SimulationBase(const Config& config, support::Metrics& metrics) : config_(config), metrics_(metrics) {}

  const Config& config_;
  support::Metrics& metrics_;
  std::optional<ConservationCheck> check_;  ///< always there once the simulation is made
  std::optional<std::int64_t> open_check_;  ///< the step whose last stage was added up and is to be checked
  RunTotals totals_;
  double time_ = 0.0;          ///< simulated
  bool is_restarted_ = false;  ///< the first refinement was made by the run before
  bool is_stopped_ = false;
};

template <int Dim>
class Simulation final : public SimulationBase {
 public:
  /// Makes the root mesh and its initial fields, keeps the first sums. `space`: the keys of the blocks, of the
  /// configuration's root grid and levels; `workload`: used by nobody before. The references must outlive it. With
  /// `restart`, of a run of the same problem and of keys of this space: the mesh, fields and sums that are there
  /// instead. Collective.
  Simulation(const support::Communicator& comm, const Config& config, const sfc::KeySpace<Dim>& space,
             Workload<Dim>& workload, Rebalancer<Dim>& rebalancer, support::Metrics& metrics,
             const Restart* restart = nullptr);

  void run(const StepObserver& observer) override;
  [[nodiscard]] RunState state() override;
  [[nodiscard]] const Mesh<Dim>& mesh() const { return mesh_; }
  [[nodiscard]] AnyMesh any_mesh() const override { return &mesh_; }
  [[nodiscard]] const Fields& fields() const override { return fields_; }
  [[nodiscard]] const Stage<Dim>& stage() const { return stage_; }
  [[nodiscard]] StageDevice device() const override { return stage_.device(); }
  [[nodiscard]] HaloSize halo_size() const override { return stage_.halo_size(); }
  [[nodiscard]] std::vector<support::FieldStats> statistics() const override {
    return field_stats(mesh_, fields_, measure_);
  }
  [[nodiscard]] std::vector<Finding> findings() const override { return workload_.findings(mesh_, fields_, time_); }
  void write_files(const std::filesystem::path& folder, support::Existing existing) const override {
    workload_.write_files(mesh_, fields_, folder, existing);
  }

 private:
  void go_on(const Restart& restart);
  void refine(int passes, bool is_first = false);
  void count_blocks();
  void advance_stage(std::int64_t step);
  /// Makes the check that a stage before left open, if one did; whether all have passed. A check waits for the device,
  /// so it is made as late as the next stage allows, and refinements are planned meanwhile.
  bool checks_pass();
  [[nodiscard]] bool more_steps();
  [[nodiscard]] double longest_step() const;
  [[nodiscard]] double tolerance() const { return std::max(config_.run.tolerance, stage_.rounding_drift()); }
  [[nodiscard]] bool adapts() const {
    return config_.mesh.max_level > 0 && !config_.mesh.uniform && !config_.mesh.frozen;
  }

  Workload<Dim>& workload_;
  Rebalancer<Dim>& rebalancer_;
  Mesh<Dim> mesh_;
  Backend<Dim> backend_;
  Fields& fields_;  ///< of the back end
  Stage<Dim>& stage_;
  Growth growth_;
  Measure measure_;
};

extern template class Simulation<2>;
extern template class Simulation<3>;

}  // namespace amrbench::amr
