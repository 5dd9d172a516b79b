#pragma once
// The averages of miniAMR as a workload: extensive variables, random at the start, averaged over neighbours in every
// stage (run.stencil), refined where objects pass (docs/miniamr.md).
#include <vector>

#include "amr/config.hpp"
#include "amr/objects.hpp"
#include "amr/workload.hpp"

namespace amrbench::workloads {

class Averages final : public amr::Workload<3> {
 public:
  /// `config` must outlive it. Throws support::InputError on an object that makes no sense.
  explicit Averages(const amr::Config& config) : config_(config), objects_(amr::make_objects(config.objects)) {}

  [[nodiscard]] amr::Backend<3> make_backend(const support::Communicator& comm) override;
  /// Throws support::InputError where fields.initial is unknown.
  void set_initial(const amr::Mesh<3>& mesh, amr::Fields& fields) override;
  [[nodiscard]] std::vector<amr::Change> mark(const amr::Mesh<3>& mesh, const amr::Fields& fields,
                                              const std::vector<amr::Change>* before) override;
  /// miniAMR's length of a step, by the speed of the objects where neither number nor length of steps is given.
  double begin_step(const amr::Mesh<3>& mesh, amr::Fields& fields, amr::Stage<3>& stage, double longest) override;
  void end_step(double delta) override { amr::move_objects(objects_, delta); }
  void save(amr::RunState& state) const override { state.objects = objects_; }
  void load(const amr::RunState& state) override { objects_ = state.objects; }

 private:
  const amr::Config& config_;
  std::vector<amr::Object> objects_;
};

}  // namespace amrbench::workloads
