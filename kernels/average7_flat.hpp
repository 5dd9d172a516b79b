#pragma once
// The walk of average7 over a chunk as one array of whole vectors (kernels/flat_rows.hpp), compiled for `Lanes` lanes
// and any edges. Included by average7*.cpp only.
//
// The neighbours are the same array shifted by the lanes, a row, a plane. Along y and z the array changes to a face's
// where a plane's first or last row begins or ends: a plane is walked in sections between such places, and a vector
// across one is merged out of two. Of a face nothing is loaded of which no value is used: a line that nobody asked
// for costs more than all else a vector needs, and a load by an empty mask takes its line all the same. Along x a face
// is a cell a row: they are copied, exactly, a strip of rows ahead, to where the shifted arrays take them.
#include <algorithm>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/flat_rows.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

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

/// Doubles from a value to its neighbours across y and z.
struct Shifts {
  std::ptrdiff_t ym, yp, zm, zp;
};

/// What a strip of rows needs beside what it is, to be indexed like the chunk: the rows that are fetched meanwhile, and
/// the cells before and behind its own.
struct Strip {
  const double* fetch = nullptr;
  std::array<const double*, 2> beside{};
  int vectors = 0;
};

/// The walk from vector to vector. An object of this kind is to be a local variable whose address nobody takes: what
/// stands in memory from one section to the next takes longer than a section does.
template <int Lanes, bool Sum, bool Stream>
struct FlatWalk {
  using Vector = SimdDouble<kFlatLength>;
  static constexpr std::size_t kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  FlatWalk(const FlatRows& rows, const double* input, double* output, const SumMagic& sum_magic, const Sums& begun)
      : in(input), out(output), magic(sum_magic), sums(begun), masks(rows.masks.data()), periods(rows.masks.size()) {}

  /// Results of the present vector, out of what lies across y and z; goes on to the next.
  [[gnu::always_inline]] void step(const Vector& ym, const Vector& yp, const Vector& zm, const Vector& zp) {
    __builtin_prefetch(strip.fetch + t, 0, 2);
    const Vector behind = load<8>(in + t + kFlatLength);
    Vector xm = shifted<kFlatLength - Lanes>(before, at), xp = shifted<Lanes>(at, behind);
    const EdgeMasks& mask = masks[k];
    if (mask.any) {
      xm = load_where(mask.first, strip.beside[0] + t, xm);
      xp = load_where(mask.last, strip.beside[1] + t, xp);
      strip.beside[0] += mask.step[0];
      strip.beside[1] += mask.step[1];
    }
    const Vector v = average7<Vector>(xm, ym, zm, at, zp, yp, xp);
    Stream ? stream<8>(out + t, v) : store<8>(out + t, v);
    if constexpr (Sum) sums[k % kPatterns].add(v, magic.hi, magic.lo);
    if (++k == periods) k = 0;
    before = at;
    at = behind;
    t += kFlatLength;
  }

  [[nodiscard]] const double* here() const { return in + t; }

  const double* in;
  double* out;
  std::size_t t = 0;  ///< the present vector's first value in the chunk
  SumMagic magic;
  Sums sums;
  const EdgeMasks* masks;
  std::size_t periods, k = 0;  ///< masks; the present vector's
  Strip strip{};
  /// The vectors before and at the present one. Neighbours along x are shifted out of them: loads that touch two lines
  /// each cost more than all other loads together.
  Vector before = load<8>(in), at = before;
};

template <int Lanes, bool Sum, bool Stream>
class FlatChunk {
  using Vector = SimdDouble<kFlatLength>;

 public:
  using Walk = FlatWalk<Lanes, Sum, Stream>;
  using Sums = typename Walk::Sums;
  static constexpr std::size_t kPatterns = Walk::kPatterns;

  /// The faces `now` and `ahead`, of the chunk at `in` and of that at `next`, stand at their chunk.
  FlatChunk(const FlatRows& rows, const double* in, const FaceWalk<Lanes>& now, const double* next,
            const FaceWalk<Lanes>& ahead, double* out, const SumMagic& magic)
      : rows_(rows),
        in_(in),
        out_(out),
        magic_(magic),
        now_(now),
        next_(next),
        ahead_(ahead),
        fetched_(first_fetched()) {}

  void run(Sums& sums) {
    __builtin_prefetch(next_ + rows_.layout.chunk_values(), 0, 2);  // with its last vector the next one is loaded
    fill();
    Walk walk(rows_, in_, out_, magic_, sums);
    FaceWalk<Lanes> faces = now_;
    Shifts last{};
    for (int z = 0; z < rows_.layout.cells[2]; z += 2) {
      // Twice in the machine's code: a processor foresees how long loops are that stand where they stand.
      last = plane(walk, rows_.cuts[0], z, faces, last);
      last = plane(walk, rows_.cuts[1], z + 1, faces, last);
    }
    sums = walk.sums;
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
  static constexpr std::size_t kAcross = kFlatLength - 2;  ///< rows begin at even values
  /// Asks for what lies beside so many rows, and goes on to those behind.
  void fetch_beside(Fetched& f, int count) const {
    const std::size_t row = rows_.layout.row_values();
    const int ny = rows_.layout.cells[1];
    while (count > 0) {
      const int rows = std::min({count, ny - f.y, f.left});
      const std::size_t step_before = f.faces.step_y(0), step_behind = f.faces.step_y(1);
      const double *before = f.faces.at(0) + f.y * step_before, *behind = f.faces.at(1) + f.y * step_behind;
      for (int k = 0; k < rows; ++k, before += step_before, behind += step_behind) {
        prefetch_values(before, Lanes);
        prefetch_values(behind, Lanes);
      }
      // With what vectors across their ends touch: a line is taken whatever a mask says of it.
      if (f.y == 0) prefetch_values(f.faces.at(2), row + kAcross);
      if (f.y + rows == ny) prefetch_values(f.faces.at(3) - kAcross, row + kAcross);
      if (f.z == 0) prefetch_values(f.faces.at(4) + f.y * row, rows * row + kAcross);
      if (f.z + 1 == rows_.layout.cells[2]) prefetch_values(f.faces.at(5) + f.y * row - kAcross, rows * row + kAcross);
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
  void fill() {
    Outside& outside = outside_[filled_ / rows_.strip % 2];
    const int rows = std::min(rows_.strip, rows_.rows - filled_);
    fetch_beside(fetched_, rows);
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

  /// The strip that begins at value `begin`; the cells beside the next one's rows are copied.
  [[gnu::noinline]] Strip begin_strip(std::size_t begin) {
    const std::size_t row = rows_.layout.row_values(), values = rows_.layout.chunk_values(), length = rows_.strip * row;
    const std::size_t ahead = begin + rows_.lead * row;
    const Outside& outside = outside_[begin / length % 2];
    if (filled_ < rows_.rows) fill();
    return {(ahead < values ? in_ + ahead : next_ + (ahead - values)) - begin,
            {outside.side[0] - begin, outside.side[1] - begin - (row - Lanes)},
            static_cast<int>(std::min(values - begin, length) / kFlatLength)};
  }

  /// Plane z; `last`: of the plane before.
  [[gnu::always_inline]] Shifts plane(Walk& walk, const PlaneCut& cut, int z, FaceWalk<Lanes>& faces,
                                      const Shifts& last) {
    const BlockLayout& l = rows_.layout;
    const auto row = static_cast<std::ptrdiff_t>(l.row_values()), plane = static_cast<std::ptrdiff_t>(l.plane_values());
    const double* const start = in_ + z * plane;
    const Shifts s{faces.at(2) - start, faces.at(3) - (start + plane - row), z > 0 ? -plane : faces.at(4) - start,
                   z + 1 < l.cells[2] ? plane : faces.at(5) - start};
    faces.next_plane();
    if (cut.across) across(walk, cut, last, s);
    const auto first_ym = [&](const RowMasks& m) {
      return load_either(m.first, walk.here() + s.ym, walk.here() - row);
    };
    const auto last_yp = [&](const RowMasks& m) { return load_either(m.last, walk.here() + s.yp, walk.here() + row); };
    const auto inner_ym = [&](const RowMasks&) { return load<8>(walk.here() - row); };
    const auto inner_yp = [&](const RowMasks&) { return load<8>(walk.here() + row); };
    const RowMasks* const masks = cut.masks.data();
    if (cut.close) {
      section(walk, cut.vectors[0], masks, s, first_ym, last_yp);
    } else {
      section(walk, cut.vectors[0], masks, s, first_ym, inner_yp);
      section(walk, cut.vectors[1], masks, s, inner_ym, inner_yp);
      section(walk, cut.vectors[2], masks + cut.vectors[0], s, inner_ym, last_yp);
    }
    return s;
  }

  /// So many vectors of a plane; ym(m) and yp(m) load what lies across y by a vector's masks.
  template <class Before, class Behind>
  [[gnu::always_inline]] void section(Walk& walk, int vectors, const RowMasks* masks, const Shifts& s, const Before& ym,
                                      const Behind& yp) {
    while (true) {
      int n = std::min(vectors, walk.strip.vectors);
      vectors -= n;
      walk.strip.vectors -= n;
      for (; n > 0; --n, ++masks)
        walk.step(ym(*masks), yp(*masks), load<8>(walk.here() + s.zm), load<8>(walk.here() + s.zp));
      if (vectors == 0) return;
      walk.strip = begin_strip(walk.t);
    }
  }

  /// The vector that begins in the plane before, whose shifts are `last`.
  [[gnu::always_inline]] void across(Walk& walk, const PlaneCut& cut, const Shifts& last, const Shifts& s) {
    if (walk.strip.vectors == 0) walk.strip = begin_strip(walk.t);
    --walk.strip.vectors;
    const BlockLayout& l = rows_.layout;
    const double *const under = walk.here() - l.plane_values(), *const over = walk.here() + l.plane_values();
    const LaneMask& here = rows_.behind[kFlatLength / 2];
    const auto& [low, high] = cut.between;
    const auto merged = [](const LaneMask& mask, const double* p, const auto& v) {
      return any(mask) ? load_where(mask, p, v) : v;
    };
    Vector ym = load_where(~(low.first | high.first), walk.here() - l.row_values(), Vector{});
    ym = merged(high.first, walk.here() + s.ym, merged(low.first, walk.here() + last.ym, ym));
    Vector yp = load_where(~(low.last | high.last), walk.here() + l.row_values(), Vector{});
    yp = merged(high.last, walk.here() + s.yp, merged(low.last, walk.here() + last.yp, yp));
    walk.step(ym, yp, load_either(here, under, walk.here() + last.zm), load_either(here, walk.here() + s.zp, over));
  }

  const FlatRows& rows_;
  const double* in_;
  double* out_;
  SumMagic magic_;
  FaceWalk<Lanes> now_;
  int filled_ = 0;  ///< rows beside which cells were copied
  std::array<Outside, 2> outside_;
  const double* next_;
  FaceWalk<Lanes> ahead_;
  Fetched fetched_;
};

/// A run of chunks of a block.
template <int Lanes, bool Sum, bool Stream>
void average7_flat(const FlatRows& rows, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Chunk = FlatChunk<Lanes, Sum, Stream>;
  FaceWalk<Lanes> now(*args.input, rows.layout), ahead(*args.next, rows.layout);
  const std::size_t values = rows.layout.chunk_values();
  for (int chunk = 0; chunk < args.chunks; ++chunk) {
    now.start_chunk();
    ahead.start_chunk();
    typename Chunk::Sums sums{};
    if constexpr (Sum) load_sums(sums, raw + chunk * Chunk::kPatterns);
    Chunk(rows, args.input->in + chunk * values, now, args.next->in + chunk * values, ahead, args.out + chunk * values,
          magic)
        .run(sums);
    if constexpr (Sum) store_sums(sums, raw + chunk * Chunk::kPatterns);
  }
}

}  // namespace amrbench::kernels::detail
