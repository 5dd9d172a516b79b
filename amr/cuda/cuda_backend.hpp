#pragma once
// The CUDA twins of the stencils (amr/stencil_registry.cpp). Only in builds with CUDA.
#include <string_view>

#include "amr/backend.hpp"

namespace amrbench::amr {

/// Is there a stage on GPUs for the stencil of this name?
[[nodiscard]] bool has_cuda_stage(std::string_view stencil);

/// As make_backend, for device.backend = "cuda": chooses this rank's GPU and makes it current. Collective.
[[nodiscard]] Backend<3> make_cuda_backend(const Config& config, const kernels::BlockLayout& layout,
                                           const support::Communicator& comm);

}  // namespace amrbench::amr
