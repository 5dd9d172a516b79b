// march for 1 to 4 lanes; files of their own to compile side by side.
#include "kernels/average7/average7_march.cuh"

namespace amrbench::kernels::detail {

int call_march_narrow(const Average7Call& call) {
  switch (call.layout.lanes) {
    case 1:
      return call_march<1>(call);
    case 2:
      return call_march<2>(call);
    case 3:
      return call_march<3>(call);
    default:
      return call_march<4>(call);
  }
}

}  // namespace amrbench::kernels::detail
