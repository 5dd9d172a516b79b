#include "amr/backend.hpp"

#if defined(AMRBENCH_CUDA)
#include "amr/cuda/cuda_backend.hpp"
#endif
#include "amr/field_store.hpp"
#include "kernels/lane_speeds.hpp"
#include "support/error.hpp"

namespace amrbench::amr {

kernels::BlockLayout block_layout(const Config& config) {
  const auto& cells = config.mesh.block;
  const int variables = config.fields.variables;
  if (config.device.backend == "cuda") {
    if (config.run.stencil == "mixed") return kernels::make_layout(cells, variables, 1);
    if (config.run.stencil == "average7")
      return kernels::make_layout(cells, variables, kernels::average7_lane_speeds(cells));
    if (config.run.stencil == "average27")
      return kernels::make_layout(cells, variables, kernels::average27_lane_speeds(cells));
  }
  return kernels::make_layout(cells, variables);
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
