#include "kernels/average7_cuda.hpp"

namespace amrbench::kernels {

namespace detail {
void launch_march_narrow(const BlockLayout& layout, const Average7Job& job, const Average7Options& options,
                         cudaStream_t stream);  // average7_cuda_march_narrow.cu
void launch_march_wide(const BlockLayout& layout, const Average7Job& job, const Average7Options& options,
                       cudaStream_t stream);  // average7_cuda_march_wide.cu
/// False, and nothing launched, when there is none for the layout; job.count = 0 only asks.
bool launch_staged_any(const BlockLayout& layout, const Average7Job& job, const Average7Options& options,
                       cudaStream_t stream);  // average7_cuda_staged.cu
}  // namespace detail

bool has_staged_average7(const BlockLayout& layout) {
  constexpr int kHopper = 90;
  return support::current_device_shape().capability >= kHopper && detail::launch_staged_any(layout, {}, {}, nullptr);
}

void launch_average7(const BlockLayout& layout, const Average7Job& job, const support::CudaStream& stream,
                     const Average7Options& options) {
  if (job.count == 0) return;
  constexpr int kNarrow = 4;
  const bool staged =
      options.variant == Average7Variant::staged || options.variant == Average7Variant::staged_alternate;
  if (staged && has_staged_average7(layout))
    detail::launch_staged_any(layout, job, options, stream.get());
  else if (layout.lanes <= kNarrow)
    detail::launch_march_narrow(layout, job, options, stream.get());
  else
    detail::launch_march_wide(layout, job, options, stream.get());
  support::cuda_check_launch("average7");
}

}  // namespace amrbench::kernels
