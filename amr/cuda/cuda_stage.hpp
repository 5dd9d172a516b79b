#pragma once
// What stages on a GPU have in common: how a stage begins and ends, and its exact sums. Only in builds with CUDA.
#include <array>
#include <vector>

#include "amr/cuda/cuda_fields.hpp"
#include "amr/stage.hpp"
#include "kernels/device_sum.hpp"

namespace amrbench::amr {

/// Stages return while the GPU works; `sums` and `settle` wait for it.
template <int Dim>
class CudaStage : public Stage<Dim> {
 public:
  void advance(const Mesh<Dim>& mesh, Fields& fields, std::int64_t stage, const support::FixedPointScale* scale,
               support::Metrics& metrics) final;
  [[nodiscard]] std::vector<support::FixedPointSum> sums() final { return sums_.totals(); }
  void settle(support::Metrics& metrics) final;
  [[nodiscard]] StageDevice device() const final { return device_.description(); }

 protected:
  explicit CudaStage(CudaFields& fields)
      : fields_(fields),
        device_(fields.device()),
        block_cells_(fields.layout().block_cells()),
        sums_(fields.layout()) {}

  /// Puts all of a stage into the streams, its last kernels into the main one, and counts it into `sums` if these have
  /// words. Times go to phases halo and stencil.
  virtual void launch_stage(CudaFields& fields, std::int64_t stage, const kernels::DeviceSumView& sums,
                            support::Metrics& metrics) = 0;
  /// To be called by mesh_changed. The host may be two meshes ahead of the GPU, no more: waits for the stages of the
  /// mesh before the last one, so that lists under way stay few. Makes room for results, so that the next stage finds
  /// it there: here the GPU still has stages to do. The next stage counts its memory.
  void mesh_is_new();

  [[nodiscard]] CudaDevice& device_of_rank() { return device_; }
  [[nodiscard]] std::size_t sums_memory_bytes() const { return sums_.memory_bytes(); }

 private:
  CudaFields& fields_;
  CudaDevice& device_;
  std::size_t block_cells_;
  kernels::DeviceSum sums_;
  bool mesh_is_new_ = false;
  std::array<support::CudaEvent, 2> meshes_;  ///< behind the stages of the last meshes, in turn
  std::size_t changes_ = 0;
};

extern template class CudaStage<2>;
extern template class CudaStage<3>;

}  // namespace amrbench::amr
