// Kernels of average27 for short rows (kernels/average27/average27_rows.hpp), compiled for lanes and cells of a row.
#include "kernels/average27/average27_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels::detail {

bool select_short_rows(const BlockLayout& layout, Average27Kernel& kernel) {
  constexpr int kMostRow = 48;  // longer ones are walked as fast in loops
  if (layout.row_values() > kMostRow) return false;
  with_lanes(layout.lanes, [&](auto lanes) {
    with_rows<lanes, kMostRow>(layout, [&](auto shape) { kernel = average27_kernel<decltype(shape)>(); });
  });
  return true;
}

}  // namespace amrbench::kernels::detail
