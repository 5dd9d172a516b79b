// march for 1 to 4 lanes; files of their own to compile side by side.
#include "kernels/average7_march.cuh"

namespace amrbench::kernels::detail {

void launch_march_narrow(const BlockLayout& layout, const Average7Job& job, const Average7Options& options,
                         cudaStream_t stream) {
  switch (layout.lanes) {
    case 1:
      return launch_march<1>(layout, job, options, stream);
    case 2:
      return launch_march<2>(layout, job, options, stream);
    case 3:
      return launch_march<3>(layout, job, options, stream);
    default:
      return launch_march<4>(layout, job, options, stream);
  }
}

}  // namespace amrbench::kernels::detail
