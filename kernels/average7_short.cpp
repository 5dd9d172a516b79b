// Kernels of average7 for short rows (kernels/average7_short.hpp), compiled for lanes and cells of a row.
#include "kernels/average7_short.hpp"

#include "kernels/lanes.hpp"

namespace amrbench::kernels::detail {

namespace {

template <int Lanes, int Length, int Vectors, bool Whole>
Average7Kernel short_kernel() {
  // Streaming stores need vectors of a length the processor streams.
  constexpr bool kStreams = kStreamLength > 0;
  return {{average7_short<Lanes, Length, Vectors, Whole, false, false>,
           average7_short<Lanes, Length, Vectors, Whole, false, kStreams>},
          {average7_short<Lanes, Length, Vectors, Whole, true, false>,
           average7_short<Lanes, Length, Vectors, Whole, true, kStreams>},
          Length,
          pattern_count(Lanes, Length)};
}

template <int Lanes, int Cells>
Average7Kernel row_kernel() {
  constexpr int kRow = Lanes * Cells;
  constexpr int kLength = kRow % 8 != 0 && kRow % 4 == 0 && kRow < 16 && 4 % Lanes == 0 ? 4 : kFlatLength;
  return short_kernel<Lanes, kLength, (kRow + kLength - 1) / kLength, kRow % kLength == 0>();
}

/// Longer rows belong to blocks so large that the next one is fetched too early: average7_flat.hpp fetches rows of the
/// same block.
constexpr int kMostCells = 16;
constexpr int kMostValues = 80;

/// Longer rows that are not whole vectors gain nothing over average7_flat.hpp, which does not store them twice.
constexpr int kMostRest = 24;

/// Looks for rows of Cells cells and of two more each time.
template <int Lanes, int Cells = 2>
bool select(int cells, Average7Kernel& kernel) {
  if constexpr (Cells <= kMostCells) {
    if (cells != Cells) return select<Lanes, Cells + 2>(cells, kernel);
    constexpr int kRow = Lanes * Cells;
    if constexpr (kRow <= (kRow % kFlatLength == 0 ? kMostValues : kMostRest)) {
      kernel = row_kernel<Lanes, Cells>();
      return true;
    }
  }
  return false;
}

}  // namespace

bool select_average7_short(const BlockLayout& layout, Average7Kernel& kernel) {
  bool found = false;
  with_lanes(layout.lanes, [&](auto lanes) { found = select<lanes>(layout.cells[0], kernel); });
  return found;
}

}  // namespace amrbench::kernels::detail
