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

template <class Is>
LaneMask mask_where(const Is& is) {
  std::array<bool, kFlatLength> set{};
  for (int k = 0; k < kFlatLength; ++k) set[k] = is(k);
  return mask_of(set);
}

/// Of a plane that begins at value `start` of a chunk.
PlaneCut cut_plane(const BlockLayout& l, int start) {
  const auto row = static_cast<int>(l.row_values()), plane = static_cast<int>(l.plane_values()), end = start + plane;
  const auto up = [](int t) { return (t + kFlatLength - 1) / kFlatLength * kFlatLength; };
  const auto down = [](int t) { return t / kFlatLength * kFlatLength; };
  // Of the vector at t, in a plane that begins at `from`.
  const auto masks = [&](int t, int from) {
    const int behind = from + plane;
    return RowMasks{mask_where([&](int k) { return t + k >= from && t + k < from + row; }),
                    mask_where([&](int k) { return t + k >= behind - row && t + k < behind; })};
  };
  PlaneCut cut;
  const int first = up(start), last = std::max(first, down(end));
  cut.across = first != start;
  if (cut.across) cut.between = {masks(down(start), start - plane), masks(down(start), start)};
  const int head = std::clamp(up(start + row), first, last), tail = std::clamp(down(end - row), first, last);
  cut.close = tail < head;
  for (const auto& [begin, stop] :
       {std::array{first, cut.close ? last : head}, std::array{cut.close ? last : tail, last}})
    for (int t = begin; t < stop; t += kFlatLength) cut.masks.push_back(masks(t, start));
  cut.vectors = cut.close ? std::array{last - first, 0, 0} : std::array{head - first, tail - head, last - tail};
  for (int& n : cut.vectors) n /= kFlatLength;
  return cut;
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
  for (int n = 0; n < kFlatLength; ++n) behind[n] = mask_where([n](int k) { return k >= n; });
  for (int odd = 0; odd < 2; ++odd) cuts[odd] = cut_plane(l, odd * static_cast<int>(l.plane_values()));
}

}  // namespace amrbench::kernels
