#include "kernels/shallow_water/block_stage.cuh"

namespace amrbench::kernels::shallow_water::detail {

template int launch_limited<double, Limiter::monotonized>(const StageJob<double>&, const support::CudaStream&);
template int launch_limited<float, Limiter::monotonized>(const StageJob<float>&, const support::CudaStream&);

}  // namespace amrbench::kernels::shallow_water::detail
