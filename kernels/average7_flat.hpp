#pragma once
// The walk of average7 over a chunk as one array of whole vectors (kernels/flat_rows.hpp), compiled for `Lanes` lanes
// and any edges. Included by average7*.cpp only.
//
// The neighbours are the same array shifted by the lanes, a row, a plane. Along y and z the array changes to a face's
// where a plane begins or ends: a chunk is cut into segments between such places, and a vector across one is merged out
// of two. Along x a face is a cell a row: they are copied, exactly, a strip of rows ahead, to where the shifted arrays
// take them.
#include <algorithm>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/flat_rows.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

/// Values [.., end) of a chunk whose neighbours across y and z lie at one distance: -y +y -z +z, to be indexed like the
/// chunk.
struct Segment {
  std::size_t end = 0;
  std::array<const double*, 4> from{};
};

/// Those of a chunk: of every plane the first row, the inner ones, the last one. Behind the last stands one without
/// end.
using Segments = std::array<Segment, 3 * kMaxBlockEdge + 1>;

template <int Lanes>
void find_segments(const BlockLayout& l, const double* in, FaceWalk<Lanes> faces, Segments& segments) {
  const std::size_t row = Lanes * std::size_t(l.cells[0]), plane = row * l.cells[1];
  Segment* s = segments.data();
  std::size_t start = 0;
  for (int z = 0; z < l.cells[2]; ++z, start += plane, s += 3, faces.next_plane()) {
    const double* const under = z > 0 ? in - plane : faces.at(4);
    const double* const over = z + 1 < l.cells[2] ? in + plane : faces.at(5) - start;
    const std::size_t last = start + plane - row;
    s[0] = {start + row, {faces.at(2) - start, in + row, under, over}};
    s[1] = {last, {in - row, in + row, under, over}};
    s[2] = {start + plane, {in - row, faces.at(3) - last, under, over}};
  }
  s->end = std::size_t(-1);
}

/// The cells before the rows of a strip (side 0) and behind them (side 1), FlatRows::beside apart. Vectors are loaded
/// of which only those values are used: hence the room around them.
struct Outside {
  static constexpr std::size_t kAround = kFlatLength;
  alignas(64) std::array<double, 2 * kMostStripValues + 4 * kAround + kPageValues> room;
  std::array<double*, 2> side;

  /// Places `values` a side for a strip of results that ends at `end`: where stores come last.
  void place(const double* end, std::size_t values) {
    side[0] = beside_stores(room.data() + kAround, end, kAround);
    side[1] = side[0] + (values + 2 * kAround - 1) / kAround * kAround;
  }
};

template <int Lanes, bool Sum, bool Stream>
class FlatChunk {
 public:
  using Vector = SimdDouble<kFlatLength>;
  static constexpr std::size_t kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  /// The faces `now` and `ahead`, of the chunk at `in` and of that at `next`, stand at their chunk.
  FlatChunk(const FlatRows& rows, const double* in, const FaceWalk<Lanes>& now, const double* next,
            const FaceWalk<Lanes>& ahead, double* out, const SumMagic& magic)
      : rows_(rows), in_(in), out_(out), magic_(magic), now_(now), next_(next), ahead_(ahead) {
    find_segments(rows.layout, in, now, segments_);
  }

  void run(Sums& sums) {
    Outside outside[2];
    const std::size_t row = rows_.layout.row_values(), values = rows_.layout.chunk_values();
    const Segment* s = segments_.data();
    Fetched fetched = first_fetched();
    __builtin_prefetch(next_ + values, 0, 2);  // with its last vector the next one is loaded
    Row present{{}, {}, load<8>(in_), {}};
    fill(outside[0], fetched);
    std::size_t t = 0;
    for (int strip = 0; t < values; ++strip) {
      const std::size_t begin = t, end = std::min(values, begin + rows_.strip * row);
      const std::size_t ahead = begin + rows_.lead * row;
      fetch_ = (ahead < values ? in_ + ahead : next_ + (ahead - values)) - begin;
      if (end < values) fill(outside[(strip + 1) % 2], fetched);
      present.beside = {outside[strip % 2].side[0] - begin, outside[strip % 2].side[1] - begin - (row - Lanes)};
      while (t < end) {
        const std::size_t inside = std::min(end, s->end) / kFlatLength * kFlatLength;
        if (t < inside) {
          run_inside(*s, t, inside, present, sums);
          t = inside;
        }
        if (t == s->end)
          ++s;
        else if (t < end)
          across(s, t, present, sums);
      }
    }
  }

 private:
  /// The rows that are fetched: rows_.lead behind those beside which cells are copied, of this chunk and then of the
  /// next.
  struct Fetched {
    FaceWalk<Lanes> faces;
    int left = 0, y = 0, z = 0;  ///< rows to the chunk's end; the present one
  };
  [[nodiscard]] Fetched first_fetched() const {
    if (rows_.lead == rows_.rows) return {ahead_, rows_.rows};
    const int ny = rows_.layout.cells[1];
    Fetched fetched{now_, rows_.rows - rows_.lead, rows_.lead % ny, rows_.lead / ny};
    for (int z = 0; z < fetched.z; ++z) fetched.faces.next_plane();
    return fetched;
  }
  /// Asks for n values and what vectors across their ends touch, masked or not.
  static void fetch_around(const double* p, std::size_t n) {
    prefetch_values(p - (kFlatLength - 1), n + 2 * (kFlatLength - 1));
  }
  /// Asks for what lies beside so many rows, and goes on to those behind.
  void fetch_beside(Fetched& f, int count) const {
    const std::size_t row = rows_.layout.row_values();
    const int ny = rows_.layout.cells[1];
    while (count > 0) {
      const int rows = std::min({count, ny - f.y, f.left});
      for (int side = 0; side < 2; ++side) {
        const double* cell = f.faces.at(side) + f.y * f.faces.step_y(side);
        for (int k = 0; k < rows; ++k, cell += f.faces.step_y(side)) prefetch_values(cell, Lanes);
      }
      if (f.y == 0) fetch_around(f.faces.at(2), row);
      if (f.y + rows == ny) fetch_around(f.faces.at(3), row);
      if (f.z == 0) fetch_around(f.faces.at(4) + f.y * row, rows * row);
      if (f.z + 1 == rows_.layout.cells[2]) fetch_around(f.faces.at(5) + f.y * row, rows * row);
      count -= rows;
      f.left -= rows;
      f.y += rows;
      if (f.left == 0) {
        f = {ahead_, rows_.rows};
      } else if (f.y == ny) {
        f.y = 0;
        ++f.z;
        f.faces.next_plane();
      }
    }
  }

  /// Copies the cells beside the next strip's rows, and asks for what the rows to come need beside themselves. Those of
  /// all planes lie at one distance.
  void fill(Outside& outside, Fetched& fetched) {
    const int rows = std::min(rows_.strip, rows_.rows - filled_);
    fetch_beside(fetched, rows);
    outside.place(out_ + (filled_ + rows) * rows_.layout.row_values(), rows * rows_.beside);
    const double *before = now_.at(0) + filled_ * now_.step_y(0), *behind = now_.at(1) + filled_ * now_.step_y(1);
    double *low = outside.side[0], *high = outside.side[1];
    for (int k = 0; k < rows; ++k, low += rows_.beside, high += rows_.beside) {
      std::memcpy(low, before, Lanes * sizeof(double));
      std::memcpy(high, behind, Lanes * sizeof(double));
      before += now_.step_y(0);
      behind += now_.step_y(1);
    }
    filled_ += rows;
  }

  /// The vectors before, at and behind the present one. Neighbours along x are shifted out of them: loads that touch
  /// two lines each cost more than all other loads together.
  struct Row {
    Vector before, at, behind;
    std::array<const double*, 2> beside;  ///< Outside's sides, to be indexed like the chunk in the present row
    void shift(const double* next) {
      before = at;
      at = behind;
      behind = load<8>(next);
    }
  };
  /// Results of the vector at t; p: what lies across y and z.
  inline void finish(std::size_t t, const EdgeMasks& mask, const std::array<Vector, 4>& p, Row& row,
                     VectorSum<kFlatLength>& sum, double* out) const {
    Vector left = shifted<kFlatLength - Lanes>(row.before, row.at), right = shifted<Lanes>(row.at, row.behind);
    if (mask.any) {
      left = load_where(mask.first, row.beside[0] + t, left);
      right = load_where(mask.last, row.beside[1] + t, right);
      row.beside[0] += mask.step[0];
      row.beside[1] += mask.step[1];
    }
    const Vector v = average7<Vector>(left, p[0], p[2], row.at, p[3], p[1], right);
    Stream ? stream<8>(out + t, v) : store<8>(out + t, v);
    if constexpr (Sum) sum.add(v, magic_.hi, magic_.lo);
  }
  /// Vectors [t, end) of one segment.
  inline void run_inside(const Segment& segment, std::size_t t, std::size_t end, Row& present, Sums& kept) const {
    const EdgeMasks* const masks = rows_.masks.data();
    const std::size_t period = rows_.masks.size();
    // Copies: the compiler cannot know that results are not stored over this object.
    const double *const p0 = segment.from[0], *const p1 = segment.from[1], *const p2 = segment.from[2];
    const double *const p3 = segment.from[3], *const in = in_, *const fetch = fetch_;
    double* const out = out_;
    Row row = present;
    std::size_t k = t / kFlatLength % period;
    const auto step = [&](VectorSum<kFlatLength>& sum) {
      __builtin_prefetch(fetch + t, 0, 2);
      row.shift(in + t + kFlatLength);
      finish(t, masks[k], {load<8>(p0 + t), load<8>(p1 + t), load<8>(p2 + t), load<8>(p3 + t)}, row, sum, out);
      t += kFlatLength;
      if (++k == period) k = 0;
    };
    if constexpr (Sum && kPatterns > 1) {
      while (t < end && k % kPatterns != 0) step(kept[k % kPatterns]);
      Sums sums = kept;
      while (t + kPatterns * kFlatLength <= end)
        for (std::size_t q = 0; q < kPatterns; ++q) step(sums[q]);
      kept = sums;
      while (t < end) step(kept[k % kPatterns]);
    } else {
      VectorSum<kFlatLength> sum = kept[0];
      while (t < end) step(sum);
      kept[0] = sum;
    }
    present = row;
  }
  /// The vector at t, in which segments end.
  void across(const Segment*& s, std::size_t& t, Row& row, Sums& sums) const {
    __builtin_prefetch(fetch_ + t, 0, 2);
    std::array<Vector, 4> from;
    for (int n = 0; n < 4; ++n) from[n] = load<8>(s->from[n] + t);
    while (s->end < t + kFlatLength) {
      const LaneMask behind = rows_.behind[s->end - t];
      ++s;
      for (int n = 0; n < 4; ++n) from[n] = load_where(behind, s->from[n] + t, from[n]);
    }
    const std::size_t k = t / kFlatLength;
    row.shift(in_ + t + kFlatLength);
    finish(t, rows_.masks[k % rows_.masks.size()], from, row, sums[k % kPatterns], out_);
    t += kFlatLength;
  }

  const FlatRows& rows_;
  const double* in_;
  double* out_;
  SumMagic magic_;
  Segments segments_;
  FaceWalk<Lanes> now_;
  int filled_ = 0;  ///< rows beside which cells were copied
  const double* next_;
  FaceWalk<Lanes> ahead_;
  const double* fetch_ = nullptr;
};

/// A run of chunks of a block.
template <int Lanes, bool Sum, bool Stream>
void average7_flat(const FlatRows& rows, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Chunk = FlatChunk<Lanes, Sum, Stream>;
  FaceWalk<Lanes> now(args.input, rows.layout), ahead(args.next, rows.layout);
  const std::size_t values = rows.layout.chunk_values();
  for (int chunk = 0; chunk < args.chunks; ++chunk) {
    now.start_chunk();
    ahead.start_chunk();
    typename Chunk::Sums sums{};
    if constexpr (Sum) load_sums(sums, raw + chunk * Chunk::kPatterns);
    Chunk(rows, args.input.in + chunk * values, now, args.next.in + chunk * values, ahead, args.out + chunk * values,
          magic)
        .run(sums);
    if constexpr (Sum) store_sums(sums, raw + chunk * Chunk::kPatterns);
  }
}

}  // namespace amrbench::kernels::detail
