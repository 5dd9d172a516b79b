#include "partitioners/orb/gpu/orb_gpu.cuh"

template class amrbench::partitioners::OrbGpu<float, 2>;
template class amrbench::partitioners::OrbGpu<float, 3>;
