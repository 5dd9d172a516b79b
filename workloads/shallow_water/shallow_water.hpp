#pragma once
// The shallow-water equations as a workload: a problem whose answer is known, on blocks that follow its waves.
#include <memory>
#include <vector>

#include "amr/config.hpp"
#include "amr/workload.hpp"
#include "workloads/shallow_water/config.hpp"
#include "workloads/shallow_water/problem.hpp"
#include "workloads/shallow_water/water_stage.hpp"

namespace amrbench::workloads {

class ShallowWater final : public amr::Workload<2> {
 public:
  /// The configurations must outlive it. Throws support::InputError for what makes no sense.
  ShallowWater(const amr::Config& config, const ShallowWaterConfig& water);

  [[nodiscard]] amr::Backend<2> make_backend(const support::Communicator& comm) override;
  [[nodiscard]] amr::PlotInfo plot_info() const override;
  void set_initial(const amr::Mesh<2>& mesh, amr::Fields& fields) override;
  void fill_initial(const amr::Mesh<2>& mesh, amr::Fields& fields, std::span<const std::int32_t> blocks) override;
  [[nodiscard]] bool knows_initial_state() const override { return true; }
  /// By how much surface and flow change from cell to cell (ShallowWaterConfig).
  [[nodiscard]] std::vector<amr::Change> mark(const amr::Mesh<2>& mesh, const amr::Fields& fields,
                                              const std::vector<amr::Change>* before) override;
  void adapted(const amr::Mesh<2>& mesh, amr::Fields& fields) override;
  double begin_step(const amr::Mesh<2>& mesh, amr::Fields& fields, amr::Stage<2>& stage, double longest) override;
  [[nodiscard]] double measure(int level) const override;
  void load(const amr::RunState& state) override { start_time_ = state.time; }
  [[nodiscard]] std::vector<amr::Finding> findings(const amr::Mesh<2>& mesh, const amr::Fields& fields,
                                                   double time) override;

 private:
  const amr::Config& config_;
  const ShallowWaterConfig& water_;
  shallow_water::Problem problem_;
  double start_time_ = 0.0;
  bool is_started_ = false;
  shallow_water::WaterStage* stage_ = nullptr;  ///< of the simulation, once it has begun
  double shortest_step_ = 0.0, longest_step_ = 0.0;
};

}  // namespace amrbench::workloads
