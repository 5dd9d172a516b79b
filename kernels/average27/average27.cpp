#include "kernels/average27/average27.hpp"

#include "kernels/average27/average27_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace detail {
/// The kernels for short rows (average27_short_rows.cpp); false for others.
bool select_short_rows(const BlockLayout& layout, Average27Kernel& kernel);
}  // namespace detail

Average27Kernel select_average27(const BlockLayout& layout) {
  Average27Kernel kernel;
  if (detail::select_short_rows(layout, kernel)) return kernel;
  with_lanes(layout.lanes, [&](auto lanes) {
    kernel = detail::with_long_rows<lanes>(detail::last_values(layout),
                                           [&](auto shape) { return detail::average27_kernel<decltype(shape)>(); });
  });
  return kernel;
}

void average27_reference(const TileLayout& l, const double* tile, double* out) {
  const auto& n = l.block.cells;
  for (int v = 0; v < l.lanes * l.chunks; ++v) {
    for (int z = 0; z < n[2]; ++z) {
      for (int y = 0; y < n[1]; ++y) {
        for (int x = 0; x < n[0]; ++x) {
          std::array<double, 3> planes{};
          for (int c = 0; c < 27; ++c) {
            const double u = tile[l.offset(v, x + c / 9 - 1, y + c / 3 % 3 - 1, z + c % 3 - 1)];
            planes[c / 9] = c % 9 == 0 ? u : planes[c / 9] + u;
          }
          out[l.block.offset(v, x, y, z)] = (planes[0] + planes[1] + planes[2]) / 27.0;
        }
      }
    }
  }
}

}  // namespace amrbench::kernels
