#include "kernels/shallow_water/block_stage.cuh"

namespace amrbench::kernels::shallow_water::detail {

template void launch_limited<double, Limiter::monotonized>(const StageJob<double>&, int, const support::CudaStream&);
template void launch_limited<float, Limiter::monotonized>(const StageJob<float>&, int, const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water::detail
