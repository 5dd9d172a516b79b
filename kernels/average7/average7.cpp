#include "kernels/average7/average7.hpp"

#include "kernels/average7/average7_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace detail {

/// The kernels for short rows (average7_short_rows.cpp); false for others.
bool select_short_rows(const BlockLayout& layout, Average7Kernel& kernel);

}  // namespace detail

Average7Kernel select_average7(const BlockLayout& layout) {
  Average7Kernel kernel;
  if (detail::select_short_rows(layout, kernel)) return kernel;
  with_lanes(layout.lanes, [&](auto lanes) {
    kernel = detail::with_long_rows<lanes>(detail::last_values(layout),
                                           [](auto shape) { return detail::kernel_of<decltype(shape)>(); });
  });
  return kernel;
}

void run_block(Average7 kernel, const BlockLayout& layout, const BlockArgs& args, StageSum* sum, bool streams) {
  const ChunkInput input{args.in, args.faces};
  kernel(layout, {&input, args.out, layout.chunks, &input, streams}, sum ? sum->raw(0) : nullptr,
         sum ? sum->magic() : SumMagic{});
}

namespace {

/// Value of one cell at (x, y, z), which may lie one cell outside one face.
double reference_value(const BlockLayout& l, const BlockArgs& args, int v, std::array<int, 3> at) {
  for (int axis = 0; axis < 3; ++axis) {
    if (at[axis] >= 0 && at[axis] < l.cells[axis]) continue;
    const FaceView& face = args.faces[2 * axis + (at[axis] < 0 ? 0 : 1)];
    const int a = at[l.face_axis_a(axis)], b = at[l.face_axis_b(axis)];
    if (face.packed) {
      const std::size_t cell = std::size_t(b) * l.cells[l.face_axis_a(axis)] + a;
      return face.values[(std::size_t(v / l.lanes) * l.face_cells(axis) + cell) * l.lanes + v % l.lanes];
    }
    at[axis] = 0;
    return face.values[l.offset(v, at[0], at[1], at[2])];
  }
  return args.in[l.offset(v, at[0], at[1], at[2])];
}

}  // namespace

void average7_reference(const BlockLayout& l, const BlockArgs& args) {
  for (int v = 0; v < l.lanes * l.chunks; ++v) {
    for (int z = 0; z < l.cells[2]; ++z) {
      for (int y = 0; y < l.cells[1]; ++y) {
        for (int x = 0; x < l.cells[0]; ++x) {
          const auto u = [&](int dx, int dy, int dz) { return reference_value(l, args, v, {x + dx, y + dy, z + dz}); };
          const double sum =
              u(-1, 0, 0) + u(0, -1, 0) + u(0, 0, -1) + u(0, 0, 0) + u(0, 0, 1) + u(0, 1, 0) + u(1, 0, 0);
          args.out[l.offset(v, x, y, z)] = sum / 7.0;
        }
      }
    }
  }
}

}  // namespace amrbench::kernels
