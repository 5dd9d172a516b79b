#pragma once
// What the workload asks of its stage, on the host or on a GPU.
#include <algorithm>
#include <cstdint>
#include <span>

#include "amr/stage.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

class WaterStage : public amr::Stage<2> {
 public:
  /// The largest stable time step times cfl, at most `longest`, and from now on that of the stages. Throws
  /// support::RunError where it is no positive number. Collective.
  double choose_step(const amr::Mesh<2>& mesh, amr::Fields& fields, double longest);
  /// Makes the step that was chosen at most this long.
  void limit_step(double most) { step_ = std::min(step_, most); }
  /// Simulated time, of the next step's beginning.
  void set_time(double time) { time_ = time; }
  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] double cfl() const { return cfl_; }
  /// How often the mesh has changed.
  [[nodiscard]] std::int64_t meshes() const { return meshes_; }
  void mesh_changed(const amr::Mesh<2>& /*mesh*/) override { ++meshes_; }
  /// Blocks got water between two steps.
  virtual void wetted(std::span<const std::int32_t> blocks) = 0;
  /// Looks at the depths of all blocks (maps.hpp).
  virtual void update_maps(const amr::Mesh<2>& mesh, amr::Fields& fields, double arrival_depth, double time) = 0;
  /// Block stages computed and left out by this rank. Waits for them.
  [[nodiscard]] virtual std::int64_t computed() = 0;
  [[nodiscard]] std::int64_t left_out() { return stages_ - computed(); }

 protected:
  explicit WaterStage(double cfl) : cfl_(cfl) {}
  /// The largest (|u| + c) / dx of this rank's present state, the mesh's blocks standing in order. Waits for it.
  [[nodiscard]] virtual double fastest(const amr::Mesh<2>& mesh, amr::Fields& fields) = 0;
  [[nodiscard]] double step() const { return step_; }
  /// Of a stage's sides.
  [[nodiscard]] Moment moment(bool second) const { return {second ? time_ + step_ : time_, time_, time_ + step_}; }
  /// A stage of so many blocks was made.
  void count_stage(std::int64_t blocks, bool second) {
    stages_ += blocks;
    if (second) time_ += step_;
  }

 private:
  double cfl_;
  double time_ = 0.0, step_ = 0.0;
  std::int64_t stages_ = 0;  ///< block stages
  std::int64_t meshes_ = 0;
};

}  // namespace amrbench::workloads::shallow_water
