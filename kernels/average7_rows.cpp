// Kernels of average7 row by row: for cubes of 4, 8 and 16 cells a side, whose rows have a length known when they are
// compiled.
#include "kernels/average7_row.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels::detail {

namespace {

template <int Lanes, int Cells>
Average7Kernel row_kernel() {
  using Row = FixedRow<Lanes, Cells, true, false>;
  // Streaming stores need whole aligned vectors of a length the processor streams.
  constexpr bool kStreamsRow = kStreamLength > 0 && Row::kLength >= 4;
  return {{average7_chunks<Lanes, Cells, false, false>, average7_chunks<Lanes, Cells, false, kStreamsRow>},
          {average7_chunks<Lanes, Cells, true, false>, average7_chunks<Lanes, Cells, true, kStreamsRow>},
          Row::kLength,
          Row::kPatterns};
}

}  // namespace

bool select_average7_rows(const BlockLayout& layout, Average7Kernel& kernel) {
  const auto& n = layout.cells;
  if (n[0] != n[1] || n[1] != n[2] || (n[0] != 4 && n[0] != 8 && n[0] != 16)) return false;
  with_lanes(layout.lanes, [&](auto lanes) {
    switch (n[0]) {
      case 4:
        kernel = row_kernel<lanes, 4>();
        break;
      case 8:
        kernel = row_kernel<lanes, 8>();
        break;
      default:
        kernel = row_kernel<lanes, 16>();
    }
  });
  return true;
}

}  // namespace amrbench::kernels::detail
