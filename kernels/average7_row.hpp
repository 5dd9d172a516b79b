#pragma once
// The row walk of average7, compiled for `Lanes` lanes and rows of `Cells` cells (0 = any). Included by average7*.cpp
// only.
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

/// Extents and strides of a chunk: constants for a cube of `Cells`, members for any block (Cells = 0).
template <int Lanes, int Cells>
class Shape {
 public:
  explicit Shape(const BlockLayout&) {}
  static constexpr int nx() { return Cells; }
  static constexpr int ny() { return Cells; }
  static constexpr int nz() { return Cells; }
  static constexpr std::size_t row() { return std::size_t{Lanes} * Cells; }
  static constexpr std::size_t plane() { return row() * Cells; }
};
template <int Lanes>
class Shape<Lanes, 0> {
 public:
  explicit Shape(const BlockLayout& l) : cells_(l.cells), row_(l.row_values()), plane_(l.plane_values()) {}
  [[nodiscard]] int nx() const { return cells_[0]; }
  [[nodiscard]] int ny() const { return cells_[1]; }
  [[nodiscard]] int nz() const { return cells_[2]; }
  [[nodiscard]] std::size_t row() const { return row_; }
  [[nodiscard]] std::size_t plane() const { return plane_; }

 private:
  std::array<int, 3> cells_;
  std::size_t row_, plane_;
};

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

/// Any number of cells a row, cell by cell, in the widest vectors that cut a cell's lanes without a rest.
template <int Lanes, bool Sum, bool Stream>
struct AnyRow {
  static constexpr int kLength = vector_length(Lanes);
  static constexpr int kPatterns = Lanes / kLength;
  using Sums = std::array<VectorSum<kLength>, kPatterns>;

  static inline void run(const RowArgs& r, Sums& sums, const SumMagic& magic, int cells) {
    constexpr int n = kLength;
    for (int x = 0; x < cells; ++x) {
      __builtin_prefetch(r.ahead + x * Lanes, 0, 2);
      const double* left = x > 0 ? r.row + (x - 1) * Lanes : r.xm;
      const double* right = x + 1 < cells ? r.row + (x + 1) * Lanes : r.xp;
      for (int p = 0; p < kPatterns; ++p) {
        const int o = p * n, i = x * Lanes + o;
        const SimdDouble<n> v =
            average7<SimdDouble<n>>(load<n>(left + o), load<n>(r.ym + i), load<n>(r.zm + i), load<n>(r.row + i),
                                    load<n>(r.zp + i), load<n>(r.yp + i), load<n>(right + o));
        Stream ? stream<n>(r.out + i, v) : store<n>(r.out + i, v);
        if constexpr (Sum) sums[p].add(v, magic.hi, magic.lo);
      }
    }
  }
};

/// A run of chunks of a block.
template <int Lanes, int Cells, bool Sum, bool Stream>
void average7_chunks(const FlatRows& rows, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Row =
      std::conditional_t<Cells == 0, AnyRow<Lanes, Sum, Stream>, FixedRow<Lanes, Cells == 0 ? 1 : Cells, Sum, Stream>>;
  const Shape<Lanes, Cells> shape(rows.layout);
  const std::size_t row = shape.row(), plane = shape.plane();
  const int ny = shape.ny(), nz = shape.nz();
  FaceWalk<Lanes> now(args.input, rows.layout), ahead(args.next, rows.layout);
  RowArgs r{};
  r.row = args.input.in;
  r.ahead = args.next.in;
  r.out = args.out;
  for (int chunk = 0; chunk < args.chunks; ++chunk) {
    now.start_chunk();
    ahead.start_chunk();
    typename Row::Sums sums;
    if constexpr (Sum) load_sums(sums, raw + chunk * Row::kPatterns);
    for (int z = 0; z < nz; ++z) {
      r.xm = now.at(0);
      r.xp = now.at(1);
      r.ym = now.at(2);
      r.zm = z > 0 ? r.row - plane : now.at(4);
      r.zp = z + 1 < nz ? r.row + plane : now.at(5);
      // The faces to come, a line of each a row: cells of faces 0 and 1, the plane's row of 2 and 3, a row of 4 and 5.
      const double *a0 = ahead.at(0), *a1 = ahead.at(1), *a2 = ahead.at(2), *a3 = ahead.at(3);
      const double *a4 = ahead.at(4) + z * row, *a5 = ahead.at(5) + z * row;
      for (int y = 0; y < ny; ++y) {
        r.yp = y + 1 < ny ? r.row + row : now.at(3);
        __builtin_prefetch(a0, 0, 2);
        __builtin_prefetch(a1, 0, 2);
        if (std::size_t(y) * 8 < row) {
          __builtin_prefetch(a2 + y * 8, 0, 2);
          __builtin_prefetch(a3 + y * 8, 0, 2);
          __builtin_prefetch(a4 + y * 8, 0, 2);
          __builtin_prefetch(a5 + y * 8, 0, 2);
        }
        if constexpr (Cells == 0)
          Row::run(r, sums, magic, shape.nx());
        else
          Row::run(r, sums, magic);
        r.ym = r.row;
        r.row += row;
        r.zm += row;
        r.zp += row;
        r.out += row;
        r.ahead += row;
        r.xm += now.step_y(0);
        r.xp += now.step_y(1);
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
