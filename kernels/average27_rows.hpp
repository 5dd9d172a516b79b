#pragma once
// What the walks of 27 points share: sums of nine of rows, and results of rows of such sums. Included by average27.cpp
// only.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "kernels/average.hpp"
#include "kernels/average27.hpp"
#include "kernels/flat_rows.hpp"
#include "kernels/surroundings.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

constexpr std::size_t whole_vectors(std::size_t values) {
  return (values + kFlatLength - 1) / kFlatLength * kFlatLength;
}

/// The rows of a plane, or their cells before or behind the block: at y = -1, 0 and ny, and the step between those
/// inside.
struct PlaneRows {
  const double *before, *first, *behind;
  std::size_t step;
};

/// Rows [begin, begin + count) of ny.
struct RowRange {
  int begin, count, ny;
};

/// How a plane's rows in a range and the two beside it are found. Inlined, lest it go through memory.
struct RowWalk {
  [[gnu::always_inline]] RowWalk(const PlaneRows& p, const RowRange& range)
      : first(p.first + range.begin * p.step),
        before(range.begin > 0 ? first - p.step : p.before),
        behind(range.begin + range.count < range.ny ? first + range.count * p.step : p.behind),
        step(p.step) {}
  const double *first, *before, *behind;
  std::size_t step;
};

/// Sums of nine of n values of the rows in `range`, of the planes[0] to planes[2]: to[t], and on by `step` from row to
/// row. A row is loaded once for the three sums that it belongs to. The last vector is moved back to end with the row:
/// n >= Length.
template <int Length>
inline void sum_rows(const PlaneRows* planes, RowRange range, std::size_t n, double* to, std::size_t step) {
  using Values = std::conditional_t<Length == 1, double, SimdDouble<Length>>;  // vectors of one go through memory
  const RowWalk x(planes[0], range), y(planes[1], range), z(planes[2], range);
  for (std::size_t t = 0; t < n; t += Length) {
    const std::size_t column = std::min(t, n - Length);
    const auto at = [column](const double* p) {
      if constexpr (Length == 1)
        return p[column];
      else
        return load<Length>(p + column);
    };
    double* result = to + column;
    const auto put = [&result](const Values& v) {
      if constexpr (Length == 1)
        *result = v;
      else
        store<Length>(result, v);
    };
    const double *p = x.first, *q = y.first, *r = z.first;
    Values a = at(p), b = at(q), c = at(r);
    // Of the last two rows, and of the last one alone.
    Values two = at(x.before) + at(y.before) + at(z.before) + a + b + c, one = a + b + c;
    for (int k = 1; k < range.count; ++k, result += step) {
      a = at(p += x.step);
      b = at(q += y.step);
      c = at(r += z.step);
      put(two + a + b + c);
      two = one + a + b + c;
      one = a + b + c;
    }
    put(two + at(x.behind) + at(y.behind) + at(z.behind));
  }
}

/// Results of `count` rows of sums of nine, `pitch` apart and with those of the cells before and behind them on either
/// side, in whole vectors: one that a row ends in goes on in the next row. Meanwhile as much from `next` on is asked
/// for.
template <int Lanes, bool Sum, bool Stream, class Sums>
inline void finish_rows(const FlatRows& rows, const double* p, std::size_t pitch, int count, const double* next,
                        double* out, Sums& kept, const SumMagic& magic) {
  using Vector = SimdDouble<kFlatLength>;
  constexpr std::size_t kPatterns = pattern_count(Lanes, kFlatLength);
  const std::size_t row = rows.layout.row_values(), gap = pitch - row, values = count * row;
  constexpr std::ptrdiff_t kPeriod = std::ptrdiff_t{kPatterns} * kFlatLength;
  auto left = static_cast<std::ptrdiff_t>(row);  // of the row, from p on
  Sums sums = kept;
  const auto put = [&](std::size_t t, const Vector& total, VectorSum<kFlatLength>& sum) {
    prefetch_line(next + t);
    const Vector v = twenty_seventh<Vector>(total);
    Stream ? stream<8>(out + t, v) : store<8>(out + t, v);
    if constexpr (Sum) sum.add(v, magic.hi, magic.lo);
  };
  for (std::size_t t = 0; t < values;) {
    for (; left >= kPeriod; left -= kPeriod)
      for (std::size_t k = 0; k < kPatterns; ++k, t += kFlatLength, p += kFlatLength)
        put(t, load<8>(p - Lanes) + load<8>(p) + load<8>(p + Lanes), sums[k]);
    if (t == values) break;
    for (std::size_t k = 0; k < kPatterns; ++k, t += kFlatLength, p += kFlatLength) {
      if (left == 0) {
        p += gap;
        left = static_cast<std::ptrdiff_t>(row);
      }
      Vector before = load<8>(p - Lanes), at = load<8>(p), behind = load<8>(p + Lanes);
      for (left -= kFlatLength; left < 0; left += static_cast<std::ptrdiff_t>(row)) {
        const LaneMask& mask = rows.behind[std::size_t(kFlatLength + left)];
        p += gap;
        before = load_where(mask, p - Lanes, before);
        at = load_where(mask, p, at);
        behind = load_where(mask, p + Lanes, behind);
      }
      put(t, before + at + behind, sums[k]);
    }
  }
  kept = sums;
}

}  // namespace amrbench::kernels::detail
