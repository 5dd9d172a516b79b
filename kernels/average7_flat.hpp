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

/// The segments of a chunk in turn: a plane's first row, its inner rows, its last one.
template <int Lanes>
class Segments {
 public:
  Segments(const BlockLayout& l, const double* in, const FaceWalk<Lanes>& faces)
      : in_(in),
        faces_(faces),
        row_(l.row_values()),
        plane_(l.plane_values()),
        planes_(l.cells[2]),
        more_(l.cells[1] > 2) {}

  /// The next one; behind the last one it stays there.
  Segment next() {
    if (part_ == 0) enter_plane();
    Segment s = plane_segment_;
    const std::size_t start = std::size_t(z_) * plane_;
    if (part_ == 0) s.from[0] = faces_.at(2) - start;
    if (part_ == 2) s.from[1] = faces_.at(3) - (start + plane_ - row_);
    s.end = part_ == 0 ? start + row_ : part_ == 1 ? start + plane_ - row_ : start + plane_;
    part_ = part_ == 0 && !more_ ? 2 : part_ + 1;
    if (part_ == 3) {
      part_ = 0;
      ++z_;
      faces_.next_plane();
    }
    return s;
  }

 private:
  void enter_plane() {
    const std::size_t start = std::size_t(z_) * plane_;
    plane_segment_.from = {in_ - row_, in_ + row_, z_ > 0 ? in_ - plane_ : faces_.at(4),
                           z_ + 1 < planes_ ? in_ + plane_ : faces_.at(5) - start};
  }
  const double* in_;
  FaceWalk<Lanes> faces_;
  std::size_t row_, plane_;
  int planes_, z_ = 0, part_ = 0;
  bool more_;
  Segment plane_segment_;
};

/// What stands before the rows of a strip (side 0) and behind them: laid out like the strip, only those cells are set.
struct Outside {
  alignas(64) std::array<std::array<double, kMostStripValues + kFlatLength>, 2> side;
};

template <int Lanes, bool Sum, bool Stream>
class FlatChunk {
 public:
  using Vector = SimdDouble<kFlatLength>;
  static constexpr std::size_t kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  FlatChunk(const FlatRows& rows, const double* in, const FaceWalk<Lanes>& now, const double* next,
            const FaceWalk<Lanes>& ahead, double* out, const SumMagic& magic)
      : rows_(rows),
        in_(in),
        out_(out),
        next_(next),
        magic_(magic),
        segments_(rows.layout, in, now),
        now_(now),
        ahead_(ahead) {}

  void run(Sums& sums) {
    Outside outside[2];
    const std::size_t row = rows_.layout.row_values(), values = rows_.layout.chunk_values();
    fill(outside[0]);
    segment_ = segments_.next();
    std::size_t t = 0;
    for (int strip = 0; t < values; ++strip) {
      const std::size_t begin = t, end = std::min(values, begin + rows_.strip * row);
      if (end < values) fill(outside[(strip + 1) % 2]);
      low_ = outside[strip % 2].side[0].data() - begin;
      high_ = outside[strip % 2].side[1].data() - begin;
      while (t < end) {
        if (t == segment_.end) segment_ = segments_.next();
        const std::size_t inside = std::min(end, segment_.end) / kFlatLength * kFlatLength;
        if (inside > t)
          run_inside(t, inside, sums);
        else
          across(t, sums);
      }
    }
  }

 private:
  /// Copies the cells beside the next strip's rows, and asks for what the same rows of the chunk to come will need.
  void fill(Outside& outside) {
    const std::size_t row = rows_.layout.row_values();
    const int ny = rows_.layout.cells[1];
    double *low = outside.side[0].data(), *high = outside.side[1].data() + row - Lanes;
    const int last = std::min(filled_ + rows_.strip, rows_.rows);
    for (; filled_ < last; ++filled_, low += row, high += row) {
      const int y = filled_ % ny, z = filled_ / ny;
      std::memcpy(low, now_.at(0) + y * now_.step_y(0), Lanes * sizeof(double));
      std::memcpy(high, now_.at(1) + y * now_.step_y(1), Lanes * sizeof(double));
      prefetch_row(y, z, row);
      if (y + 1 == ny) {
        now_.next_plane();
        ahead_.next_plane();
      }
    }
  }
  void prefetch_row(int y, int z, std::size_t row) const {
    for (int side = 0; side < 2; ++side) {
      const double* const cell = ahead_.at(side) + y * ahead_.step_y(side);
      __builtin_prefetch(cell, 0, 2);
      if (Lanes > 1) __builtin_prefetch(cell + Lanes - 1, 0, 2);
    }
    // A row that does not begin with a line reaches into one more.
    if (std::size_t(y) * 8 < row + 7) {
      const std::size_t at = std::min(std::size_t(y) * 8, row - 1);
      __builtin_prefetch(ahead_.at(2) + at, 0, 2);
      __builtin_prefetch(ahead_.at(3) + at, 0, 2);
      __builtin_prefetch(ahead_.at(4) + z * row + at, 0, 2);
      __builtin_prefetch(ahead_.at(5) + z * row + at, 0, 2);
    }
  }

  /// Results of the vector at t; p: what lies across y and z.
  inline void finish(std::size_t t, const EdgeMasks& mask, const std::array<Vector, 4>& p,
                     VectorSum<kFlatLength>& sum) const {
    finish(t, mask, p, sum, in_, low_, high_, out_);
  }
  inline void finish(std::size_t t, const EdgeMasks& mask, const std::array<Vector, 4>& p, VectorSum<kFlatLength>& sum,
                     const double* in, const double* low, const double* high, double* out) const {
    Vector left, right;
    if (mask.any) {
      left = load_either(mask.first, low + t, in + t - Lanes);
      right = load_either(mask.last, high + t, in + t + Lanes);
    } else {
      left = load<8>(in + t - Lanes);
      right = load<8>(in + t + Lanes);
    }
    const Vector v = average7<Vector>(left, p[0], p[2], load<8>(in + t), p[3], p[1], right);
    Stream ? stream<8>(out + t, v) : store<8>(out + t, v);
    if constexpr (Sum) sum.add(v, magic_.hi, magic_.lo);
  }
  /// Vectors [t, end) of one segment; t is then the end.
  inline void run_inside(std::size_t& at, std::size_t end, Sums& kept) const {
    const EdgeMasks* const masks = rows_.masks.data();
    const std::size_t period = rows_.masks.size();
    // Copies: the compiler cannot know that results are not stored over this object.
    const double *const p0 = segment_.from[0], *const p1 = segment_.from[1], *const p2 = segment_.from[2];
    const double *const p3 = segment_.from[3], *const in = in_, *const low = low_, *const high = high_,
                        *const next = next_;
    double* const out = out_;
    std::size_t t = at, k = t / kFlatLength % period;
    const auto step = [&](VectorSum<kFlatLength>& sum) {
      __builtin_prefetch(next + t, 0, 2);
      finish(t, masks[k], {load<8>(p0 + t), load<8>(p1 + t), load<8>(p2 + t), load<8>(p3 + t)}, sum, in, low, high,
             out);
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
    at = t;
  }
  /// The vector at t, in which the segment ends.
  void across(std::size_t& t, Sums& sums) {
    std::array<Vector, 4> from;
    for (int n = 0; n < 4; ++n) from[n] = load<8>(segment_.from[n] + t);
    while (segment_.end < t + kFlatLength) {
      const LaneMask behind = rows_.behind[segment_.end - t];
      segment_ = segments_.next();
      for (int n = 0; n < 4; ++n) from[n] = load_where(behind, segment_.from[n] + t, from[n]);
    }
    const std::size_t k = t / kFlatLength;
    finish(t, rows_.masks[k % rows_.masks.size()], from, sums[k % kPatterns]);
    t += kFlatLength;
  }

  const FlatRows& rows_;
  const double* in_;
  double* out_;
  const double* next_;
  SumMagic magic_;
  Segments<Lanes> segments_;
  FaceWalk<Lanes> now_, ahead_;
  int filled_ = 0;  ///< rows beside which cells were copied
  Segment segment_;
  const double *low_ = nullptr, *high_ = nullptr;
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
