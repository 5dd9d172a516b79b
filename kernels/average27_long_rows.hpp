#pragma once
// 27 points where rows are long. Included by average27.cpp only.
//
// Sums of nine are made row after row from nine rows: processors fetch what lies ahead in a row by themselves. Rows in
// columns, as average27.cpp takes shorter ones, lose up to a fifth from 192 values a row on. The cells before and
// behind the rows are copied first and summed as two arrays.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/average27_rows.hpp"

namespace amrbench::kernels::detail {

/// Those of a chunk, from -1 on: dx = 0 the rows, -1 and 1 the cells before and behind them.
inline void find_planes(const Surroundings& around, int chunk, int dx, int nz, PlaneRows* to) {
  for (int dz = -1; dz <= 1; ++dz) {
    const Piece &before = around.piece(dx, -1, dz), &own = around.piece(dx, 0, dz), &behind = around.piece(dx, 1, dz);
    PlaneRows rows{before.values + chunk * before.steps->chunk, own.values + chunk * own.steps->chunk,
                   behind.values + chunk * behind.steps->chunk, own.steps->cell[1]};
    for (int z = 0; z < (dz == 0 ? nz : 1); ++z) {
      *to++ = rows;
      rows.before += before.steps->cell[2];
      rows.first += own.steps->cell[2];
      rows.behind += behind.steps->cell[2];
    }
  }
}

/// Doubles to the next multiple of a vector, and one vector more: loops run in whole vectors.
constexpr std::size_t with_room(std::size_t values) {
  return (values + 2 * kFlatLength - 1) / kFlatLength * kFlatLength;
}

/// Where a kernel's arrays lie in its scratch.
struct Parts {
  explicit Parts(const FlatRows& r)
      : column_plane(std::size_t(r.layout.cells[1] + 2) * r.layout.lanes),
        column(with_room(column_plane * (r.layout.cells[2] + 2))),
        strip(with_room(r.strip * r.layout.row_values())) {}
  [[nodiscard]] std::size_t values() const { return 3 * column + 3 * strip + 2 * kFlatLength; }

  std::size_t column_plane;  ///< of a column of ghosts before or behind the rows: [z][y][lane] from -1 on
  std::size_t column, strip;
};

/// The rows, or columns, whose sum is wanted, in the order of additions.
using Nine = std::array<const double*, 9>;

/// to[t] = the sum of nine at t, in whole vectors: up to 7 values too many.
inline void sum_nine(const Nine& p, std::size_t n, double* to) {
  for (std::size_t t = 0; t < n; t += kFlatLength) {
    SimdDouble<kFlatLength> sum = load<8>(p[0] + t);
    for (int k = 1; k < 9; ++k) sum += load<8>(p[k] + t);
    store<8>(to + t, sum);
  }
}

/// One chunk; strips in turn.
template <int Lanes, bool Sum, bool Stream>
class LongRowChunk {
 public:
  static constexpr bool kSums = Sum;
  static std::size_t scratch(const FlatRows& rows) { return Parts(rows).values(); }
  static constexpr int kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  LongRowChunk(const FlatRows& rows, const Surroundings& around, int chunk, double* scratch)
      : rows_(rows), parts_(rows), row_(rows.layout.row_values()) {
    double* const column = scratch;
    ghosts_ = {scratch + parts_.column, scratch + 2 * parts_.column};
    sums_ = scratch + 3 * parts_.column + kFlatLength;
    outside_ = {sums_ + parts_.strip, sums_ + 2 * parts_.strip};
    for (int side = 0; side < 2; ++side) {
      pack_column(around, side, chunk, column);
      sum_column(column, ghosts_[side]);
    }
    find_planes(around, chunk, 0, rows.layout.cells[2], planes_.data());
  }

  /// Rows [begin, end) of the chunk to `out`, where they begin.
  /// Meanwhile as many rows of a chunk of `ahead` from `fetched` on, and what lies beside them, are asked for.
  void compute(int begin, int end, const Surroundings& ahead, int chunk, int fetched, double* out, Sums& sums,
               const SumMagic& magic) {
    const int ny = rows_.layout.cells[1];
    double *to = sums_, *low = outside_[0], *high = outside_[1] + row_ - Lanes;
    for (int r = begin; r < end;) {
      const int z = r / ny, y = r % ny, count = std::min(end - r, ny - y);
      prefetch_beside(rows_.layout, ahead, chunk, fetched + r - begin, fetched + r - begin + count);
      sum_rows(z, y, y + count, to);
      const std::size_t cell = z * parts_.column_plane + std::size_t(y) * Lanes;
      const double *before = ghosts_[0] + cell, *behind = ghosts_[1] + cell;
      for (int k = 0; k < count; ++k, low += row_, high += row_, before += Lanes, behind += Lanes) {
        std::memcpy(low, before, Lanes * sizeof(double));
        std::memcpy(high, behind, Lanes * sizeof(double));
      }
      to += count * row_;
      r += count;
    }
    const Piece& own = ahead.piece(0, 0, 0);
    average(std::size_t(end - begin) * row_ / kFlatLength, own.values + chunk * own.steps->chunk + fetched * row_, out,
            sums, magic);
  }

 private:
  /// The cells beside the rows, exactly: whatever else lies in their lines is not wanted.
  void pack_column(const Surroundings& around, int side, int chunk, double* to) {
    const int ny = rows_.layout.cells[1], nz = rows_.layout.cells[2];
    find_planes(around, chunk, 2 * side - 1, nz, planes_.data());
    const auto copy = [&to](const double* from) {
      std::memcpy(to, from, Lanes * sizeof(double));
      to += Lanes;
    };
    for (int z = 0; z < nz + 2; ++z) {
      const PlaneRows& p = planes_[z];
      copy(p.before);
      for (int y = 0; y < ny; ++y) copy(p.first + y * p.step);
      copy(p.behind);
    }
  }
  /// The sum of nine of every row's cell, and of two more a plane, which nobody reads.
  void sum_column(const double* column, double* to) const {
    Nine p{};
    for (int k = 0; k < 9; ++k) p[k] = column + k % 3 * parts_.column_plane + std::size_t(k / 3) * Lanes;
    sum_nine(p, rows_.layout.cells[2] * parts_.column_plane - 2 * Lanes, to);
  }

  /// Sums of nine of the rows [y0, y1) of plane z.
  void sum_rows(int z, int y0, int y1, double* to) const {
    const int ny = rows_.layout.cells[1];
    const PlaneRows* const plane = planes_.data() + z;  // planes z - 1, z, z + 1 and on
    // Rows lie one behind the other but in faces that are extended along x.
    // Once more, shortly before: what is fetched from many places a chunk ahead does not stay in the cache for sure.
    if (y0 == 0 && z + 2 < rows_.layout.cells[2]) {
      prefetch_values(plane[4].before, with_room(row_) - kFlatLength);
      prefetch_values(plane[4].behind, with_room(row_) - kFlatLength);
    }
    const bool flat = plane[0].step == row_ && plane[2].step == row_;
    for (int y = y0; y < y1;) {
      const int count = flat && y > 0 && y + 1 < ny ? std::min(y1, ny - 1) - y : 1;
      Nine p{};
      for (int k = 0; k < 3; ++k) {
        const double* const row = plane[k].first + y * plane[k].step;
        p[k] = y > 0 ? row - plane[k].step : plane[k].before;
        p[3 + k] = row;
        p[6 + k] = y + 1 < ny ? row + plane[k].step : plane[k].behind;
      }
      sum_nine(p, count * row_, to);
      to += count * row_;
      y += count;
    }
  }

  void average(std::size_t vectors, const double* next, double* out, Sums& kept, const SumMagic& magic) const {
    const EdgeMasks* const masks = rows_.masks.data();
    const std::size_t period = rows_.masks.size();
    const double *const low = outside_[0], *const high = outside_[1], *const mid = sums_;
    Sums sums = kept;
    for (std::size_t first = 0; first < vectors; first += period) {
      for (std::size_t k = 0; k < period; k += kPatterns) {
        for (std::size_t p = 0; p < kPatterns; ++p) {
          const std::size_t t = (first + k + p) * kFlatLength;
          const EdgeMasks& mask = masks[k + p];
          prefetch_line(next + t);
          SimdDouble<kFlatLength> before, behind;
          if (mask.any) {
            before = load_either(mask.first, low + t, mid + t - Lanes);
            behind = load_either(mask.last, high + t, mid + t + Lanes);
          } else {
            before = load<8>(mid + t - Lanes);
            behind = load<8>(mid + t + Lanes);
          }
          const SimdDouble<kFlatLength> v = twenty_seventh<SimdDouble<kFlatLength>>(before + load<8>(mid + t) + behind);
          Stream ? stream<8>(out + t, v) : store<8>(out + t, v);
          if constexpr (Sum) sums[p].add(v, magic.hi, magic.lo);
        }
      }
    }
    kept = sums;
  }

  const FlatRows& rows_;
  Parts parts_;
  std::size_t row_;
  std::array<PlaneRows, kMaxBlockEdge + 2> planes_;  ///< from -1 on
  std::array<double*, 2> ghosts_{};                  ///< sums of nine before and behind the rows
  double* sums_;                                     ///< those of a strip
  std::array<double*, 2> outside_{};  ///< laid out like sums_: what stands before its first cells, behind its last ones
};

}  // namespace amrbench::kernels::detail
