// Kernels of average7 for short rows (kernels/average7_short.hpp), compiled for lanes and cells of a row.
#include "kernels/average7_short.hpp"

#include "kernels/lanes.hpp"

namespace amrbench::kernels::detail {

namespace {

template <int Lanes, int Cells, bool Cube>
Average7Kernel short_kernel() {
  // Streaming stores need vectors of a length the processor streams.
  constexpr bool kStreams = kStreamLength > 0;
  return {{average7_short<Lanes, Cells, Cube, false, false>, average7_short<Lanes, Cells, Cube, false, kStreams>},
          {average7_short<Lanes, Cells, Cube, true, false>, average7_short<Lanes, Cells, Cube, true, kStreams>},
          kFlatLength,
          pattern_count(Lanes, kFlatLength)};
}

/// Longer rows belong to blocks so large that the next one is fetched too early: average7_flat.hpp fetches rows of the
/// same block.
constexpr int kMostCells = 16;
constexpr int kMostValues = 80;

/// Cubes of 8 cells gained nothing that showed.
constexpr int kMostCubeCells = 6;

/// Looks for rows of Cells cells and of two more each time.
template <int Lanes, int Cells = 2>
bool select(const std::array<int, 3>& cells, Average7Kernel& kernel) {
  if constexpr (Cells <= kMostCells) {
    if (cells[0] != Cells) return select<Lanes, Cells + 2>(cells, kernel);
    if constexpr (Lanes * Cells <= kMostValues && ShortCut<Lanes, Cells>::kFits) {
      kernel = short_kernel<Lanes, Cells, false>();
      if constexpr (Cells <= kMostCubeCells)
        if (cells[1] == Cells && cells[2] == Cells) kernel = short_kernel<Lanes, Cells, true>();
      return true;
    }
  }
  return false;
}

}  // namespace

bool select_average7_short(const BlockLayout& layout, Average7Kernel& kernel) {
  bool found = false;
  with_lanes(layout.lanes, [&](auto lanes) { found = select<lanes>(layout.cells, kernel); });
  return found;
}

}  // namespace amrbench::kernels::detail
