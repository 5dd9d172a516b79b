// march for 5 to 8 lanes.
#include "kernels/average7/average7_march.cuh"

namespace amrbench::kernels::detail {

int call_march_wide(const Average7Call& call) {
  switch (call.layout.lanes) {
    case 5:
      return call_march<5>(call);
    case 6:
      return call_march<6>(call);
    case 7:
      return call_march<7>(call);
    default:
      return call_march<8>(call);
  }
}

}  // namespace amrbench::kernels::detail
