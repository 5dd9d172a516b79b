#pragma once
// Stages of stencils that need edges and corners: the 27-point average and miniAMR's mixed work.
//
// No copy of the fields: a block is computed from the 27 pieces around it where they lie, in blocks of this rank or in
// the extended faces that amr/wide_halo.hpp keeps where a face crosses a rank or a level. `average27` reads them as
// they are, in the order of a face stage (docs/decisions/0003-stencil-schedule.md); `mixed` gathers them into a tile of
// the thread, variable by variable, which it computes in place. The pieces depend on nothing but the mesh and the
// values, so any ranks, threads, curve, and either kind of exchange give the same bits. `overlap`: faces between local
// blocks are filled while messages fly; blocks are computed after the last axis in both cases, since an edge of the
// ghost layer is known only then.
#include <array>
#include <memory>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/octets.hpp"
#include "amr/stage.hpp"
#include "amr/stage_passes.hpp"
#include "amr/wide_halo.hpp"
#include "amr/work.hpp"
#include "kernels/average27/average27.hpp"
#include "kernels/mixed/mixed.hpp"

namespace amrbench::amr {

enum class WideStencil { average27, mixed };

/// The tiles that a stencil works on (on a GPU every stencil does): `mixed` variable by variable.
[[nodiscard]] kernels::TileLayout wide_tile_layout(WideStencil stencil, const kernels::BlockLayout& layout);
/// Stage::conserved_variables of a stencil, on any back end.
[[nodiscard]] int wide_conserved_variables(WideStencil stencil, const kernels::BlockLayout& layout,
                                           bool mesh_is_uniform);

class WideStage final : public Stage<3> {
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
    return wide_conserved_variables(stencil_, layout_, mesh_is_uniform);
  }

 private:
  struct Scratch;
  void compute(FieldStore& fields, std::int64_t stage, std::span<const std::int32_t> blocks, bool summing);
  void run_group(FieldStore& fields, std::int64_t stage, std::span<const std::int32_t> blocks, bool summing,
                 Scratch& scratch) const;
  [[nodiscard]] bool is_octet(std::span<const std::int32_t> blocks) const;
  [[nodiscard]] std::size_t group_size(std::span<const std::int32_t> blocks) const;
  void average_group(FieldStore& fields, std::span<const std::int32_t> blocks, bool summing, Scratch& scratch) const;
  void average_octets(FieldStore& fields, std::int32_t group, bool summing, Scratch& scratch) const;
  void average_singles(FieldStore& fields, std::int32_t group, bool summing, Scratch& scratch) const;
  void mix_block(FieldStore& fields, std::int64_t stage, std::int32_t i, const kernels::Surroundings& around,
                 const kernels::Surroundings& next, Scratch& scratch) const;

  WideStencil stencil_;
  StageOptions options_;
  kernels::BlockLayout layout_;
  kernels::Average27Kernel kernel_;
  kernels::Average27OctetKernel octet_kernel_;
  Octets octets_;
  kernels::TileLayout tile_;  ///< of `mixed`
  kernels::MixedConstants constants_;
  std::array<std::vector<kernels::PieceSet>, 6> pieces_;  ///< of `mixed`, by stage % 6: those of each chunk
  WideHalo halo_;
  StagePasses passes_;
  StoreChoice stores_;
  bool streaming_ = false;  ///< stores of the stage's results go past the caches
  std::vector<std::int32_t> all_;
  std::vector<WorkRound> rounds_;
  bool measures_ = false;
  std::vector<double> block_seconds_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  ///< one a thread
};

}  // namespace amrbench::amr
