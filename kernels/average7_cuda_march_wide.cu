// march for 5 to 8 lanes.
#include "kernels/average7_march.cuh"

namespace amrbench::kernels::detail {

void launch_march_wide(const BlockLayout& layout, const Average7Job& job, const Average7Options& options,
                       cudaStream_t stream) {
  switch (layout.lanes) {
    case 5:
      return launch_march<5>(layout, job, options, stream);
    case 6:
      return launch_march<6>(layout, job, options, stream);
    case 7:
      return launch_march<7>(layout, job, options, stream);
    default:
      return launch_march<8>(layout, job, options, stream);
  }
}

}  // namespace amrbench::kernels::detail
