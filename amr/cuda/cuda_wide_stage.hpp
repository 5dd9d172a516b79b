#pragma once
// Stages of stencils that need edges and corners, on a GPU: the twin of amr/wide_stage.hpp.
//
// Blocks are read where they lie (amr/wide_sources.hpp). A stage fills the extended faces, axis by axis, where faces
// cross a rank or a level, and computes all blocks in one launch. For each axis the side stream packs and sends, while
// the main stream fills faces from local neighbours (with overlap). Tables name blocks; in the one stage after a change
// of the mesh, where block i does not stand in slot i, a list says where it stands. Small blocks that make cubes are
// computed by eights with 27 points (amr/octets.hpp), in a launch of their own. The GPU makes the tables of what lies
// around blocks, of 216 bytes a block and 512 an octet, out of what stands beside faces. Memory: these, and the
// extended faces.
#include <array>
#include <optional>
#include <vector>

#include "amr/cuda/cuda_stage.hpp"
#include "amr/octets.hpp"
#include "amr/wide_sources.hpp"
#include "amr/wide_stage.hpp"
#include "amr/wide_tables.hpp"
#include "amr/work.hpp"
#include "kernels/device_surroundings.hpp"
#include "kernels/mixed/mixed_cuda.hpp"

namespace amrbench::amr {

class CudaWideStage final : public CudaStage<3> {
 public:
  /// `fields` must outlive the stage.
  CudaWideStage(WideStencil stencil, CudaFields& fields, const StageOptions& options);

  void mesh_changed(const Mesh<3>& mesh) override;
  [[nodiscard]] HaloSize halo_size() const override { return halo_size_; }
  [[nodiscard]] std::size_t memory_bytes() const override;
  [[nodiscard]] int conserved_variables(bool mesh_is_uniform) const override {
    return wide_conserved_variables(stencil_, layout_, mesh_is_uniform);
  }

 private:
  void launch_stage(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums,
                    support::Metrics& metrics) override;
  struct Jobs {
    DeviceList<kernels::WideFaceJob> list;
    kernels::WideFaceJobStarts starts{};
  };
  struct Axis {
    Jobs packs, local, unpacks;
    std::vector<support::LinkPiece> sends, receives;
    support::DeviceBuffer<double> faces;  ///< the extended ones
  };
  struct Work {
    DeviceList<std::int32_t> blocks;
    int count = 0, times = 0;
  };
  template <class Make>
  void store(Jobs& jobs, std::size_t n, const Make& make);
  void store(Jobs& jobs, const std::vector<kernels::WideFaceJob>& list);
  void find_octets(const Mesh<3>& mesh);
  void plan_axis(const Mesh<3>& mesh, int axis);
  void look_around(const CudaFields& fields);
  void fill_axis(int axis, std::int64_t stage);
  void launch(int axis, const kernels::GhostChunks& chunks, const Jobs& jobs, const support::CudaStream& stream);
  void compute(CudaFields& fields, std::int64_t stage, const std::int32_t* blocks, int count,
               const kernels::DeviceSumView& sums);

  WideStencil stencil_;
  bool overlap_;
  kernels::BlockLayout layout_;
  CudaDevice& device_;
  WideSources sources_;
  std::array<Axis, 3> axes_;
  HaloSize halo_size_;
  int blocks_ = 0;
  kernels::DeviceSurroundings around_;
  DeviceList<kernels::Beside> beside_;
  support::StreamRegion table_;  ///< of PieceSource, 27 a block
  DeviceList<std::int32_t> slot_list_;
  Octets octets_;  ///< none where blocks alone are as fast
  DeviceList<kernels::OctetPlace> octet_places_;
  support::StreamRegion octet_table_;  ///< of PieceSource, 64 an octet
  int octet_count_ = 0;
  DeviceList<std::int32_t> singles_;  ///< blocks that are in no octet
  int single_count_ = 0;
  support::DeviceBuffer<double> send_, receive_;  ///< of one axis at a time
  std::optional<kernels::DeviceMixed> mixed_;
  std::vector<WorkConfig> work_;
  std::vector<Work> rounds_;  ///< artificial work
};

}  // namespace amrbench::amr
