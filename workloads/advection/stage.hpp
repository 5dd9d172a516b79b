#pragma once
// A stage of the advection equation over all blocks in host memory: SSPRK2 in two stages a step.
//
// The first stage reads q from the input buffer and writes q + dt L(q) to the other, which then holds the input; the
// second writes where q^n still stands.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amr/stage.hpp"
#include "workloads/advection/problem.hpp"
#include "workloads/advection/worker.hpp"

namespace amrbench::workloads::advection {

template <int Dim>
class AdvectionStage final : public amr::Stage<Dim> {
 public:
  /// `problem` must outlive it. overlap: blocks without remote neighbours are computed while messages fly.
  AdvectionStage(const Problem<Dim>& problem, bool overlap);
  ~AdvectionStage() override;

  void mesh_changed(const amr::Mesh<Dim>& mesh) override;
  void advance(const amr::Mesh<Dim>& mesh, amr::Fields& fields, std::int64_t stage,
               const support::FixedPointScale* scale, support::Metrics& metrics) override;
  [[nodiscard]] std::vector<support::FixedPointSum> sums() override;
  void measure_blocks() override { measures_ = true; }
  [[nodiscard]] std::span<const double> block_seconds() const override { return block_seconds_; }
  [[nodiscard]] amr::HaloSize halo_size() const override { return halo_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const override;
  /// The tracer, until it reaches a side of the domain.
  [[nodiscard]] int conserved_variables(bool /*mesh_is_uniform*/) const override { return is_inside_ ? 1 : 0; }

  /// The step in which the tracer crosses `cfl` cells of this rank's finest level, added up over the axes; infinite
  /// where nothing moves. Local.
  [[nodiscard]] double stable_step(const amr::Mesh<Dim>& mesh, double cfl) const;
  /// The largest absolute value of this rank in cells at the sides of the domain. Local.
  [[nodiscard]] double largest_at_sides(const amr::Mesh<Dim>& mesh, const amr::FieldStore& fields) const;
  /// What the next two stages are: a step from `time` on, of length `step`; the same on all ranks. Local.
  void begin_step(double time, double step, bool is_inside);

 private:
  struct Thread;
  struct Pass {
    const amr::Mesh<Dim>& mesh;
    amr::FieldStore& fields;
    bool second;
    const support::FixedPointScale* scale;
  };
  void compute(const Pass& pass, std::span<const std::int32_t> blocks);
  void compute_block(const Pass& pass, std::int32_t i, Thread& thread) const;

  const Problem<Dim>& problem_;
  bool overlap_;
  Halo<Dim> halo_;
  std::vector<std::int32_t> all_;
  double time_ = 0.0, step_ = 0.0;
  bool is_inside_ = true;
  bool measures_ = false;
  std::vector<double> block_seconds_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

extern template class AdvectionStage<2>;
extern template class AdvectionStage<3>;

}  // namespace amrbench::workloads::advection
