#pragma once
// Stages of stencils that need edges and corners: the 27-point average and miniAMR's mixed work.
//
// A stage copies every block into the inside of its tile, fills the ghosts of all tiles axis by axis
// (amr/wide_halo.hpp), and computes each block from its tile. Ghosts depend on nothing but the mesh and the values, so
// any ranks, threads, curve, and either kind of exchange give the same bits. `overlap`: ghosts from local neighbours
// are filled while messages fly; blocks are computed after the last axis in both cases, since an edge of the ghost
// layer is known only then.
// Memory: one tile a block, kept between stages ((n + 2)^3 / n^3 of the fields: 1.95 at 8^3, 1.42 at 16^3).
#include <memory>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/stage.hpp"
#include "amr/wide_halo.hpp"
#include "amr/work.hpp"
#include "kernels/mixed.hpp"

namespace amrbench::amr {

enum class WideStencil { average27, mixed };

/// The tiles that a stencil works on: `mixed` variable by variable.
[[nodiscard]] kernels::TileLayout wide_tile_layout(WideStencil stencil, const kernels::BlockLayout& layout);
/// Stage::conserved_variables of a stencil, on any back end.
[[nodiscard]] int wide_conserved_variables(WideStencil stencil, const kernels::BlockLayout& layout,
                                           bool mesh_is_uniform);

class WideStage final : public Stage {
 public:
  WideStage(WideStencil stencil, const kernels::BlockLayout& layout, const StageOptions& options);
  ~WideStage() override;

  void mesh_changed(const Mesh<3>& mesh) override;
  void advance(const Mesh<3>& mesh, Fields& fields, std::int64_t stage, const support::FixedPointScale* scale,
               support::Metrics& metrics) override;
  [[nodiscard]] std::vector<support::FixedPointSum> sums() override;
  void measure_blocks() override { measures_ = true; }
  [[nodiscard]] std::span<const double> block_seconds() const override { return block_seconds_; }
  [[nodiscard]] HaloSize halo_size() const override;
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool mesh_is_uniform) const override {
    return wide_conserved_variables(stencil_, layout_.block, mesh_is_uniform);
  }

 private:
  struct Scratch;
  void load_tiles(const Mesh<3>& mesh, const FieldStore& fields);
  void compute(const Mesh<3>& mesh, FieldStore& fields, std::int64_t stage, bool summing);
  void compute_block(FieldStore& fields, std::int64_t stage, std::int32_t i, double* tile, Scratch& scratch);
  void work_again(FieldStore& fields, std::int64_t stage);

  WideStencil stencil_;
  bool overlap_;
  kernels::TileLayout layout_;
  kernels::MixedConstants constants_;
  WideHalo halo_;
  int neighbors_ = 0;
  support::PageBuffer<double> tiles_;
  std::vector<WorkConfig> work_;
  std::vector<WorkRound> rounds_;
  bool measures_ = false;
  std::vector<double> block_seconds_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  ///< one a thread
};

}  // namespace amrbench::amr
