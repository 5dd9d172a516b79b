#pragma once
// The row walk of average7 over cubes, compiled for `Lanes` lanes and `Cells` cells. Included by average7*.cpp only.
//
// A row of nx * Lanes doubles is cut into vectors. The neighbours in y and z are rows of the same shape (own block,
// neighbour block or face buffer), so they load at the same offset. The neighbours in x are the row shifted by Lanes: a
// load at another offset inside, a blend of the row and one cell of the face block at its ends, known at compile time.
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels::detail {

/// Widest vector that cuts a row of `row` doubles without a rest.
constexpr int vector_length(int row) {
  return row % 8 == 0 ? 8 : row % 4 == 0 ? 4 : row % 2 == 0 ? 2 : 1;
}
/// The first Cut elements of a, then those of b: what a shifted row looks like at its seam.
template <int N, int Cut, std::size_t... K>
inline SimdDouble<N> seam(const double* a, const double* b, std::index_sequence<K...>) {
  static_assert(Cut > 0 && Cut < N);
  return __builtin_shufflevector(load<N>(a), load<N>(b), (int(K) < Cut ? int(K) : N + int(K) - Cut)...);
}
template <int N, int Cut>
inline SimdDouble<N> seam(const double* a, const double* b) {
  return seam<N, Cut>(a, b, std::make_index_sequence<N>{});
}

/// Vector at offset O of the row shifted by one cell: its left neighbours (from the face cell `xm`, then the row).
template <int N, int Lanes, int O>
inline SimdDouble<N> left_of(const double* row, const double* xm) {
  if constexpr (O >= Lanes)
    return load<N>(row + (O - Lanes));
  else if constexpr (O + N <= Lanes)
    return load<N>(xm + O);
  else
    return seam<N, Lanes - O>(xm + O, row);
}
template <int N, int Lanes, int Row, int O>
inline SimdDouble<N> right_of(const double* row, const double* xp) {
  if constexpr (O + N + Lanes <= Row)
    return load<N>(row + (O + Lanes));
  else if constexpr (O + Lanes >= Row)
    return load<N>(xp + (O + Lanes - Row));
  else
    return seam<N, Row - (O + Lanes)>(row + (O + Lanes), xp);
}

/// The seven rows that one row of results needs.
struct RowArgs {
  const double* row;
  const double* ahead;  ///< row to prefetch
  const double *xm, *xp, *ym, *yp, *zm, *zp;
  double* out;
};

template <int Lanes, int Cells, bool Sum, bool Stream>
struct FixedRow {
  static constexpr int kRow = Lanes * Cells;
  static constexpr int kLength = vector_length(kRow);
  static constexpr int kPatterns = pattern_count(Lanes, kLength);
  using Sums = std::array<VectorSum<kLength>, kPatterns>;

  /// `left` and `centre` carry what the vector before loaded when a vector is a cell; else they are loaded here.
  template <int O>
  static inline void vector_at(const RowArgs& r, Sums& sums, const SumMagic& magic, SimdDouble<kLength>& left,
                               SimdDouble<kLength>& centre) {
    constexpr int n = kLength;
    if constexpr (O % 8 == 0) __builtin_prefetch(r.ahead + O, 0, 2);
    if constexpr (Lanes != n || O == 0) {
      left = left_of<n, Lanes, O>(r.row, r.xm);
      centre = load<n>(r.row + O);
    }
    const SimdDouble<n> right = right_of<n, Lanes, kRow, O>(r.row, r.xp);
    const SimdDouble<n> v = average7<SimdDouble<n>>(left, load<n>(r.ym + O), load<n>(r.zm + O), centre,
                                                    load<n>(r.zp + O), load<n>(r.yp + O), right);
    left = centre;
    centre = right;
    Stream ? stream<n>(r.out + O, v) : store<n>(r.out + O, v);
    if constexpr (Sum) sums[(O / n) % kPatterns].add(v, magic.hi, magic.lo);
  }
  template <std::size_t... I>
  static inline void run(const RowArgs& r, Sums& sums, const SumMagic& magic, std::index_sequence<I...>) {
    SimdDouble<kLength> left{}, centre{};
    (vector_at<int(I) * kLength>(r, sums, magic, left, centre), ...);
  }
  static inline void run(const RowArgs& r, Sums& sums, const SumMagic& magic) {
    run(r, sums, magic, std::make_index_sequence<kRow / kLength>{});
  }
};

/// The cells before (side 0) and behind the rows of a plane.
template <int Lanes, int Cells>
using RowEnds = std::array<std::array<double, Cells * Lanes + kFlatLength>, 2>;

/// Copies them exactly: vectors that reach beyond a cell would wait for a line that nobody asked for.
template <int Lanes, int Cells>
inline void copy_ends(const FaceWalk<Lanes>& faces, RowEnds<Lanes, Cells>& ends) {
  for (int side = 0; side < 2; ++side) {
    const double* from = faces.at(side);
    for (int y = 0; y < Cells; ++y, from += faces.step_y(side))
      std::memcpy(ends[side].data() + y * Lanes, from, Lanes * sizeof(double));
  }
}

/// A run of chunks of a cube of `Cells`.
template <int Lanes, int Cells, bool Sum, bool Stream>
void average7_chunks(const FlatRows& rows, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Row = FixedRow<Lanes, Cells, Sum, Stream>;
  constexpr std::size_t row = std::size_t{Lanes} * Cells, plane = row * Cells;
  FaceWalk<Lanes> now(args.input, rows.layout), ahead(args.next, rows.layout);
  std::array<RowEnds<Lanes, Cells>, 2> ends;
  RowArgs r{};
  r.row = args.input.in;
  r.ahead = args.next.in;
  r.out = args.out;
  for (int chunk = 0; chunk < args.chunks; ++chunk) {
    now.start_chunk();
    ahead.start_chunk();
    FaceWalk<Lanes> beside = now;
    copy_ends<Lanes, Cells>(beside, ends[0]);
    typename Row::Sums sums;
    if constexpr (Sum) load_sums(sums, raw + chunk * Row::kPatterns);
    for (int z = 0; z < Cells; ++z) {
      if (z + 1 < Cells) {  // a plane ahead: what was just stored is slow to load
        beside.next_plane();
        copy_ends<Lanes, Cells>(beside, ends[(z + 1) % 2]);
      }
      r.xm = ends[z % 2][0].data();
      r.xp = ends[z % 2][1].data();
      r.ym = now.at(2);
      r.zm = z > 0 ? r.row - plane : now.at(4);
      r.zp = z + 1 < Cells ? r.row + plane : now.at(5);
      // The faces to come, in the order in which they will be needed.
      prefetch_values(ahead.at(2), row);
      prefetch_values(ahead.at(3), row);
      const double *a0 = ahead.at(0), *a1 = ahead.at(1);
      for (int y = 0; y < Cells; ++y) {
        r.yp = y + 1 < Cells ? r.row + row : now.at(3);
        prefetch_values(a0, Lanes);
        prefetch_values(a1, Lanes);
        if (z == 0) prefetch_values(ahead.at(4) + y * row, row);
        if (z + 1 == Cells) prefetch_values(ahead.at(5) + y * row, row);
        Row::run(r, sums, magic);
        r.ym = r.row;
        r.row += row;
        r.zm += row;
        r.zp += row;
        r.out += row;
        r.ahead += row;
        r.xm += Lanes;
        r.xp += Lanes;
        a0 += ahead.step_y(0);
        a1 += ahead.step_y(1);
      }
      now.next_plane();
      ahead.next_plane();
    }
    if constexpr (Sum) store_sums(sums, raw + chunk * Row::kPatterns);
  }
}

}  // namespace amrbench::kernels::detail
