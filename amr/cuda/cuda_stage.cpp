#include "amr/cuda/cuda_stage.hpp"

namespace amrbench::amr {

template <int Dim>
void CudaStage<Dim>::advance(const Mesh<Dim>& mesh, Fields& fields_of_run, std::int64_t stage,
                             const support::FixedPointScale* scale, support::Metrics& metrics) {
  CudaFields& fields = cuda_fields(fields_of_run);
  fields.prepare_output();
  device_.clock().begin(device_.main());
  const kernels::DeviceSumView sums = scale != nullptr ? sums_.start(*scale, device_.main()) : kernels::DeviceSumView{};
  launch_stage(fields, stage, sums, metrics);
  if (scale != nullptr) sums_.fetch(static_cast<std::int64_t>(std::size_t(mesh.size()) * block_cells_), device_.main());
  fields.swap_buffers();
  device_.clock().collect(metrics, false);
  if (!mesh_is_new_) return;
  mesh_is_new_ = false;
  const std::size_t bytes = fields.memory_bytes() + this->memory_bytes();
  metrics.count_max("device_memory_bytes", static_cast<std::int64_t>(bytes));
}

template <int Dim>
void CudaStage<Dim>::mesh_is_new() {
  mesh_is_new_ = true;
  support::CudaEvent& mesh = meshes_[changes_++ % meshes_.size()];
  mesh.synchronize();
  mesh.record(device_.main());
  fields_.prepare_output();
}

template <int Dim>
void CudaStage<Dim>::settle(support::Metrics& metrics) {
  support::PhaseTimer timer(metrics, support::Phase::stencil);
  device_.main().synchronize();
  device_.clock().collect(metrics, true);
  device_.report(metrics);
}

template class CudaStage<2>;
template class CudaStage<3>;

}  // namespace amrbench::amr
