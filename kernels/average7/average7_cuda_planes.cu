// Which planes kernels there are.
#include "kernels/average7/average7_planes.cuh"

namespace amrbench::kernels::detail {

namespace {

/// Shapes: lanes, cells, planes in the ring, columns a thread, thread blocks a chunk.
using Planes1x16 = Settings<PlanesShape<1, 16, 8, 2>>;
using Planes5x8 = Settings<PlanesShape<5, 8, 5, 2>>;
using Planes5x16 = Settings<PlanesShape<5, 16, 10, 4, 2>, PlanesShape<5, 16, 8, 4, 2>>;
using Planes8x16 = Settings<PlanesShape<8, 16, 8, 2, 4>>;

}  // namespace

int call_planes(const Average7Call& call) {
  const auto& cells = call.layout.cells;
  if (cells[0] != cells[1] || cells[1] != cells[2]) return 0;
  const auto launch = [&]<class Shape, bool Sum>() { call_planes_kernel<Shape, Sum>(call); };
  switch (cells[0] * 10 + call.layout.lanes) {
    case 85:
      return call_setting(Planes5x8{}, call, launch);
    case 161:
      return call_setting(Planes1x16{}, call, launch);
    case 165:
      return call_setting(Planes5x16{}, call, launch);
    case 168:
      return call_setting(Planes8x16{}, call, launch);
    default:
      return 0;
  }
}

}  // namespace amrbench::kernels::detail
