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
    (k < 4 ? mask.low : mask.high)[k % 4] = set[k] ? ~std::uint64_t{0} : 0;
#endif
  }
  return mask;
}

template <class Is>
LaneMask mask_where(const Is& is) {
  std::array<bool, kFlatLength> set{};
  for (int k = 0; k < kFlatLength; ++k) set[k] = is(k);
  return mask_of(set);
}

}  // namespace

FlatRows::FlatRows(const BlockLayout& l) : layout(l), rows(l.cells[1] * l.cells[2]) {
  const std::size_t row = l.row_values(), lanes = l.lanes;
  const int unit = row % kFlatLength == 0 ? 1 : 4;
  // A pair of planes where it fits: all strips are alike then, and a processor foresees what is done for each.
  const int pair = std::min(2 * l.cells[1], rows);
  const auto fitting = static_cast<int>(kMostStripValues / 2 / row);
  // Else the fewest planes that are whole vectors: cut ones are walked in pieces of few rows. A little more may do.
  const int whole = l.plane_values() % kFlatLength == 0 ? l.cells[1] : pair;
  strip = pair <= fitting ? pair : whole < 2 * fitting ? whole : std::clamp(fitting / unit * unit, unit, rows);
  const auto wanted = static_cast<int>((kLeadValues + l.plane_values()) / row) + 1;
  lead = rows - std::max(0, rows - wanted) / strip * strip;
  const std::size_t period = row / std::gcd(row, std::size_t{kFlatLength});
  for (std::size_t k = 0; k < period; ++k) {
    std::array<bool, kFlatLength> first{}, last{};
    bool any = false;
    for (std::size_t e = 0; e < kFlatLength; ++e) {
      const std::size_t in_row = (k * kFlatLength + e) % row;
      first[e] = in_row < lanes;
      last[e] = in_row + lanes >= row;
      any = any || first[e] || last[e];
    }
    masks.push_back({mask_of(first), mask_of(last), any});
  }
  for (int n = 0; n < kFlatLength; ++n) behind[n] = mask_where([n](int k) { return k >= n; });
}

}  // namespace amrbench::kernels
