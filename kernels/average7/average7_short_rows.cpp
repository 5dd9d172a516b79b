// Kernels of average7 for short rows (kernels/average7/average7_rows.hpp), compiled for lanes and cells of a row.
#include "kernels/average7/average7_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels::detail {

namespace {

/// Rows of more values are walked as fast in loops; the more so the fewer rows are whole vectors together.
template <class Shape>
constexpr bool kIsShort = Shape::kRow <= (Shape::kPeriod == 1   ? 48
                                          : Shape::kPeriod == 2 ? 40
                                                                : 56);

/// Edges of cubes so small that loops and strides take as many instructions as cells do.
constexpr int most_cube_cells(int lanes) {
  return lanes == 1 ? 8 : 6;
}

/// Looks for rows of Cells cells and of two more each time.
template <int Lanes, int Cells = 2>
bool select(const std::array<int, 3>& cells, Average7Kernel& kernel) {
  if constexpr (Cells <= kMaxBlockEdge) {
    if (cells[0] != Cells) return select<Lanes, Cells + 2>(cells, kernel);
    if constexpr (kIsShort<RowShape<Lanes, Cells>>) {
      kernel = kernel_of<RowShape<Lanes, Cells>>();
      if constexpr (Cells <= most_cube_cells(Lanes))
        if (cells[1] == Cells && cells[2] == Cells) kernel = kernel_of<RowShape<Lanes, Cells, 0, Cells>>();
      return true;
    }
  }
  return false;
}

}  // namespace

bool select_short_rows(const BlockLayout& layout, Average7Kernel& kernel) {
  bool found = false;
  with_lanes(layout.lanes, [&](auto lanes) { found = select<lanes>(layout.cells, kernel); });
  return found;
}

}  // namespace amrbench::kernels::detail
