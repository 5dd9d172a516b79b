// Which ring kernels there are.
#include <type_traits>

#include "kernels/average7_ring.cuh"

namespace amrbench::kernels::detail {

namespace {

/// Rows of 16 bytes a thread gain where a cell's lanes are whole sectors of memory, 4 or 8.
template <int Lanes>
int call_lanes(const Average7Call& call) {
  using Wide = Settings<RingTeam<2, 2, 256, 6>, RingTeam<2, 2, 128, 6>>;
  using Narrow = Settings<RingTeam<1, 4, 192, 5>, RingTeam<1, 3, 192, 5>, RingTeam<1, 2, 256, 6>>;
  using Teams = std::conditional_t<Lanes % 4 == 0, Wide, Narrow>;
  return call_setting(Teams{}, call, [&]<class Team, bool Sum>() { call_ring_kernel<Lanes, Team, Sum>(call); });
}

}  // namespace

int call_ring(const Average7Call& call) {
  if (call.layout.cells[1] < kRingLeast) return 0;
  using Call = int (*)(const Average7Call&);
  static constexpr Call kCalls[kMaxLanes] = {call_lanes<1>, call_lanes<2>, call_lanes<3>, call_lanes<4>,
                                             call_lanes<5>, call_lanes<6>, call_lanes<7>, call_lanes<8>};
  return kCalls[call.layout.lanes - 1](call);
}

int best_ring(const BlockLayout& layout) {
  const int ny = layout.cells[1];
  if (layout.lanes % 4 == 0) return ny <= 10 ? 1 : 0;
  if (ny < 8) return 1;  // columns of 3 in planes of 6 rows
  const int lanes = layout.lanes;
  const bool pairs = (ny == 10 && (lanes == 3 || lanes == 7)) || (ny == 12 && lanes % 2 == 1 && lanes != 5);
  return pairs ? 2 : 0;  // columns of 2
}

}  // namespace amrbench::kernels::detail
