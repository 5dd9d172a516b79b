#include "kernels/average27.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/average.hpp"
#include "kernels/average27_long_rows.hpp"
#include "kernels/lanes.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels {

namespace {

using Vector = SimdDouble<kFlatLength>;

constexpr std::size_t whole_vectors(std::size_t values) {
  return (values + kFlatLength - 1) / kFlatLength * kFlatLength;
}

/// Doubles from row to row of sums: those of a row's cells stand between those of the cells before and behind it.
std::size_t sums_pitch(const BlockLayout& l) {
  return whole_vectors(l.row_values() + 2 * std::size_t(l.lanes));
}

using detail::PlaneRows;

/// Rows [begin, begin + count) of ny.
struct RowRange {
  int begin, count, ny;
};

/// How a plane's rows in a range and the two beside it are found.
struct RowWalk {
  RowWalk(const PlaneRows& p, const RowRange& range)
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
      Values v;
      std::memcpy(&v, p + column, sizeof v);
      return v;
    };
    double* result = to + column;
    const auto put = [&result](const Values& v) { std::memcpy(result, &v, sizeof v); };
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

/// One chunk; strips in turn.
template <int Lanes, bool Sum, bool Stream>
class Chunk {
 public:
  static constexpr bool kSums = Sum;
  static std::size_t scratch(const FlatRows& rows) { return rows.strip * sums_pitch(rows.layout) + 3 * kFlatLength; }
  static constexpr int kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  Chunk(const FlatRows& rows, const Surroundings& around, int chunk, double* scratch)
      : rows_(rows), pitch_(sums_pitch(rows.layout)), row_(rows.layout.row_values()) {
    sums_ = scratch + kFlatLength;
    for (int dx = -1; dx <= 1; ++dx)
      detail::find_planes(around, chunk, dx, rows.layout.cells[2], planes_[dx + 1].data());
  }

  /// Rows [begin, end) of the chunk to `out`, where they begin.
  /// Meanwhile as many rows of a chunk of `ahead` from `fetched` on, and what lies beside them, are asked for.
  void compute(int begin, int end, const Surroundings& ahead, int chunk, int fetched, double* out, Sums& sums,
               const SumMagic& magic) {
    const int ny = rows_.layout.cells[1];
    double* to = sums_;
    for (int r = begin; r < end;) {
      const int z = r / ny, y = r % ny, count = std::min(end - r, ny - y);
      prefetch_beside(rows_.layout, ahead, chunk, fetched + r - begin, fetched + r - begin + count);
      sum_strip(z, {y, count, ny}, to);
      to += count * pitch_;
      r += count;
    }
    const Piece& own = ahead.piece(0, 0, 0);
    finish(end - begin, own.values + chunk * own.steps->chunk + fetched * row_, out, sums, magic);
  }

 private:
  /// Sums of nine of the rows of plane z in a range, and of the cells before and behind them.
  void sum_strip(int z, const RowRange& range, double* to) const {
    const PlaneRows* const plane = planes_[1].data() + z;
    // Once more, shortly before: what is fetched from many places a chunk ahead does not stay in the cache for sure.
    if (range.begin == 0 && z + 2 < rows_.layout.cells[2]) {
      prefetch_values(plane[3].before, row_);
      prefetch_values(plane[3].behind, row_);
    }
    if (row_ >= 8)
      sum_rows<8>(plane, range, row_, to, pitch_);
    else if (row_ >= 4)
      sum_rows<4>(plane, range, row_, to, pitch_);
    else
      sum_rows<2>(plane, range, row_, to, pitch_);
    constexpr int kLength = std::bit_floor(unsigned(Lanes));
    sum_rows<kLength>(planes_[0].data() + z, range, Lanes, to - Lanes, pitch_);
    sum_rows<kLength>(planes_[2].data() + z, range, Lanes, to + row_, pitch_);
  }

  /// Results of so many rows, in whole vectors: one that a row ends in goes on in the next row.
  void finish(int count, const double* next, double* out, Sums& kept, const SumMagic& magic) const {
    const std::size_t gap = pitch_ - row_, values = count * row_;
    const double* p = sums_;
    constexpr std::ptrdiff_t kPeriod = std::ptrdiff_t{kPatterns} * kFlatLength;
    auto left = static_cast<std::ptrdiff_t>(row_);  // of the row, from p on
    Sums sums = kept;
    const auto put = [&](std::size_t t, const Vector& total, VectorSum<kFlatLength>& sum) {
      __builtin_prefetch(next + t, 0, 2);
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
          left = static_cast<std::ptrdiff_t>(row_);
        }
        Vector before = load<8>(p - Lanes), at = load<8>(p), behind = load<8>(p + Lanes);
        for (left -= kFlatLength; left < 0; left += static_cast<std::ptrdiff_t>(row_)) {
          const LaneMask& mask = rows_.behind[std::size_t(kFlatLength + left)];
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

  const FlatRows& rows_;
  std::size_t pitch_;
  std::size_t row_;
  std::array<std::array<PlaneRows, kMaxBlockEdge + 2>, 3> planes_;  ///< from -1 on; before the block, in it, behind it
  double* sums_;  ///< of a strip's first row; each has those of the cells before and behind it on either side
};

template <class Part>
void average27_chunks(const FlatRows& rows, const Average27Args& args, double* scratch, RawSum* raw, SumMagic magic) {
  double* out = args.out + args.first * rows.layout.chunk_values();
  for (int chunk = args.first; chunk < args.last; ++chunk) {
    Part part(rows, *args.around, chunk, scratch);
    typename Part::Sums sums{};
    if constexpr (Part::kSums) load_sums(sums, raw + chunk * Part::kPatterns);
    for (int begin = 0; begin < rows.rows; begin += rows.strip) {
      const int end = std::min(begin + rows.strip, rows.rows);
      const bool here = begin + rows.lead < rows.rows;
      part.compute(begin, end, here ? *args.around : *args.next, chunk, (begin + rows.lead) % rows.rows, out, sums,
                   magic);
      out += std::size_t(end - begin) * rows.layout.row_values();
    }
    if constexpr (Part::kSums) store_sums(sums, raw + chunk * Part::kPatterns);
  }
}

template <int Lanes, template <int, bool, bool> class Part>
void set_kernel(const FlatRows& rows, Average27Kernel& kernel) {
  kernel.plain = {average27_chunks<Part<Lanes, false, false>>, average27_chunks<Part<Lanes, false, true>>};
  kernel.summing = {average27_chunks<Part<Lanes, true, false>>, average27_chunks<Part<Lanes, true, true>>};
  kernel.scratch = Part<Lanes, true, true>::scratch(rows);
}

/// From so many values on a row is long.
constexpr std::size_t kLongRow = 160;

}  // namespace

Average27Kernel select_average27(const FlatRows& rows) {
  Average27Kernel kernel;
  with_lanes(rows.layout.lanes, [&](auto lanes) {
    if (rows.layout.row_values() >= kLongRow)
      set_kernel<lanes, detail::LongRowChunk>(rows, kernel);
    else
      set_kernel<lanes, Chunk>(rows, kernel);
  });
  return kernel;
}

void average27_reference(const TileLayout& l, const double* tile, double* out) {
  const auto& n = l.block.cells;
  for (int v = 0; v < l.lanes * l.chunks; ++v) {
    for (int z = 0; z < n[2]; ++z) {
      for (int y = 0; y < n[1]; ++y) {
        for (int x = 0; x < n[0]; ++x) {
          std::array<double, 3> planes{};
          for (int c = 0; c < 27; ++c) {
            const double u = tile[l.offset(v, x + c / 9 - 1, y + c / 3 % 3 - 1, z + c % 3 - 1)];
            planes[c / 9] = c % 9 == 0 ? u : planes[c / 9] + u;
          }
          out[l.block.offset(v, x, y, z)] = (planes[0] + planes[1] + planes[2]) / 27.0;
        }
      }
    }
  }
}

}  // namespace amrbench::kernels
