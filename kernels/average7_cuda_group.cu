// Which group kernels there are.
#include "kernels/average7_group.cuh"

namespace amrbench::kernels::detail {

namespace {

/// Shapes: lanes, cells, blocks a group, threads.
using Group1x4 = Settings<GroupShape<1, 4, 32, 256>, GroupShape<1, 4, 16, 256>>;
using Group1x8 = Settings<GroupShape<1, 8, 8, 256>, GroupShape<1, 8, 8, 512>, GroupShape<1, 8, 4, 256>>;
using Group5x4 = Settings<GroupShape<5, 4, 8, 320>, GroupShape<5, 4, 8, 640>>;
using Group5x8 = Settings<GroupShape<5, 8, 1, 320>, GroupShape<5, 8, 2, 640>, GroupShape<5, 8, 2, 320>>;
using Group8x4 = Settings<GroupShape<8, 4, 8, 512>, GroupShape<8, 4, 8, 256>, GroupShape<8, 4, 4, 256>>;
using Group8x8 = Settings<GroupShape<8, 8, 1, 256>, GroupShape<8, 8, 2, 512>>;

template <class Small, class Large>
int call_cells(const Average7Call& call) {
  const auto& cells = call.layout.cells;
  if (cells[0] != cells[1] || cells[1] != cells[2]) return 0;
  const auto launch = [&]<class Shape, bool Sum>() { call_group_kernel<Shape, Sum>(call); };
  return cells[0] == 4 ? call_setting(Small{}, call, launch) : cells[0] == 8 ? call_setting(Large{}, call, launch) : 0;
}

}  // namespace

int call_group(const Average7Call& call) {
  switch (call.layout.lanes) {
    case 1:
      return call_cells<Group1x4, Group1x8>(call);
    case 5:
      return call_cells<Group5x4, Group5x8>(call);
    case 8:
      return call_cells<Group8x4, Group8x8>(call);
    default:
      return 0;
  }
}

}  // namespace amrbench::kernels::detail
