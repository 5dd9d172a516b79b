#include "amr/cuda/cuda_backend.hpp"

#include <array>

#include "amr/cuda/cuda_face_stage.hpp"
#include "amr/cuda/cuda_wide_stage.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

namespace {

struct CudaStencil {
  std::string_view name;
  std::unique_ptr<Stage<3>> (*make)(CudaFields& fields, const StageOptions& options);
};

std::unique_ptr<Stage<3>> make_faces(CudaFields& fields, const StageOptions& options) {
  return std::make_unique<CudaFaceStage>(fields, options);
}
template <WideStencil S>
std::unique_ptr<Stage<3>> make_wide(CudaFields& fields, const StageOptions& options) {
  return std::make_unique<CudaWideStage>(S, fields, options);
}

constexpr std::array kStencils{CudaStencil{"average7", make_faces},
                               CudaStencil{"average27", make_wide<WideStencil::average27>},
                               CudaStencil{"mixed", make_wide<WideStencil::mixed>}};

const CudaStencil* find_stencil(std::string_view name) {
  for (const CudaStencil& stencil : kStencils) {
    if (stencil.name == name) return &stencil;
  }
  return nullptr;
}

}  // namespace

bool has_cuda_stage(std::string_view stencil) {
  return find_stencil(stencil) != nullptr;
}

Backend<3> make_cuda_backend(const Config& config, const kernels::BlockLayout& layout,
                             const support::Communicator& comm) {
  const CudaStencil* const stencil = find_stencil(config.run.stencil);
  if (stencil == nullptr)
    throw support::InputError("run.stencil: \"" + config.run.stencil + "\" has no kernels for device.backend \"cuda\"");
  auto fields = std::make_unique<CudaFields>(layout, std::make_unique<CudaDevice>(comm, config.device.transport));
  auto stage = stencil->make(*fields, {config.run.overlap, config.device.stores, config.work});
  return {std::move(fields), std::move(stage)};
}

}  // namespace amrbench::amr
