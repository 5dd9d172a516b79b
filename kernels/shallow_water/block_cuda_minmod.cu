#include "kernels/shallow_water/block_stage.cuh"

namespace amrbench::kernels::shallow_water::detail {

template int launch_limited<double, Limiter::minmod>(const StageJob<double>&, const support::CudaStream&);
template int launch_limited<float, Limiter::minmod>(const StageJob<float>&, const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water::detail
