#pragma once
// `amrbench orb --backend cuda`: the points and weights of each rank on its GPU.
#include "apps/orb_summary.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "support/mpi.hpp"

namespace amrbench::apps {

/// support::InputError on all ranks where one has no GPU, or the build no CUDA. Collective.
void refuse_without_gpus(const support::Communicator& comm);

/// Cuts this rank's points on its GPU. Collective; T: float or double, Dim: 2 or 3.
template <class T, int Dim>
OrbSummary run_orb_on_gpus(const OrbArguments& arguments, const partitioners::PointSlice<T>& slice,
                           const support::Communicator& comm);

}  // namespace amrbench::apps
