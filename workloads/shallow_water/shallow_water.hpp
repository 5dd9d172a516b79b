#pragma once
// The shallow-water equations as a workload: a problem in closed form or of files, on blocks that follow its waves.
#include <memory>
#include <vector>

#include "amr/config.hpp"
#include "amr/field_store.hpp"
#include "amr/workload.hpp"
#include "workloads/config.hpp"
#include "workloads/shallow_water/gauges.hpp"
#include "workloads/shallow_water/inflow.hpp"
#include "workloads/shallow_water/problem.hpp"
#include "workloads/shallow_water/strips.hpp"
#include "workloads/shallow_water/water_stage.hpp"

namespace amrbench::workloads {

class ShallowWater final : public amr::Workload<2> {
 public:
  /// The configurations must outlive it. Throws support::InputError for what makes no sense.
  ShallowWater(const amr::Config& config, const WorkloadConfig& more);

  [[nodiscard]] amr::Backend<2> make_backend(const support::Communicator& comm) override;
  [[nodiscard]] amr::HaloShape halo_shape() const override { return shallow_water::StripHalo::kShape; }
  [[nodiscard]] amr::PlotInfo plot_info() const override;
  void set_initial(const amr::Mesh<2>& mesh, amr::Fields& fields) override;
  void fill_initial(const amr::Mesh<2>& mesh, amr::Fields& fields, std::span<const std::int32_t> blocks) override;
  [[nodiscard]] bool knows_initial_state() const override { return true; }
  /// By how much surface and flow change from cell to cell (ShallowWaterConfig).
  [[nodiscard]] std::vector<amr::Change> mark(const amr::Mesh<2>& mesh, const amr::Fields& fields,
                                              const std::vector<amr::Change>* before) override;
  void adapted(const amr::Mesh<2>& mesh, amr::Fields& fields) override;
  double begin_step(const amr::Mesh<2>& mesh, amr::Fields& fields, amr::Stage<2>& stage, double longest) override;
  /// 1 for blocks that hold water or have some right behind a face, next to nothing for others.
  [[nodiscard]] std::vector<double> block_costs(const amr::Mesh<2>& mesh, const amr::Fields& fields) override;
  [[nodiscard]] double measure(int level) const override;
  void observe(const amr::Mesh<2>& mesh, amr::Fields& fields, double time) override;
  void save(amr::RunState& state) const override;
  void load(const amr::RunState& state) override;
  [[nodiscard]] std::vector<amr::Finding> findings(const amr::Mesh<2>& mesh, const amr::Fields& fields,
                                                   double time) override;
  /// gauges.csv where there are gauges; rasters where there are maps (shallow_water/maps.hpp).
  void write_files(const amr::Mesh<2>& mesh, const amr::Fields& fields, const std::filesystem::path& folder,
                   support::Existing existing) override;

 private:
  /// Cells behind the faces of all blocks. Collective over neighbours.
  static void exchange(const amr::Mesh<2>& mesh, const amr::FieldStore& store, shallow_water::StripHalo& halo);
  void mark_inflows(const amr::Mesh<2>& mesh, std::vector<amr::Change>& marks);
  /// As blocks hold it.
  [[nodiscard]] double held(double x) const;
  /// Of all ranks [m^3].
  [[nodiscard]] double volume(const amr::Mesh<2>& mesh, const amr::FieldStore& store) const;
  void add_errors(const amr::Mesh<2>& mesh, const amr::FieldStore& store, double time,
                  std::vector<amr::Finding>& all) const;
  const amr::Config& config_;
  const ShallowWaterConfig& water_;
  shallow_water::Problem problem_;
  shallow_water::Inflows inflows_;
  shallow_water::Gauges gauges_;
  std::int64_t inflow_meshes_ = -1;  ///< of the stage, when the cells of the inflows were found
  double first_volume_ = 0.0;        ///< at time 0 [m^3]; known where water comes in
  double start_time_ = 0.0;
  double last_time_ = 0.0;  ///< that was observed
  bool is_started_ = false;
  shallow_water::WaterStage* stage_ = nullptr;  ///< of the simulation, once it has begun
  double shortest_step_ = 0.0, longest_step_ = 0.0;
};

}  // namespace amrbench::workloads
