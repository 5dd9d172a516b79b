// Which group kernels there are.
#include "kernels/average7_group.cuh"

namespace amrbench::kernels::detail {

namespace {

/// Shapes: lanes, cells, blocks a group, threads.
using Group1x8 = Settings<GroupShape<1, 8, 8, 512>, GroupShape<1, 8, 4, 256>>;

}  // namespace

int call_group(const Average7Call& call) {
  const auto& cells = call.layout.cells;
  if (call.layout.lanes != 1 || cells[0] != 8 || cells[1] != 8 || cells[2] != 8) return 0;
  return call_setting(Group1x8{}, call, [&]<class Shape, bool Sum>() { call_group_kernel<Shape, Sum>(call); });
}

}  // namespace amrbench::kernels::detail
