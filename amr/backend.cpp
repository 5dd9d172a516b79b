#include "amr/backend.hpp"

#if defined(AMRBENCH_CUDA)
#include "amr/cuda/cuda_backend.hpp"
#endif
#include "amr/field_store.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

kernels::BlockLayout block_layout(const Config& config) {
  const bool is_mixed_on_gpu = config.device.backend == "cuda" && config.run.stencil == "mixed";
  return kernels::make_layout(config.mesh.block, config.fields.variables, is_mixed_on_gpu ? 1 : kernels::kMaxLanes);
}

Backend<3> make_backend(const Config& config, [[maybe_unused]] const support::Communicator& comm) {
  const kernels::BlockLayout layout = block_layout(config);
#if defined(AMRBENCH_CUDA)
  if (config.device.backend == "cuda") return make_cuda_backend(config, layout, comm);
#else
  if (config.device.backend == "cuda")
    throw support::InputError("device.backend \"cuda\": this program was built without the CUDA back end");
#endif
  if (config.device.backend != "cpu")
    throw support::InputError("device.backend: \"" + config.device.backend + "\" is unknown; use \"cpu\" or \"cuda\"");
  return {std::make_unique<FieldStore>(layout),
          make_stage(config.run.stencil, layout, {config.run.overlap, config.device.stores, config.work})};
}

}  // namespace amrbench::amr
