#include "kernels/average7.hpp"

#include "kernels/average7_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace detail {

/// The kernels for short rows (average7_short_rows.cpp); false for others.
bool select_short_rows(const BlockLayout& layout, Average7Kernel& kernel);

namespace {

/// Looks for rows whose last vector adds Last values, edges being even, and for two more each time.
template <int Lanes, int Last = 2>
Average7Kernel select_long_rows(int last) {
  if constexpr (Last < kFlatLength)
    if (last != Last) return select_long_rows<Lanes, Last + 2>(last);
  if constexpr (Last % std::gcd(2 * Lanes, kFlatLength) == 0) return kernel_of<RowShape<Lanes, 0, Last>>();
  return {};
}

}  // namespace

}  // namespace detail

Average7Kernel select_average7(const BlockLayout& layout) {
  Average7Kernel kernel;
  if (detail::select_short_rows(layout, kernel)) return kernel;
  const int last = (static_cast<int>(layout.row_values()) - 1) % kFlatLength + 1;
  with_lanes(layout.lanes, [&](auto lanes) { kernel = detail::select_long_rows<lanes>(last); });
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
