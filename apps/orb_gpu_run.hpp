#pragma once
// `amrbench orb --backend cuda`: the points and weights of each rank on its GPU.
#include "apps/orb_input.hpp"
#include "apps/orb_summary.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// Collective. support::InputError where there is no GPU, or a build without CUDA.
template <class T, int Dim>
OrbSummary run_orb_on_gpus(const OrbArguments& arguments, const OrbInputSpec& spec, const support::Communicator& comm);

}  // namespace amrbench::apps
