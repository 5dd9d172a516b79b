#include "kernels/average7.hpp"

#include "kernels/average7_flat.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

// Streaming stores need vectors of a length the processor streams.
constexpr bool kStreams = kStreamLength > 0;

}  // namespace

namespace detail {
/// The kernels for short rows, where they are quicker (average7_short.cpp); else false.
bool select_average7_short(const BlockLayout& layout, Average7Kernel& kernel);
}  // namespace detail

Average7Kernel select_average7(const BlockLayout& layout) {
  Average7Kernel kernel;
  if (detail::select_average7_short(layout, kernel)) return kernel;
  with_lanes(layout.lanes, [&](auto lanes) {
    kernel = {{detail::average7_flat<lanes, false, false>, detail::average7_flat<lanes, false, kStreams>},
              {detail::average7_flat<lanes, true, false>, detail::average7_flat<lanes, true, kStreams>},
              kFlatLength,
              pattern_count(lanes, kFlatLength)};
  });
  return kernel;
}

void run_block(Average7 kernel, const FlatRows& rows, const BlockArgs& args, StageSum* sum) {
  const ChunkInput input{args.in, args.faces};
  kernel(rows, {&input, args.out, rows.layout.chunks, &input}, sum ? sum->raw(0) : nullptr,
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
