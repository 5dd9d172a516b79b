// Which ring kernels there are: one for each number of lanes.
#include "kernels/average7/average7_ring.cuh"

namespace amrbench::kernels::detail {

namespace {

template <int Lanes>
void call_lanes(const Average7Call& call) {
  if (call.summing)
    call_ring_kernel<Lanes, true>(call);
  else
    call_ring_kernel<Lanes, false>(call);
}

}  // namespace

int call_ring(const Average7Call& call) {
  if (!ring_serves(call.layout)) return 0;
  if (call.options.setting >= 1 || (call.job.count == 0 && call.facts == nullptr)) return 1;
  using Call = void (*)(const Average7Call&);
  static constexpr Call kCalls[kMaxLanes] = {call_lanes<1>, call_lanes<2>, call_lanes<3>, call_lanes<4>,
                                             call_lanes<5>, call_lanes<6>, call_lanes<7>, call_lanes<8>};
  kCalls[call.layout.lanes - 1](call);
  return 1;
}

}  // namespace amrbench::kernels::detail
