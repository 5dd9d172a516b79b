#pragma once
// The walk of average7 over short rows, compiled for `Lanes` lanes and rows of `Cells` cells, and for cubes of so many:
// of small blocks, loops and strides take as many instructions as cells do. Included by average7*.cpp only.
//
// A row is loaded into registers, with the cells before and behind it straight from the blocks or faces that have them;
// its neighbours along x are shifted out of these registers. Results of rows that are not whole vectors are stored row
// over row in a strip in the first-level cache, each over the rest of the row before, and go to the block as whole
// vectors a strip later: by then they can be loaded.
#include <algorithm>
#include <array>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/flat_rows.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

/// The cells beside a row as parts of vectors; reads those only. `rest`: values of the row's last vector.
template <int Lanes, int Length>
class RowEnds {
 public:
  using Vector = SimdDouble<Length>;
  static constexpr bool kRepeats = Length % Lanes == 0;  ///< a vector is a cell over and over: no matter which part

  RowEnds(const FlatRows& rows, int rest) : rest_(rest) {
    const auto from = [&](int n) { return n < kFlatLength ? rows.behind[std::max(n, 0)] : LaneMask{}; };
    before_ = from(kFlatLength - Lanes);
    last_ = from(rest) & ~from(rest + Lanes);
    behind_ = ~from(rest + Lanes - kFlatLength);
  }
  /// Ends with the cell.
  [[nodiscard]] Vector before(const double* cell) const {
    if constexpr (kRepeats)
      return repeated<Length, Lanes>(cell);
    else
      return load_where(before_, cell + Lanes - Length, Vector{});
  }
  /// The row's last vector, the cell behind its rest as far as it has room.
  [[nodiscard]] Vector last(const Vector& v, const double* cell) const {
    if constexpr (kRepeats)
      return select(last_, repeated<Length, Lanes>(cell), v);
    else
      return load_where(last_, cell - rest_, v);
  }
  /// The vector behind that one.
  [[nodiscard]] Vector behind(const double* cell) const {
    if constexpr (kRepeats)
      return repeated<Length, Lanes>(cell);
    else
      return load_where(behind_, cell + Length - rest_, Vector{});
  }

 private:
  int rest_;
  LaneMask before_, last_, behind_;
};

/// The seven rows that one row of results needs; xm, xp: the cells before and behind it.
struct ShortRow {
  const double *row, *xm, *xp, *ym, *yp, *zm, *zp;
  const double* fetch;  ///< row to fetch meanwhile
};

/// How a row is cut into vectors, the last of which may have a rest only (kWhole = false).
template <int Lanes, int Cells>
struct ShortCut {
  static constexpr int kRow = Lanes * Cells;
  static constexpr int kLength = kRow % 8 != 0 && kRow % 4 == 0 && kRow < 16 && 4 % Lanes == 0 ? 4 : kFlatLength;
  static constexpr int kVectors = (kRow + kLength - 1) / kLength;
  static constexpr bool kWhole = kRow % kLength == 0;
};

template <int Lanes, int Cells, bool Cube, bool Sum, bool Stream>
class ShortChunk {
  using Cut = ShortCut<Lanes, Cells>;
  static constexpr int kRow = Cut::kRow, kLength = Cut::kLength, kVectors = Cut::kVectors;
  static constexpr bool kWhole = Cut::kWhole;
  using Vector = SimdDouble<kLength>;
  using Ends = RowEnds<Lanes, kLength>;

 public:
  static constexpr int kPatterns = pattern_count(Lanes, kLength);
  using Sums = std::array<VectorSum<kLength>, kPatterns>;

  ShortChunk(const FlatRows& rows, const SumMagic& magic)
      : cells_(rows.layout.cells), ends_(rows, kRow - kLength * (kVectors - 1)), magic_(magic) {}

  /// `now`, `ahead`: at the chunk at `in` and at the one, `to_next` values further, that is fetched.
  [[gnu::always_inline]] void run(const double* in, FaceWalk<Lanes> now, std::ptrdiff_t to_next, FaceWalk<Lanes> ahead,
                                  double* out, Sums& sums) {
    const int ny = edge(1), nz = edge(2);
    int fetched = 0;  // rows of faces 4 and 5
    for (int z = 0; z < nz; ++z, in += plane_values()) {
      double* const to = kWhole ? out : strips_[z / 2 % 2].data() + z % 2 * plane_values();
      plane(in, z, now, to_next, ahead, to, sums);
      for (; fetched * nz < (z + 1) * ny; ++fetched) {
        fetch<kRow>(ahead.at(4) + fetched * kRow);
        fetch<kRow>(ahead.at(5) + fetched * kRow);
      }
      now.next_plane();
      ahead.next_plane();
      if constexpr (kWhole) {
        out += plane_values();
      } else if (z % 2 == 1) {
        if (z > 1) out = give(strips_[(z / 2 + 1) % 2].data(), out, sums);
        if (z + 1 == nz) give(strips_[z / 2 % 2].data(), out, sums);
      }
    }
  }

 private:
  [[nodiscard]] int edge(int axis) const { return Cube ? Cells : cells_[axis]; }
  [[nodiscard]] std::ptrdiff_t plane_values() const { return std::ptrdiff_t{kRow} * edge(1); }
  /// Asks for N values that lie as rows or cells of a block do: few of them are in one line. The empty statement is an
  /// effect (prefetch_values() says why).
  template <int N>
  [[gnu::always_inline]] static void fetch(const double* p) {
    asm volatile("");
    8 % N == 0 ? __builtin_prefetch(p, 0, 2) : prefetch_values(p, N);
  }

  [[gnu::always_inline]] void plane(const double* in, int z, const FaceWalk<Lanes>& now, std::ptrdiff_t to_next,
                                    const FaceWalk<Lanes>& ahead, double* out, Sums& sums) const {
    const int ny = edge(1);
    const std::ptrdiff_t plane = plane_values();
    const double *xm = now.at(0), *xp = now.at(1), *next_xm = ahead.at(0), *next_xp = ahead.at(1);
    const std::ptrdiff_t zm = z > 0 ? -plane : now.at(4) - in;
    const std::ptrdiff_t zp = z + 1 < edge(2) ? plane : now.at(5) - in;
    const auto one = [&](const double* ym, const double* yp) __attribute__((always_inline)) {
      fetch<Lanes>(next_xm);
      fetch<Lanes>(next_xp);
      row({in, xm, xp, ym, yp, in + zm, in + zp, in + to_next}, out, sums);
      in += kRow;
      out += kRow;
      xm += now.step_y(0);
      xp += now.step_y(1);
      next_xm += ahead.step_y(0);
      next_xp += ahead.step_y(1);
    };
    fetch<kRow>(ahead.at(2));
    fetch<kRow>(ahead.at(3));
    one(now.at(2), in + kRow);
    for (int y = 2; y < ny; ++y) one(in - kRow, in + kRow);
    one(in - kRow, now.at(3));
  }

  [[gnu::always_inline]] void row(const ShortRow& r, double* out, Sums& sums) const {
    std::array<Vector, kVectors + 1> at;
#pragma GCC unroll 8
    for (int k = 0; k < kVectors; ++k) at[k] = load<kLength>(r.row + kLength * k);
    if constexpr (!kWhole) at[kVectors - 1] = ends_.last(at[kVectors - 1], r.xp);
    at[kVectors] = kWhole || !Ends::kRepeats ? ends_.behind(r.xp) : at[kVectors - 1];
    Vector before = ends_.before(r.xm);
#pragma GCC unroll 8
    for (int k = 0; k < kVectors; ++k) {
      const int o = kLength * k;
      if (o % 8 == 0) __builtin_prefetch(r.fetch + o, 0, 2);
      const Vector v =
          average7<Vector>(shifted<kLength - Lanes>(before, at[k]), load<kLength>(r.ym + o), load<kLength>(r.zm + o),
                           at[k], load<kLength>(r.zp + o), load<kLength>(r.yp + o), shifted<Lanes>(at[k], at[k + 1]));
      kWhole ? put(out + o, v, sums[k % kPatterns]) : store<kLength>(out + o, v);
      before = at[k];
    }
  }

  [[gnu::always_inline]] void put(double* out, const Vector& v, VectorSum<kLength>& sum) const {
    Stream ? stream<kLength>(out, v) : store<kLength>(out, v);
    if constexpr (Sum) sum.add(v, magic_.hi, magic_.lo);
  }

  /// A pair of planes, which is whole periods of sums.
  double* give(const double* strip, double* out, Sums& sums) const {
    for (const double* const end = strip + 2 * plane_values(); strip < end;) {
#pragma GCC unroll 8
      for (int p = 0; p < kPatterns; ++p, strip += kLength, out += kLength) put(out, load<kLength>(strip), sums[p]);
    }
    return out;
  }

  std::array<int, 3> cells_;
  Ends ends_;
  SumMagic magic_;
  /// Results of two planes each, and room for what a row stores beyond its end.
  alignas(64) std::array<std::array<double, kWhole ? 8 : 2 * kMaxBlockEdge * kLength * kVectors + 8>, 2> strips_;
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
