#include "kernels/flat_rows.hpp"

#include <algorithm>

namespace amrbench::kernels {

namespace {

LaneMask mask_of(const std::array<bool, kFlatLength>& set) {
  LaneMask mask{};
  for (int k = 0; k < kFlatLength; ++k) {
#if defined(__AVX512F__)
    mask = static_cast<LaneMask>(mask | (set[k] ? 1 << k : 0));
#else
    mask[k] = set[k] ? ~std::uint64_t{0} : 0;
#endif
  }
  return mask;
}

}  // namespace

FlatRows::FlatRows(const BlockLayout& l) : layout(l), rows(l.cells[1] * l.cells[2]) {
  const std::size_t row = l.row_values(), lanes = l.lanes;
  const int unit = row % kFlatLength == 0 ? 1 : 4;
  strip = std::clamp(static_cast<int>(kMostStripValues / 2 / (row * unit)) * unit, unit, rows);
  const auto wanted = static_cast<int>((kLeadValues + l.plane_values()) / row) + 1;
  lead = rows - std::max(0, rows - wanted) / strip * strip;
  // Close together, unless a vector has cells of several rows.
  beside = row - lanes >= kFlatLength ? lanes : row;
  const std::size_t period = row / std::gcd(row, std::size_t{kFlatLength});
  for (std::size_t k = 0; k < period; ++k) {
    std::array<bool, kFlatLength> first{}, last{};
    bool any = false;
    std::array<std::ptrdiff_t, 2> step{};
    for (std::size_t e = 0; e < kFlatLength; ++e) {
      const std::size_t in_row = (k * kFlatLength + e) % row;
      first[e] = in_row < lanes;
      last[e] = in_row + lanes >= row;
      if (in_row + 1 == lanes) step[0] += beside - row;
      if (in_row + 1 == row) step[1] += beside - row;
      any = any || first[e] || last[e];
    }
    masks.push_back({mask_of(first), mask_of(last), any, step});
  }
  for (int n = 0; n < kFlatLength; ++n) {
    std::array<bool, kFlatLength> set{};
    for (int e = n; e < kFlatLength; ++e) set[e] = true;
    behind[n] = mask_of(set);
  }
}

}  // namespace amrbench::kernels
