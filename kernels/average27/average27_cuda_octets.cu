// The 27-point average of octets.
#include "kernels/average27/average27_march.cuh"

namespace amrbench::kernels::detail27 {

void launch_octets(const BlockLayout& l, const Average27Job& job, cudaStream_t stream) {
  launch_march<2>(l, job, stream);
}

}  // namespace amrbench::kernels::detail27
