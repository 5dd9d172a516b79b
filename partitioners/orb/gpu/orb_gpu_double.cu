#include "partitioners/orb/gpu/orb_gpu.cuh"

template class amrbench::partitioners::OrbGpu<double, 2>;
template class amrbench::partitioners::OrbGpu<double, 3>;
