#pragma once
// The walk of average7 over a chunk, row by row, compiled for a shape of rows. Included by average7*.cpp only.
//
// A row is loaded into registers, with the cells before and behind it straight from the blocks or faces that have them;
// its neighbours along x are shifted out of these registers. Nothing beyond a row is loaded of which no value is used,
// but behind rows shorter than a vector: of rows that are not whole vectors the last vector ends with the row, and
// makes some results twice. Results are put together in registers across rows, and go to the block as whole vectors:
// from memory they could be loaded again only when all stores before them are done, and stores past the caches take
// their time.
//
// Large planes are walked in strips, each through all planes before the next begins: so what three planes have of a
// strip stays in the first-level cache. What is needed some planes later is fetched meanwhile.
#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

/// Rows of `Cells` cells, and cubes with edges of `Edge` cells (else 0). Cells may be 0: long rows, of which only how
/// many values the last vector adds is compiled in, `Last`.
template <int Lanes, int Cells, int Last = 0, int Edge = 0>
struct RowShape {
  static constexpr int kLanes = Lanes, kCells = Cells, kEdge = Edge, kRow = Lanes * Cells;
  static constexpr bool kLong = Cells == 0;
  /// Of a vector. 8, but where rows are few vectors of 4.
  static constexpr int kLength = !kLong && kRow % 8 != 0 && kRow % 4 == 0 && kRow < 16 && 4 % Lanes == 0 ? 4 : 8;
  static constexpr int kVectors = (kRow + kLength - 1) / kLength;
  static constexpr int kRest = kLong ? Last : kRow - kLength * (kVectors - 1);  ///< values that the last vector adds
  static constexpr bool kPart = !kLong && kRow < kLength;
  /// Rows that are whole vectors together.
  static constexpr int kPeriod = kFlatLength / std::gcd(kFlatLength, kLong ? Last : kRow);
  /// Does every cell at a row's ends lie in one line? (Packed faces are read from line to line all the same.)
  static constexpr bool kOneLine = [] {
    if (kLong) return kFlatLength % Lanes == 0;
    for (int end = kRow; end <= kPeriod * kRow; end += kRow)
      for (const int cell : {end - kRow, end - Lanes})
        if (cell % kFlatLength + Lanes > kFlatLength) return false;
    return true;
  }();
};

/// The cells beside a row as parts of vectors; reads those only.
template <int Lanes, int Length>
struct RowEnds {
  using Vector = SimdDouble<Length>;

  /// Ends with the cell.
  [[nodiscard]] static Vector before(const double* cell) {
    if constexpr (kRepeats)
      return repeated<Length, Lanes>(cell);
    else
      return placed<Length, Lanes, Length - Lanes>(cell);
  }
  /// Begins with the cell.
  [[nodiscard]] static Vector behind(const double* cell) {
    if constexpr (kRepeats)
      return repeated<Length, Lanes>(cell);
    else
      return placed<Length, Lanes, 0>(cell);
  }

 private:
  static constexpr bool kRepeats = Length % Lanes == 0;  ///< a vector is a cell over and over: no matter which part
};

/// Values of a strip, about: three planes of it, and what is fetched, fit a first-level cache.
inline constexpr int kStripValues = 1200;
/// Values between those that are needed next and those that are fetched: memory answers in the meantime.
inline constexpr int kRowLeadValues = 1024;

template <class Shape, bool Sum>
class RowChunk {
  static constexpr int kLanes = Shape::kLanes, kRest = Shape::kRest, kLength = Shape::kLength;
  static constexpr int kVectors = Shape::kVectors, kPeriod = Shape::kPeriod;
  static constexpr bool kLong = Shape::kLong, kPart = Shape::kPart;
  /// May strips begin within a vector of results? Sums take whole ones only: then planes are not cut.
  static constexpr bool kRagged = kLong && kPeriod == 4 && !Sum;
  using Vector = SimdDouble<kLength>;
  using Ends = RowEnds<kLanes, kLength>;
  using Faces = FaceWalk<kLanes>;

 public:
  static constexpr int kPatterns = pattern_count(kLanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  RowChunk(const BlockLayout& layout, bool streams, const SumMagic& magic)
      : cells_(layout.cells),
        row_(static_cast<int>(layout.row_values())),
        strip_(cells_[1]),
        streams_(streams && kStreamLength > 0),
        magic_(magic) {
    if constexpr (Shape::kEdge == 0) {
      const int plane = row_ * cells_[1];
      if (kLong && !(Sum && plane % kFlatLength != 0)) {
        constexpr int kUnit = std::max(2, kPeriod);
        const int strips = std::max(1, (plane + 3 * kStripValues / 4) / kStripValues);
        if (strips > 1) strip_ = std::max(1, (cells_[1] / strips + kUnit / 2) / kUnit) * kUnit;
      }
      lead_ = std::min(cells_[2], 2 + kRowLeadValues / (strip_ * row_));
    }
  }

  /// `now`, `then`: at the chunk at `in` and at that at `next`, which is fetched when this one has been.
  [[gnu::always_inline]] void run(const double* in, const Faces& now, const double* next, const Faces& then,
                                  double* out, Sums& sums) {
    for (int y = 0, end = 0; y < ny(); y = end) {
      end = strip_end(y);
      const Place after = end < ny() ? Place{in, now, 0, end} : Place{next, then, 0, 0};
      Place here{in, now, 0, y}, ahead = lead() < nz() ? here : after;
      for (int z = 0; lead() < nz() && z < lead(); ++z) go_on(ahead);
      Vector held{};
      double* to = out + y * row();
      for (int z = 0; z < nz(); ++z, to += plane_values()) {
        const auto at = to - out;
        if constexpr (kRagged)
          if (y > 0 && at % kFlatLength != 0) held = load<kLength>(left_[z].data());
        if constexpr (kLong && Sum) number_ = static_cast<int>(at / kFlatLength % kPatterns);
        plane(here, end, ahead, to, held, sums);
        if constexpr (kRagged)
          if (end - y < ny()) leave(z, held, to + (end - y) * row(), at + (end - y) * row(), end == ny());
        go_on(here);
        go_on(ahead);
        if (lead() < nz() && ahead.z == nz()) ahead = after;
      }
    }
  }

 private:
  /// Where the rows of a strip begin in a plane of a chunk.
  struct Place {
    const double* in;  ///< the plane
    Faces faces;
    int z, y;
  };
  [[gnu::always_inline]] void go_on(Place& place) const {
    place.in += plane_values();
    place.faces.next_plane();
    ++place.z;
  }

  [[nodiscard]] int ny() const { return Shape::kEdge > 0 ? Shape::kEdge : cells_[1]; }
  [[nodiscard]] int nz() const { return Shape::kEdge > 0 ? Shape::kEdge : cells_[2]; }
  /// Where the strip that begins with row y ends; the last one takes a short rest.
  [[nodiscard]] int strip_end(int y) const { return kLong && ny() - y >= strip_ + strip_ / 2 ? y + strip_ : ny(); }
  [[nodiscard]] int lead() const { return Shape::kEdge > 0 ? nz() : lead_; }
  [[nodiscard]] std::ptrdiff_t row() const { return kLong ? row_ : Shape::kRow; }
  [[nodiscard]] std::ptrdiff_t plane_values() const { return row() * ny(); }

  /// Asks for a row, for a cell at its end: few of them are in one line.
  [[gnu::always_inline]] void fetch_row(const double* p) const {
    !kLong&& kFlatLength % std::max(1, Shape::kRow) == 0 ? prefetch_line(p) : prefetch_values(p, row());
  }
  [[gnu::always_inline]] static void fetch_cell(const double* p) {
    Shape::kOneLine ? prefetch_line(p) : prefetch_values(p, kLanes);
  }

  /// What is held where a strip ends within a vector, before `stop`, value `at` of the chunk: for the strip beside it
  /// in plane z; the first one of the next plane has stored its part, and beside it what this one stores over.
  [[gnu::always_inline]] void leave(int z, const Vector& held, double* stop, std::ptrdiff_t at, bool last) {
    if (at % kFlatLength == 0) return;
    store<kLength>(left_[z].data(), held);
    constexpr int kHalf = kFlatLength / 2;
    if (last) give<kHalf>(stop - kHalf, load<kHalf>(left_[z].data() + kHalf));
  }

  /// The seven rows that one row of results needs; xm, xp: the cells before and behind it.
  struct Rows {
    const double *row, *xm, *xp, *ym, *yp, *zm, *zp;
    const double* fetch;  ///< row to fetch meanwhile
  };

  /// The rows of a strip, up to `stop`, in a plane; those at `ahead` are fetched.
  [[gnu::always_inline]] void plane(const Place& here, int stop, const Place& ahead, double* out, Vector& held,
                                    Sums& sums) {
    const Faces &now = here.faces, &then = ahead.faces;
    const int first = kLong ? here.y : 0, end = kLong ? stop : ny(), next = kLong ? ahead.y : 0;
    const double *in = here.in + first * row(), *fetch = ahead.in + next * row();
    const double *xm = now.at(0) + first * now.step_y(0), *xp = now.at(1) + first * now.step_y(1);
    const double *next_xm = then.at(0) + next * then.step_y(0), *next_xp = then.at(1) + next * then.step_y(1);
    const std::ptrdiff_t zm = here.z > 0 ? -plane_values() : now.at(4) - here.in;
    const std::ptrdiff_t zp = here.z + 1 < nz() ? plane_values() : now.at(5) - here.in;
    // Of faces across z the rows beside those that are fetched; of a cube's a row with every plane.
    const bool across = Shape::kEdge == 0 && (ahead.z == 0 || ahead.z + 1 == nz());
    const double* face = (ahead.z == 0 ? then.at(4) : then.at(5)) + next * row();
    if constexpr (Shape::kEdge > 0) {
      fetch_row(then.at(4) + here.z * row());
      fetch_row(then.at(5) + here.z * row());
    }
    fetch_row(next == 0 ? then.at(2) : fetch - row());
    const int next_end = strip_end(next);
    fetch_row(next_end == ny() ? then.at(3) : fetch + (next_end - next) * row());
    const auto one = [&](auto phase, const double* ym, const double* yp) __attribute__((always_inline)) {
      fetch_cell(next_xm);
      fetch_cell(next_xp);
      if (across) {
        fetch_row(face);
        face += row();
      }
      results<phase>({in, xm, xp, ym, yp, in + zm, in + zp, fetch}, out, held, sums);
      in += row();
      fetch += row();
      out += row();
      xm += now.step_y(0);
      xp += now.step_y(1);
      next_xm += then.step_y(0);
      next_xp += then.step_y(1);
    };
    const auto pair = [&](auto phase, int y) __attribute__((always_inline)) {
      one(phase, y > 0 ? in - row() : now.at(2), in + row());
      one(std::integral_constant<int, (phase + 1) % kPeriod>{}, in - row(), y + 2 < ny() ? in + row() : now.at(3));
    };
    for (int y = first; y < end; y += 2) {
      if (kPeriod == 4 && ((here.z * ny() + y) & 2) != 0)
        pair(std::integral_constant<int, 2 % kPeriod>{}, y);
      else
        pair(std::integral_constant<int, 0>{}, y);
    }
  }

  /// Row number Phase of a period; of the results of those before it, the last of `held` are not stored yet.
  template <int Phase>
  [[gnu::always_inline]] void results(const Rows& r, double* out, Vector& held, Sums& sums) {
    constexpr int kHeld = Phase * (kLong ? kRest : Shape::kRow) % kFlatLength;
    if constexpr (!kLong) number_ = Phase * Shape::kRow / kFlatLength % kPatterns;
    const auto average = [&](std::ptrdiff_t o, const Vector& xm, const Vector& at, const Vector& xp)
        __attribute__((always_inline)) {
      return average7<Vector>(xm, load<kLength>(r.ym + o), load<kLength>(r.zm + o), at, load<kLength>(r.zp + o),
                              load<kLength>(r.yp + o), xp);
    };
    // Stores a vector of which the last one's values begin at o.
    const auto put = [&](std::ptrdiff_t o, const SimdDouble<kFlatLength>& v) __attribute__((always_inline)) {
      prefetch_line(r.fetch + (o - kHeld));
      give<kFlatLength>(out + (o - kHeld), v);
      if constexpr (Sum) {
        sums[number_].add(v, magic_.hi, magic_.lo);
        number_ = number_ + 1 == kPatterns ? 0 : number_ + 1;
      }
    };
    const auto whole = [&](std::ptrdiff_t o, const Vector& v) __attribute__((always_inline)) {
      if constexpr (kLength == kFlatLength) {
        put(o, followed<kHeld, 0>(held, v));
      } else if ((kHeld + o) % kFlatLength != 0) {
        put(o - kLength + kHeld, joined(held, v));
      }
      held = v;
    };
    Vector before = Ends::before(r.xm), behind = Ends::behind(r.xp);
    const std::ptrdiff_t end = kPart ? 0 : row() - kLength;  // where the last vector begins
    Vector last = load<kLength>(r.row + end), xm{};
    if constexpr (kPart) {
      last = followed<kRest, 0>(shifted<kRest>(last, last), behind);
      behind = shifted<kLength - kRest>(behind, behind);
    }
    std::ptrdiff_t o = 0;
    if constexpr (kVectors != 1) {
      Vector at = load<kLength>(r.row);
      constexpr bool kInFirst = !kLong && kVectors == 2 && kRest < kLanes;  // the last one's neighbours reach before it
      if constexpr (kInFirst) xm = shifted<kLength - kLanes + kRest>(before, at);
      for (int k = (kLong ? (row_ + kLength - 1) / kLength : kVectors) - 2; k > 0; --k, o += kLength) {
        const Vector following = load<kLength>(r.row + o + kLength);
        whole(o, average(o, shifted<kLength - kLanes>(before, at), at, shifted<kLanes>(at, following)));
        before = at;
        at = following;
      }
      constexpr int kBehind = kLanes - kRest;  // from the last vector to the neighbours of the one before
      const Vector xp = kRest == kLength ? shifted<kLanes>(at, last)
                        : kBehind < 0    ? load<kLength>(r.row + o + kLanes)
                                         : shifted<std::max(kBehind, 0)>(last, behind);
      whole(o, average(o, shifted<kLength - kLanes>(before, at), at, xp));
      o += kLength;
      before = at;
      if constexpr (kRest < kLength && !kInFirst) xm = load<kLength>(r.row + end - kLanes);
    }
    if constexpr (kRest == kLength || kPart) xm = shifted<kLength - kLanes>(before, last);
    Vector v = average(end, xm, last, shifted<kLanes>(last, behind));
    if constexpr (kPart) v = followed<kLength - kRest, 0>(v, v);  // ends with the row
    if constexpr (kRest == kLength) {
      whole(o, v);
    } else if constexpr (kHeld + kRest >= kLength) {
      put(o, followed<kHeld, kLength - kRest>(held, v));
      held = v;
    } else {
      held = followed<kLength - kRest, kLength - kRest>(held, v);
    }
  }

  template <int N>
  [[gnu::always_inline]] void give(double* out, const SimdDouble<N>& v) const {
    streams_ ? stream<N>(out, v) : store<N>(out, v);
  }

  std::array<int, 3> cells_;
  int row_, strip_;  ///< values of a row; rows of a strip
  int lead_ = 0;     ///< planes from those that are computed to those that are fetched
  int number_ = 0;   ///< of the sums that the next vector goes to
  bool streams_;
  SumMagic magic_;
  alignas(64) std::array<std::array<double, kFlatLength>, kRagged ? kMaxBlockEdge : 1> left_;
};

/// A run of chunks of a block.
template <class Shape, bool Sum>
void average7_rows(const BlockLayout& layout, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Chunk = RowChunk<Shape, Sum>;
  BlockLayout l = layout;
  l.lanes = Shape::kLanes;
  if (!Shape::kLong) l.cells[0] = Shape::kCells;
  if (Shape::kEdge > 0) l.cells = {Shape::kEdge, Shape::kEdge, Shape::kEdge};
  FaceWalk<Shape::kLanes> now(*args.input, l), then(*args.next, l);
  const std::size_t values = l.chunk_values();
  Chunk chunk(l, args.streams, magic);
  for (int c = 0; c < args.chunks; ++c) {
    now.start_chunk();
    then.start_chunk();
    typename Chunk::Sums sums{};
    if constexpr (Sum) load_sums(sums, raw + c * Chunk::kPatterns);
    chunk.run(args.input->in + c * values, now, args.next->in + c * values, then, args.out + c * values, sums);
    if constexpr (Sum) store_sums(sums, raw + c * Chunk::kPatterns);
  }
}

/// The kernels of a shape.
template <class Shape>
Average7Kernel kernel_of() {
  return {average7_rows<Shape, false>, average7_rows<Shape, true>, kFlatLength,
          pattern_count(Shape::kLanes, kFlatLength)};
}

}  // namespace amrbench::kernels::detail
