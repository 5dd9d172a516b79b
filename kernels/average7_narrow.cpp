// Kernels of average7 for 1 to 4 lanes; a file of their own to compile beside the wide ones.
#include "kernels/average7_row.hpp"

namespace amrbench::kernels::detail {

Average7Kernel average7_narrow(const BlockLayout& layout) {
  switch (layout.lanes) {
    case 1:
      return average7_for_cells<1>(layout.cells);
    case 2:
      return average7_for_cells<2>(layout.cells);
    case 3:
      return average7_for_cells<3>(layout.cells);
    default:
      return average7_for_cells<4>(layout.cells);
  }
}

}  // namespace amrbench::kernels::detail
