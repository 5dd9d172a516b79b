#pragma once
// A bump carried by a constant velocity, in two and three dimensions: the smallest workload that has everything
// (docs/adding-a-workload.md).
#include <vector>

#include "amr/config.hpp"
#include "amr/workload.hpp"
#include "workloads/advection/config.hpp"
#include "workloads/advection/problem.hpp"

namespace amrbench::workloads {

template <int Dim>
class Advection final : public amr::Workload<Dim> {
 public:
  /// The configurations must outlive it. Throws support::InputError for what makes no sense.
  Advection(const amr::Config& config, const AdvectionConfig& advection);

  [[nodiscard]] amr::Backend<Dim> make_backend(const support::Communicator& comm) override;
  [[nodiscard]] amr::HaloShape halo_shape() const override { return advection::kHalo; }
  [[nodiscard]] amr::PlotInfo plot_info() const override { return {{"tracer"}, false}; }
  void set_initial(const amr::Mesh<Dim>& mesh, amr::Fields& fields) override;
  void fill_initial(const amr::Mesh<Dim>& mesh, amr::Fields& fields, std::span<const std::int32_t> blocks) override;
  [[nodiscard]] bool knows_initial_state() const override { return true; }
  /// By how much the tracer changes from cell to cell (AdvectionConfig).
  [[nodiscard]] std::vector<amr::Change> mark(const amr::Mesh<Dim>& mesh, const amr::Fields& fields,
                                              const std::vector<amr::Change>* before) override;
  double begin_step(const amr::Mesh<Dim>& mesh, amr::Fields& fields, amr::Stage<Dim>& stage, double longest) override;
  [[nodiscard]] double measure(int level) const override;
  void load(const amr::RunState& state) override { time_ = state.time; }
  [[nodiscard]] std::vector<amr::Finding> findings(const amr::Mesh<Dim>& mesh, const amr::Fields& fields,
                                                   double time) override;

 private:
  const amr::Config& config_;
  const AdvectionConfig& advection_;
  advection::Problem<Dim> problem_;
  double time_ = 0.0;  ///< of the next step's beginning
};

extern template class Advection<2>;
extern template class Advection<3>;

}  // namespace amrbench::workloads
