#include "kernels/shallow_water/block_stage.cuh"

namespace amrbench::kernels::shallow_water::detail {

template void launch_limited<double, Limiter::minmod>(const StageJob<double>&, int, const support::CudaStream&);
template void launch_limited<float, Limiter::minmod>(const StageJob<float>&, int, const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water::detail
