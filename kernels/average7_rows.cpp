// Kernels of average7 row by row: for cubes of 4, 8 and 16 cells a side, whose rows have a length known when they are
// compiled; for 8 lanes, where a cell is a vector and nothing has to be merged; and for other blocks with small planes,
// where the flat walk would mostly cross from one segment to the next.
#include "kernels/average7_row.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels::detail {

namespace {

constexpr std::size_t kSmallPlane =
    256;  ///< doubles: 6^3 of 5 lanes (180) lost by the flat walk, 24^2 of one (576) gained

template <int Lanes, int Cells>
Average7Kernel row_kernel() {
  using Row =
      std::conditional_t<Cells == 0, AnyRow<Lanes, true, false>, FixedRow<Lanes, Cells == 0 ? 1 : Cells, true, false>>;
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
  const bool cube = n[0] == n[1] && n[1] == n[2] && (n[0] == 4 || n[0] == 8 || n[0] == 16);
  if (!cube && layout.lanes != kFlatLength && layout.plane_values() >= kSmallPlane) return false;
  with_lanes(layout.lanes, [&](auto lanes) {
    switch (cube ? n[0] : 0) {
      case 4:
        kernel = row_kernel<lanes, 4>();
        break;
      case 8:
        kernel = row_kernel<lanes, 8>();
        break;
      case 16:
        kernel = row_kernel<lanes, 16>();
        break;
      default:
        kernel = row_kernel<lanes, 0>();
    }
  });
  return true;
}

}  // namespace amrbench::kernels::detail
