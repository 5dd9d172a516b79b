#pragma once
// Stages of stencils that need faces only (7 points): faces are read where they lie.
//
// A face of a local neighbour of the same level is read inside that neighbour, a remote one inside the message. Faces
// that cross a level are made just before the block that needs them is computed, in a scratch buffer of the thread that
// stays in its cache: no pass over memory of its own.
#include "amr/halo.hpp"
#include "amr/stage.hpp"
#include "kernels/average7.hpp"

namespace amrbench::amr {

class FaceStage final : public Stage {
 public:
  FaceStage(const kernels::BlockLayout& layout, bool overlap);
  ~FaceStage() override;

  void mesh_changed(const Mesh<3>& mesh) override;
  std::vector<support::FixedPointSum> advance(const Mesh<3>& mesh, FieldStore& fields, std::int64_t stage,
                                              const support::FixedPointScale* scale,
                                              support::Metrics& metrics) override;
  [[nodiscard]] HaloSize halo_size() const override;
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool /*mesh_is_uniform*/) const override { return layout_.variables; }

 private:
  struct Scratch;
  void run_blocks(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks, bool summing);
  kernels::BlockArgs block_args(const Mesh<3>& mesh, FieldStore& fields, std::int32_t i, Scratch& scratch) const;
  kernels::FaceView coarse_face(const Mesh<3>& mesh, const FieldStore& fields, std::int32_t i, int face, double* out,
                                double* quarter) const;
  kernels::FaceView fine_face(const Mesh<3>& mesh, const FieldStore& fields, std::int32_t i, int face, double* out,
                              double* quarter) const;

  kernels::BlockLayout layout_;
  bool overlap_;
  kernels::Average7Kernel kernel_;
  Halo halo_;
  int neighbors_ = 0;
  bool streaming_ = false;  ///< stores of results go past the caches
  std::vector<std::int32_t> all_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  ///< one a thread
};

}  // namespace amrbench::amr
