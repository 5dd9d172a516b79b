#pragma once
// Stages of stencils that need edges and corners, on a GPU: the twin of amr/wide_stage.hpp.
//
// A stage copies all blocks into their tiles (blocks with a layer of ghosts), fills ghosts axis by axis, and computes
// all tiles in one launch. For each axis the side stream packs and sends, while the main stream fills ghosts from local
// neighbours (with overlap). Jobs name tiles, not slots. Tile i is always that of block i, so tables hold until the
// mesh changes. Memory: one tile a block, as on the CPU.
#include <array>
#include <optional>
#include <vector>

#include "amr/cuda_stage.hpp"
#include "amr/tile_tables.hpp"
#include "amr/wide_stage.hpp"
#include "amr/work.hpp"
#include "kernels/wide_cuda.hpp"

namespace amrbench::amr {

class CudaWideStage final : public CudaStage {
 public:
  /// `fields` must outlive the stage.
  CudaWideStage(WideStencil stencil, CudaFields& fields, const StageOptions& options);

  void mesh_changed(const Mesh<3>& mesh) override;
  [[nodiscard]] HaloSize halo_size() const override { return halo_size_; }
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool mesh_is_uniform) const override {
    return wide_conserved_variables(stencil_, layout_.block, mesh_is_uniform);
  }

 private:
  void launch_stage(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums,
                    support::Metrics& metrics) override;
  struct Jobs {
    DeviceList<kernels::TileJob> list;
    int count = 0;
  };
  struct Axis {
    Jobs packs, local, unpacks;
    std::vector<support::LinkPiece> sends, receives;
  };
  void store(Jobs& jobs, const std::vector<kernels::TileJob>& list);
  void launch(const Jobs& jobs, const support::CudaStream& stream);
  void load_tiles(const CudaFields& fields);
  void fill_axis(Axis& axis);
  void compute(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums);
  void compute_tiles(CudaFields& fields, std::int64_t stage, double* tiles, int count);
  void work_again(CudaFields& fields, std::int64_t stage);

  WideStencil stencil_;
  bool overlap_;
  kernels::TileLayout layout_;
  CudaDevice& device_;
  std::array<Axis, 3> axes_;
  HaloSize halo_size_;
  int blocks_ = 0;
  DeviceList<std::int32_t> slot_list_;
  bool list_in_order_ = false;  ///< slot_list_ holds 0, 1, 2, ...
  support::DeviceBuffer<double> tiles_, send_, receive_;
  std::optional<kernels::DeviceMixed> mixed_;
  std::vector<WorkConfig> work_;
  std::vector<WorkRound> rounds_;
  support::DeviceBuffer<double> spare_tiles_;  ///< for artificial work: of the blocks of the largest round
  DeviceList<std::int32_t> spare_slots_;
};

}  // namespace amrbench::amr
