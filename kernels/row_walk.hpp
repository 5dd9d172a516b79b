#pragma once
// How the averages walk over a chunk: row by row, compiled for a shape of rows. Included by average*.cpp only.
//
// A row is loaded into registers, or sums of rows are made there, with the cells before and behind it from where they
// lie; its neighbours along x are shifted out of these registers. Nothing beyond a row is loaded of which no value is
// used, but behind rows shorter than a vector: of rows that are not whole vectors the last vector ends with the row,
// and makes some results twice. Results are put together in registers across rows, and go to the block as whole
// vectors: from memory they could be loaded again only when all stores before them are done, and stores past the caches
// take their time.
//
// Large planes are walked in strips, each through all planes before the next begins: so what three planes have of a
// strip stays in the first-level cache. What is needed some planes later is fetched meanwhile.
#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>

#include "kernels/layout.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

/// Rows of `Cells` cells, and cubes with edges of `Edge` cells (else 0). Cells may be 0: long rows, of which only how
/// many values the last vector adds is compiled in, `Last`. Halves: may vectors be of 4?
template <int Lanes, int Cells, int Last = 0, int Edge = 0, bool Halves = true>
struct RowShape {
  static constexpr int kLanes = Lanes, kCells = Cells, kEdge = Edge, kRow = Lanes * Cells;
  static constexpr bool kLong = Cells == 0;
  /// Of a vector. 8, but where rows are few vectors of 4.
  static constexpr int kLength =
      Halves && !kLong && kRow % 8 != 0 && kRow % 4 == 0 && kRow < 16 && 4 % Lanes == 0 ? 4 : 8;
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

/// Calls f(shape) for long rows whose last vector adds `last` values, edges being even.
template <int Lanes, int Last = 2, class F>
auto with_long_rows(int last, const F& f) {
  if constexpr (Last < kFlatLength)
    if (last != Last) return with_long_rows<Lanes, Last + 2>(last, f);
  constexpr bool kExists = Last % std::gcd(2 * Lanes, kFlatLength) == 0;  // else never asked for
  using Shape = RowShape<Lanes, 0, kExists ? Last : kFlatLength>;
  return f(Shape{});
}

/// Values that the last vector of a row adds.
inline int last_values(const BlockLayout& layout) {
  return (static_cast<int>(layout.row_values()) - 1) % kFlatLength + 1;
}

/// Calls f(shape) for the rows of a layout, compiled for their cells where they have no more than MostRow values.
template <int Lanes, int MostRow, int Cells = 2, class F>
void with_rows(const BlockLayout& layout, const F& f) {
  if constexpr (Lanes * Cells > MostRow)
    with_long_rows<Lanes>(last_values(layout), f);
  else if (layout.cells[0] != Cells)
    with_rows<Lanes, MostRow, Cells + 2>(layout, f);
  else
    f(RowShape<Lanes, Cells, 0, 0, false>{});
}

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

/// The walk over a chunk. What it reads is its users' part.
template <class Shape, bool Sum>
class RowWalk {
 protected:
  static constexpr int kLanes = Shape::kLanes, kRest = Shape::kRest, kLength = Shape::kLength;
  static constexpr int kVectors = Shape::kVectors, kPeriod = Shape::kPeriod;
  static constexpr bool kLong = Shape::kLong, kPart = Shape::kPart;
  /// May strips begin within a vector of results? Sums take whole ones only: then planes are not cut.
  static constexpr bool kRagged = kLong && kPeriod == 4 && !Sum;
  using Vector = SimdDouble<kLength>;
  using Ends = RowEnds<kLanes, kLength>;

 public:
  static constexpr bool kSums = Sum;
  static constexpr int kPatterns = pattern_count(kLanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  RowWalk(const BlockLayout& layout, bool streams, const SumMagic& magic, int strip_values = kStripValues)
      : cells_(layout.cells),
        row_(static_cast<int>(layout.row_values())),
        strip_(cells_[1]),
        streams_(streams && kStreamLength > 0),
        magic_(magic) {
    if constexpr (Shape::kEdge == 0) {
      const int plane = row_ * cells_[1];
      if (kLong && !(Sum && plane % kFlatLength != 0)) {
        constexpr int kUnit = std::max(2, kPeriod);
        const int strips = std::max(1, (plane + 3 * strip_values / 4) / strip_values);
        if (strips > 1) strip_ = std::max(1, (cells_[1] / strips + kUnit / 2) / kUnit) * kUnit;
      }
      lead_ = std::min(cells_[2], 2 + kRowLeadValues / (strip_ * row_));
    }
  }

 protected:
  [[nodiscard]] int ny() const { return Shape::kEdge > 0 ? Shape::kEdge : cells_[1]; }
  [[nodiscard]] int nz() const { return Shape::kEdge > 0 ? Shape::kEdge : cells_[2]; }
  [[nodiscard]] std::ptrdiff_t row() const { return kLong ? row_ : Shape::kRow; }
  [[nodiscard]] std::ptrdiff_t plane_values() const { return row() * ny(); }
  /// Where the strip that begins with row y ends; the last one takes a short rest.
  [[nodiscard]] int strip_end(int y) const { return kLong && ny() - y >= strip_ + strip_ / 2 ? y + strip_ : ny(); }
  /// Planes from those that are computed to those that are fetched.
  [[nodiscard]] int lead() const { return Shape::kEdge > 0 ? nz() : lead_; }

  /// For each strip start(y, end), then plane(z, to, held) for its rows y to end - 1 in each plane, whose results
  /// begin at `to`; held: for results().
  template <class Start, class Plane>
  [[gnu::always_inline]] void walk(double* out, const Start& start, const Plane& plane) {
    for (int y = 0, end = 0; y < ny(); y = end) {
      end = strip_end(y);
      start(y, end);
      Vector held{};
      double* to = out + y * row();
      for (int z = 0; z < nz(); ++z, to += plane_values()) {
        const auto at = to - out;
        if constexpr (kRagged)
          if (y > 0 && at % kFlatLength != 0) held = load<kLength>(left_[z].data());
        start_vectors(at);
        plane(z, to, held);
        if constexpr (kRagged)
          if (end - y < ny()) leave(z, held, to + (end - y) * row(), at + (end - y) * row(), end == ny());
      }
    }
  }

  /// Results that come next begin with value `at` of the chunk.
  void start_vectors([[maybe_unused]] std::ptrdiff_t at) {
    if constexpr (kLong && Sum) number_ = static_cast<int>(at / kFlatLength % kPatterns);
  }
  /// Calls pair(phase, y) for rows y and y + 1, up to `end`, of plane z; phase: of row y.
  template <class Pair>
  [[gnu::always_inline]] static void by_pairs(int z, int y, int end, int ny, const Pair& pair) {
    for (; y < end; y += 2) {
      if (kPeriod == 4 && ((z * ny + y) & 2) != 0)
        pair(std::integral_constant<int, 2 % kPeriod>{}, y);
      else
        pair(std::integral_constant<int, 0>{}, y);
    }
  }
  template <int Phase>
  static constexpr std::integral_constant<int, (Phase + 1) % kPeriod> following(std::integral_constant<int, Phase>) {
    return {};
  }

  /// Row number Phase of a period; of the results of those before it, the last of `held` are not stored yet.
  /// Row: before() and behind(), the cells beside the row as Ends has them; at(o), its values from o on; average(o, xm,
  /// at, xp), their results; fetch, where as much is asked for meanwhile. Where what it needs stands beside the row in
  /// memory too, result(o) instead of all but fetch, also of a vector that begins before the row.
  template <int Phase, class Row>
  [[gnu::always_inline]] void results(const Row& r, double* out, Vector& held, Sums& sums) {
    constexpr int kHeld = Phase * (kLong ? kRest : Shape::kRow) % kFlatLength;
    if constexpr (!kLong) number_ = Phase * Shape::kRow / kFlatLength % kPatterns;
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
    // The last vector, which ends with the row; o: where its kRest new values begin.
    const auto finish = [&](std::ptrdiff_t o, const Vector& v) __attribute__((always_inline)) {
      if constexpr (kRest == kLength) {
        whole(o, v);
      } else if constexpr (kHeld + kRest >= kLength) {
        put(o, followed<kHeld, kLength - kRest>(held, v));
        held = v;
      } else {
        held = followed<kLength - kRest, kLength - kRest>(held, v);
      }
    };
    if constexpr (requires { r.result(0); }) {
      std::ptrdiff_t o = 0;
      for (int k = (kLong ? (row_ + kLength - 1) / kLength : kVectors) - 1; k > 0; --k, o += kLength)
        whole(o, r.result(o));
      finish(o, r.result(row() - kLength));
    } else {
      Vector before = r.before(), behind = r.behind();
      const std::ptrdiff_t end = kPart ? 0 : row() - kLength;  // where the last vector begins
      Vector last = r.at(end), xm{};
      if constexpr (kPart) {
        last = followed<kRest, 0>(shifted<kRest>(last, last), behind);
        behind = shifted<kLength - kRest>(behind, behind);
      }
      std::ptrdiff_t o = 0;
      if constexpr (kVectors != 1) {
        Vector at = r.at(0);
        for (int k = (kLong ? (row_ + kLength - 1) / kLength : kVectors) - 2; k > 0; --k, o += kLength) {
          const Vector next = r.at(o + kLength);
          whole(o, r.average(o, shifted<kLength - kLanes>(before, at), at, shifted<kLanes>(at, next)));
          before = at;
          at = next;
        }
        // The last vector begins kRest values behind this one.
        Vector xp;
        if constexpr (kRest == kLength)
          xp = shifted<kLanes>(at, last);
        else if constexpr (kRest > kLanes)
          xp = followed<kLength - kLanes, kLength - kRest>(at, last);
        else
          xp = shifted<kLanes - kRest>(last, behind);
        if constexpr (kRest < kLanes)
          xm = shifted<kLength - kLanes + kRest>(before, at);
        else if constexpr (kRest < kLength)
          xm = followed<kLength - kRest + kLanes, kLength - kRest>(at, last);
        whole(o, r.average(o, shifted<kLength - kLanes>(before, at), at, xp));
        o += kLength;
        before = at;
      }
      if constexpr (kRest == kLength || kPart) xm = shifted<kLength - kLanes>(before, last);
      Vector v = r.average(end, xm, last, shifted<kLanes>(last, behind));
      if constexpr (kPart) v = followed<kLength - kRest, 0>(v, v);  // ends with the row
      finish(o, v);
    }
  }

 private:
  /// What is held where a strip ends within a vector, before `stop`, value `at` of the chunk: for the strip beside it
  /// in plane z; the first one of the next plane has stored its part, and beside it what this one stores over.
  [[gnu::always_inline]] void leave(int z, const Vector& held, double* stop, std::ptrdiff_t at, bool last) {
    if (at % kFlatLength == 0) return;
    store<kLength>(left_[z].data(), held);
    constexpr int kHalf = kFlatLength / 2;
    if (last) give<kHalf>(stop - kHalf, load<kHalf>(left_[z].data() + kHalf));
  }

  template <int N>
  [[gnu::always_inline]] void give(double* out, const SimdDouble<N>& v) const {
    streams_ ? stream<N>(out, v) : store<N>(out, v);
  }

  std::array<int, 3> cells_;
  int row_, strip_;  ///< values of a row; rows of a strip
  int lead_ = 0;
  int number_ = 0;  ///< of the sums that the next vector goes to
  bool streams_;
  SumMagic magic_;
  alignas(64) std::array<std::array<double, kFlatLength>, kRagged ? kMaxBlockEdge : 1> left_;
};

}  // namespace amrbench::kernels::detail
