#pragma once
// Stages of stencils that need faces only (7 points): faces are read where they lie.
//
// A face of a local neighbour of the same level is read inside that neighbour, a remote one inside the message. Faces
// that cross a level are made just before the chunk that needs them is computed, in a scratch buffer of the thread that
// stays in its first-level cache: no pass over memory of its own.
// A thread walks its stretch of the curve in groups of blocks, and each group chunk by chunk: one chunk of a group,
// with the neighbours' faces of that chunk, fits the second-level cache, so a face is fetched from memory once. While a
// chunk is computed the next one is prefetched (docs/decisions/0003-stencil-schedule.md).
#include "amr/halo.hpp"
#include "amr/stage.hpp"
#include "amr/stage_passes.hpp"
#include "amr/work.hpp"
#include "kernels/average7/average7.hpp"

namespace amrbench::amr {

class FaceStage final : public Stage<3> {
 public:
  FaceStage(const kernels::BlockLayout& layout, const StageOptions& options);
  ~FaceStage() override;

  void mesh_changed(const Mesh<3>& mesh) override;
  void advance(const Mesh<3>& mesh, Fields& fields, std::int64_t stage, const support::FixedPointScale* scale,
               support::Metrics& metrics) override;
  [[nodiscard]] std::vector<support::FixedPointSum> sums() override;
  void measure_blocks() override { measures_ = true; }
  [[nodiscard]] std::span<const double> block_seconds() const override { return block_seconds_; }
  [[nodiscard]] HaloSize halo_size() const override;
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool /*mesh_is_uniform*/) const override { return layout_.variables; }

 private:
  struct Scratch;
  struct Task;
  /// Blocks, and the artificial work on them; returns seconds.
  double compute(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks,
                 std::span<const WorkRound> rounds, bool summing);
  void run_blocks(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks, bool summing);
  void run_group(const Mesh<3>& mesh, FieldStore& fields, std::span<const std::int32_t> blocks, bool summing,
                 Scratch& scratch) const;
  void make_task(const Mesh<3>& mesh, FieldStore& fields, std::int32_t i, std::size_t chunk, Task& task) const;
  void make_face(const Mesh<3>& mesh, const FieldStore& fields, std::int32_t i, int face, std::size_t chunk, int chunks,
                 double* out) const;

  kernels::BlockLayout layout_;
  StageOptions options_;
  kernels::Average7Kernel kernel_;
  Halo halo_;
  std::array<std::size_t, 3> face_chunk_{};  ///< doubles of a chunk of a packed face, by axis
  std::array<std::size_t, 6> face_begin_{};  ///< doubles from a chunk's begin to its face, in place
  StagePasses passes_;
  StoreChoice stores_;
  bool streaming_ = false;  ///< stores of the stage's results go past the caches
  std::vector<std::int32_t> all_;
  /// Of what is computed before messages are in (nothing without overlap), and after.
  std::vector<WorkRound> first_rounds_, last_rounds_;
  bool measures_ = false;
  std::vector<double> block_seconds_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  ///< one a thread
};

}  // namespace amrbench::amr
