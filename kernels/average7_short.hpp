#pragma once
// The walk of average7 over short rows, compiled for `Lanes` lanes and rows of `Cells` cells, and for cubes of so many:
// of small blocks, loops and strides take as many instructions as cells do. Included by average7*.cpp only.
//
// A row is loaded into registers, with the cells before and behind it straight from the blocks or faces that have them;
// its neighbours along x are shifted out of these registers. Of rows that are not whole vectors the last vector ends
// with the row and makes some results twice, for nothing beyond a row must be loaded; the results are put together in
// registers across rows, and go to the block as whole vectors. From memory they could be loaded again only when all
// stores before them are done, and stores past the caches take their time. Rows shorter than a vector are many, and
// take fewer instructions by way of a strip in the first-level cache all the same, each row stored over the rest of the
// one before; a strip of two planes goes to the block when the next one is full.
#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/flat_rows.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

/// How a row is cut into vectors. The last one ends with the row and may overlap the one before; a row shorter than a
/// vector is a part of one (kPart). Results are held back until they are whole vectors of 8.
template <int Lanes, int Cells>
struct ShortCut {
  static constexpr int kRow = Lanes * Cells;
  static constexpr int kLength = kRow % 8 != 0 && kRow % 4 == 0 && kRow < 16 && 4 % Lanes == 0 ? 4 : kFlatLength;
  static constexpr int kVectors = (kRow + kLength - 1) / kLength;
  static constexpr int kRest = kRow - kLength * (kVectors - 1);  ///< values of a row that its last vector adds
  static constexpr bool kPart = kRow < kLength;
  /// Rows that are whole vectors together.
  static constexpr int kPeriod = kPart ? 1 : kFlatLength / std::gcd(kFlatLength, kRow);
  /// Does every cell at a row's ends lie in one line? (Packed faces are read from line to line all the same.)
  static constexpr bool kOneLine = [] {
    for (int end = kRow; end <= kPeriod * kRow; end += kRow)
      for (const int cell : {end - kRow, end - Lanes})
        if (cell % kFlatLength + Lanes > kFlatLength) return false;
    return true;
  }();
  /// The neighbours of the last vector must be of the row or one cell behind it.
  static constexpr bool kFits = kRest == kLength || (kPart ? Lanes == 1 : kRow >= kLength + Lanes);
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
      return placed<Lanes, Length - Lanes>(cell);
  }
  /// Begins with the cell.
  [[nodiscard]] static Vector behind(const double* cell) {
    if constexpr (kRepeats)
      return repeated<Length, Lanes>(cell);
    else
      return placed<Lanes, 0>(cell);
  }

 private:
  static constexpr bool kRepeats = Length % Lanes == 0;  ///< a vector is a cell over and over: no matter which part
};

/// The seven rows that one row of results needs; xm, xp: the cells before and behind it.
struct ShortRow {
  const double *row, *xm, *xp, *ym, *yp, *zm, *zp;
  const double* fetch;  ///< row to fetch meanwhile
};

template <int Lanes, int Cells, bool Cube, bool Sum, bool Stream>
class ShortChunk {
  using Cut = ShortCut<Lanes, Cells>;
  static constexpr int kRow = Cut::kRow, kLength = Cut::kLength, kVectors = Cut::kVectors, kRest = Cut::kRest;
  static_assert(Cut::kFits);
  using Vector = SimdDouble<kLength>;
  using Ends = RowEnds<Lanes, kLength>;

 public:
  static constexpr int kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  ShortChunk(const FlatRows& rows, const SumMagic& magic)
      : cells_(rows.layout.cells), behind_part_(rows.behind[kRest % kFlatLength]), magic_(magic) {}

  /// `now`, `ahead`: at the chunk at `in` and at the one, `to_next` values further, that is fetched.
  [[gnu::always_inline]] void run(const double* in, FaceWalk<Lanes> now, std::ptrdiff_t to_next, FaceWalk<Lanes> ahead,
                                  double* out, Sums& sums) {
    const int ny = edge(1), nz = edge(2);
    const std::ptrdiff_t plane_values = std::ptrdiff_t{kRow} * ny;
    int fetched = 0;  // rows of faces 4 and 5
    Vector held{};
    for (int z = 0; z < nz; ++z, in += plane_values) {
      double* const to = Cut::kPart ? strips_[z / 2 % 2].data() + z % 2 * plane_values : out;
      plane(in, z, now, to_next, ahead, to, held, sums);
      for (; fetched * nz < (z + 1) * ny; ++fetched) {
        fetch<kRow>(ahead.at(4) + fetched * kRow);
        fetch<kRow>(ahead.at(5) + fetched * kRow);
      }
      now.next_plane();
      ahead.next_plane();
      if constexpr (!Cut::kPart) {
        out += plane_values;
      } else if (z % 2 == 1) {
        if (z > 1) out = give_strip(strips_[(z / 2 + 1) % 2].data(), out, 2 * plane_values, sums);
        if (z + 1 == nz) give_strip(strips_[z / 2 % 2].data(), out, 2 * plane_values, sums);
      }
    }
  }

 private:
  [[nodiscard]] int edge(int axis) const { return Cube ? Cells : cells_[axis]; }
  /// Asks for N values that lie as rows or cells of a block do: few of them are in one line.
  template <int N>
  [[gnu::always_inline]] static void fetch(const double* p) {
    8 % N == 0 || (N == Lanes && Cut::kOneLine) ? prefetch_line(p) : prefetch_values(p, N);
  }

  [[gnu::always_inline]] void plane(const double* in, int z, const FaceWalk<Lanes>& now, std::ptrdiff_t to_next,
                                    const FaceWalk<Lanes>& ahead, double* out, Vector& held, Sums& sums) const {
    const int ny = edge(1);
    const std::ptrdiff_t plane = std::ptrdiff_t{kRow} * ny;
    const double *xm = now.at(0), *xp = now.at(1), *next_xm = ahead.at(0), *next_xp = ahead.at(1);
    const std::ptrdiff_t zm = z > 0 ? -plane : now.at(4) - in;
    const std::ptrdiff_t zp = z + 1 < edge(2) ? plane : now.at(5) - in;
    const auto one = [&](auto phase, const double* ym, const double* yp) __attribute__((always_inline)) {
      fetch<Lanes>(next_xm);
      fetch<Lanes>(next_xp);
      row<phase>({in, xm, xp, ym, yp, in + zm, in + zp, in + to_next}, out, held, sums);
      in += kRow;
      out += kRow;
      xm += now.step_y(0);
      xp += now.step_y(1);
      next_xm += ahead.step_y(0);
      next_xp += ahead.step_y(1);
    };
    const auto pair = [&](auto phase, int y) __attribute__((always_inline)) {
      one(phase, y > 0 ? in - kRow : now.at(2), in + kRow);
      one(std::integral_constant<int, (phase + 1) % Cut::kPeriod>{}, in - kRow, y + 2 < ny ? in + kRow : now.at(3));
    };
    fetch<kRow>(ahead.at(2));
    fetch<kRow>(ahead.at(3));
    for (int y = 0; y < ny; y += 2) {
      if (Cut::kPeriod == 4 && ((z * ny + y) & 2) != 0)
        pair(std::integral_constant<int, 2 % Cut::kPeriod>{}, y);
      else
        pair(std::integral_constant<int, 0>{}, y);
    }
  }

  /// Row number Phase of a period; of the results of those before it, the last of `held` are not stored yet.
  template <int Phase>
  [[gnu::always_inline]] void row(const ShortRow& r, double* out, Vector& held, Sums& sums) const {
    constexpr bool kOverlaps = kRest < kLength && !Cut::kPart;
    std::array<Vector, kVectors + 1> at;
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) at[k] = load<kLength>(r.row + begin(k));
    at[kVectors] = Ends::behind(r.xp);
    if constexpr (Cut::kPart) at[0] = select(behind_part_, at[1], at[0]);
    Vector before = Ends::before(r.xm);
#pragma GCC unroll 16
    for (int k = 0; k < kVectors; ++k) {
      const int o = begin(k);
      const Vector xm =
          kOverlaps && k + 1 == kVectors ? load<kLength>(r.row + o - Lanes) : shifted<kLength - Lanes>(before, at[k]);
      constexpr int kBehind = Lanes - kRest;  // from the last vector to the neighbours of the one before
      const Vector xp = !kOverlaps || k + 2 != kVectors ? shifted<Lanes>(at[k], at[k + 1])
                        : kBehind < 0                   ? load<kLength>(r.row + o + Lanes)
                                                        : shifted<std::max(kBehind, 0)>(at[k + 1], at[k + 2]);
      const Vector v = average7<Vector>(xm, load<kLength>(r.ym + o), load<kLength>(r.zm + o), at[k],
                                        load<kLength>(r.zp + o), load<kLength>(r.yp + o), xp);
      if constexpr (Cut::kPart) {
        prefetch_line(r.fetch);
        store<kLength>(out, v);
      } else {
        give<Phase>(k, v, r.fetch, out, held, sums);
      }
      before = at[k];
    }
  }
  /// Where vector k of a row begins.
  static constexpr int begin(int k) {
    return !Cut::kPart && k + 1 == kVectors ? kRow - kLength : k * kLength;
  }

  /// Vector k of a row: to the block as a whole vector that begins with what is held, its rest to `held`.
  template <int Phase>
  [[gnu::always_inline]] void give(int k, const Vector& v, const double* next, double* out, Vector& held,
                                   Sums& sums) const {
    constexpr int kHeld = Phase * kRow % kFlatLength, kNumber = Phase * kRow / kFlatLength;
    const auto whole = [&](int at, const SimdDouble<kFlatLength>& values) __attribute__((always_inline)) {
      prefetch_line(next + (at - kHeld));
      put(out + (at - kHeld), values, sums[(kNumber + at / kFlatLength) % kPatterns]);
    };
    if constexpr (kLength < kFlatLength) {
      const int at = kHeld + k * kLength;
      if (at % kFlatLength != 0) whole(at - kLength, __builtin_shufflevector(held, v, 0, 1, 2, 3, 4, 5, 6, 7));
      held = v;
    } else if (kRest == kLength || k + 1 < kVectors) {
      whole(k * kLength, followed<kHeld, 0>(held, v));
      held = v;
    } else if (kHeld + kRest >= kLength) {
      whole(k * kLength, followed<kHeld, kLength - kRest>(held, v));
      held = v;
    } else {
      held = followed<kLength - kRest, kLength - kRest>(held, v);
    }
  }

  /// A strip of so many values. One lane: all vectors have one pattern.
  double* give_strip(const double* strip, double* out, std::ptrdiff_t values, Sums& sums) const {
    for (const double* const end = strip + values; strip < end; strip += kFlatLength, out += kFlatLength)
      put(out, load<kFlatLength>(strip), sums[0]);
    return out;
  }

  [[gnu::always_inline]] void put(double* out, const SimdDouble<kFlatLength>& v, VectorSum<kFlatLength>& sum) const {
    Stream ? stream<kFlatLength>(out, v) : store<kFlatLength>(out, v);
    if constexpr (Sum) sum.add(v, magic_.hi, magic_.lo);
  }

  std::array<int, 3> cells_;
  LaneMask behind_part_;  ///< of a row that is a part of a vector: what is behind it
  SumMagic magic_;
  /// Results of two planes each, and room for what a row stores beyond its end.
  alignas(64) std::array<std::array<double, Cut::kPart ? 2 * kMaxBlockEdge * kRow + 8 : 8>, 2> strips_;
};

/// A run of chunks of a block.
template <int Lanes, int Cells, bool Cube, bool Sum, bool Stream>
void average7_short(const FlatRows& rows, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Chunk = ShortChunk<Lanes, Cells, Cube, Sum, Stream>;
  BlockLayout l = rows.layout;
  if (Cube) l.cells = {Cells, Cells, Cells};
  l.cells[0] = Cells;
  l.lanes = Lanes;
  FaceWalk<Lanes> now(*args.input, l), ahead(*args.next, l);
  const std::size_t values = l.chunk_values();
  Chunk chunk(rows, magic);
  for (int c = 0; c < args.chunks; ++c) {
    now.start_chunk();
    ahead.start_chunk();
    typename Chunk::Sums sums{};
    if constexpr (Sum) load_sums(sums, raw + c * Chunk::kPatterns);
    chunk.run(args.input->in + c * values, now, args.next->in - args.input->in, ahead, args.out + c * values, sums);
    if constexpr (Sum) store_sums(sums, raw + c * Chunk::kPatterns);
  }
}

}  // namespace amrbench::kernels::detail
