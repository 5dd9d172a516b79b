#include "kernels/average27.hpp"

#include <algorithm>
#include <bit>

#include "kernels/average27_long_rows.hpp"
#include "kernels/average27_octet.hpp"
#include "kernels/average27_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

using detail::PlaneRows;
using detail::RowRange;
using detail::sum_rows;

/// Doubles from row to row of sums: those of a row's cells stand between those of the cells before and behind it.
std::size_t sums_pitch(const BlockLayout& l) {
  return detail::whole_vectors(l.row_values() + 2 * std::size_t(l.lanes));
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
    detail::finish_rows<Lanes, Sum, Stream>(rows_, sums_, pitch_, end - begin,
                                            own.values + chunk * own.steps->chunk + fetched * row_, out, sums, magic);
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

template <class Part>
void average27_octet_chunks(const FlatRows& rows, const Average27OctetArgs& args, double* scratch, RawSum* raw,
                            SumMagic magic) {
  for (int chunk = args.first; chunk < args.last; ++chunk) {
    typename Part::Sums sums{};
    if constexpr (Part::kSums) load_sums(sums, raw + chunk * Part::kPatterns);
    const bool more = chunk + 1 < args.last;
    Part(rows, *args.around, chunk, more ? *args.around : *args.next, more ? chunk + 1 : args.first, args.out, scratch,
         magic)
        .run(sums);
    if constexpr (Part::kSums) store_sums(sums, raw + chunk * Part::kPatterns);
  }
}

template <int Lanes, template <int, bool, bool> class Part>
void set_kernel(const FlatRows& rows, Average27Kernel& kernel) {
  kernel.plain = {average27_chunks<Part<Lanes, false, false>>, average27_chunks<Part<Lanes, false, true>>};
  kernel.summing = {average27_chunks<Part<Lanes, true, false>>, average27_chunks<Part<Lanes, true, true>>};
  kernel.scratch = Part<Lanes, true, true>::scratch(rows);
}

template <int Lanes>
void set_octet_kernel(const FlatRows& rows, Average27OctetKernel& kernel) {
  using detail::OctetChunk;
  kernel.plain = {average27_octet_chunks<OctetChunk<Lanes, false, false>>,
                  average27_octet_chunks<OctetChunk<Lanes, false, true>>};
  kernel.summing = {average27_octet_chunks<OctetChunk<Lanes, true, false>>,
                    average27_octet_chunks<OctetChunk<Lanes, true, true>>};
  kernel.scratch = OctetChunk<Lanes, true, true>::scratch(rows);
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

Average27OctetKernel select_average27_octet(const FlatRows& rows) {
  Average27OctetKernel kernel;
  // Measured (docs/kernels.md): longer rows do as well one by one, larger chunks better.
  constexpr std::size_t kMostRow = 32, kMostChunk = 1536;
  const BlockLayout& l = rows.layout;
  if (l.row_values() <= kMostRow && l.chunk_values() <= kMostChunk)
    with_lanes(rows.layout.lanes, [&](auto lanes) { set_octet_kernel<lanes>(rows, kernel); });
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
