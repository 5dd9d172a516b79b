#include "kernels/layout.hpp"

namespace amrbench::kernels {

BlockLayout make_layout(const std::array<int, 3>& cells, int variables) {
  if (cells[2] == 1) return {cells, variables, 1, variables};
  BlockLayout layout;
  layout.cells = cells;
  layout.variables = variables;
  int waste = kMaxLanes;
  for (int lanes = kMaxLanes; lanes >= 1; --lanes) {
    const int chunks = (variables + lanes - 1) / lanes;
    // Few lanes mean many short rows: below 4 lanes a little padding is the smaller loss.
    const int cost = chunks * lanes - variables + (lanes < 4 && variables >= 4 ? 1 : 0) * (variables / 8 + 1);
    if (cost < waste) {
      waste = cost;
      layout.lanes = lanes;
      layout.chunks = chunks;
    }
  }
  return layout;
}

}  // namespace amrbench::kernels
