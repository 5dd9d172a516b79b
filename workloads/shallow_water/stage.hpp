#pragma once
// A stage of the shallow-water equations over all blocks in host memory: SSPRK2 in two stages a step.
//
// The first stage reads U from the input buffer and writes U + dt L(U) to the other, which then holds the input; the
// second writes where U^n still stands. Bed and roughness never move: they are copied once after the mesh has changed.
// Blocks without water whose surroundings hold none are left out: their values are what they were.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "workloads/shallow_water/strips.hpp"
#include "workloads/shallow_water/water_stage.hpp"

namespace amrbench::workloads::shallow_water {

class ShallowWaterStage final : public WaterStage {
 public:
  /// `problem` must outlive it. overlap: blocks without remote neighbours are computed while messages fly.
  ShallowWaterStage(const Problem& problem, double cfl, bool overlap);
  ~ShallowWaterStage() override;

  void mesh_changed(const amr::Mesh<2>& mesh) override;
  void advance(const amr::Mesh<2>& mesh, amr::Fields& fields, std::int64_t stage, const support::FixedPointScale* scale,
               support::Metrics& metrics) override;
  [[nodiscard]] std::vector<support::FixedPointSum> sums() override;
  void measure_blocks() override { measures_ = true; }
  [[nodiscard]] std::span<const double> block_seconds() const override { return block_seconds_; }
  [[nodiscard]] amr::HaloSize halo_size() const override { return halo_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const override;
  /// The depth, where no side lets water through.
  [[nodiscard]] int conserved_variables(bool /*mesh_is_uniform*/) const override {
    return problem_.is_closed() ? 1 : 0;
  }
  [[nodiscard]] double rounding_drift() const override { return problem_.rounding_drift(); }

  [[nodiscard]] std::int64_t computed() override { return computed_; }
  void wetted(std::span<const std::int32_t> blocks) override;
  void update_maps(const amr::Mesh<2>& mesh, amr::Fields& fields, double arrival_depth, double time) override;

 private:
  [[nodiscard]] double fastest(const amr::Mesh<2>& mesh, amr::Fields& fields) override;
  struct Worker;
  struct Pass {
    const amr::Mesh<2>& mesh;
    amr::FieldStore& fields;
    bool second;
    Moment moment;
    const support::FixedPointScale* scale;
  };
  void compute(const Pass& pass, std::span<const std::int32_t> blocks);
  void compute_block(const Pass& pass, std::int32_t i, Worker& worker);
  [[nodiscard]] bool is_dry_around(const amr::Mesh<2>& mesh, std::int32_t i) const;
  void add_up(const Pass& pass, std::int32_t i, Worker& worker) const;
  void measure_state(const amr::Mesh<2>& mesh, const amr::FieldStore& fields);

  const Problem& problem_;
  bool overlap_;
  StripHalo halo_;
  std::vector<std::int32_t> all_;
  bool is_new_ = true;           ///< the mesh, since the last stage: nothing is known of its blocks
  bool copies_bed_ = true;       ///< to the output, in the next stage
  std::vector<char> had_water_;  ///< of each block's state before the stage, and after it
  std::vector<char> has_water_;
  std::vector<char> same_;  ///< do both buffers hold the same of it?
  double fastest_ = 0.0;    ///< of this rank's present state [1/s]
  std::int64_t computed_ = 0;
  bool measures_ = false;
  std::vector<double> block_seconds_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< one a thread
};

}  // namespace amrbench::workloads::shallow_water
