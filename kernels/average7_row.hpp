#pragma once
// The row walk of average7, compiled for `Lanes` lanes and rows of `Cells` cells (0 = any). Included by average7*.cpp
// only.
//
// A row of nx * Lanes doubles is cut into vectors. The neighbours in y and z are rows of the same shape (own block,
// neighbour block or face buffer), so they load at the same offset. The neighbours in x are the row shifted by Lanes: a
// load at another offset inside, a blend of the row and one cell of the face block at its ends, known at compile time.
#include <array>
#include <cstddef>
#include <numeric>
#include <type_traits>
#include <utility>

#include "kernels/average.hpp"
#include "kernels/average7.hpp"

namespace amrbench::kernels::detail {

/// Widest vector that cuts a row of `row` doubles without a rest.
constexpr int vector_length(int row) {
  return row % 8 == 0 ? 8 : row % 4 == 0 ? 4 : row % 2 == 0 ? 2 : 1;
}
/// Vectors after which the pattern of lanes repeats.
constexpr int pattern_count(int lanes, int length) {
  return lanes / std::gcd(lanes, length);
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
struct Shape {
  explicit Shape(const BlockLayout&) {}
  static constexpr int nx = Cells, ny = Cells, nz = Cells;
  static constexpr std::size_t row = std::size_t{Lanes} * Cells, plane = row * Cells;
};
template <int Lanes>
struct Shape<Lanes, 0> {
  explicit Shape(const BlockLayout& l)
      : nx(l.cells[0]), ny(l.cells[1]), nz(l.cells[2]), row(l.row_values()), plane(l.plane_values()) {}
  int nx, ny, nz;
  std::size_t row, plane;
};

/// Where the rows and cells of six faces lie.
class FaceSteps {
 public:
  FaceSteps(const std::array<FaceView, 6>& faces, std::size_t lanes, std::size_t row, std::size_t plane, int ny)
      : faces_(faces), row_(row) {
    for (int f = 0; f < 4; ++f) {
      step_y_[f] = faces[f].packed ? lanes : row;
      step_z_[f] = !faces[f].packed ? plane : f < 2 ? lanes * ny : row;
    }
  }
  /// The cell of face f (0, 1) at (y, z); the row of face f (2, 3) at z; the row of face f (4, 5) at y.
  [[nodiscard]] const double* x(int f, int y, int z) const {
    return faces_[f].values + y * step_y_[f] + z * step_z_[f];
  }
  [[nodiscard]] const double* y(int f, int z) const { return faces_[f].values + z * step_z_[f]; }
  [[nodiscard]] const double* z(int f, int y) const { return faces_[f].values + y * row_; }

  /// Called for every (y, z), fetches all lines of the faces once (a cell may be several lines or share one).
  void prefetch(int y_at, int z_at) const {
    for (int f = 0; f < 2; ++f) __builtin_prefetch(x(f, y_at, z_at), 0, 2);
    if (std::size_t(y_at) * 8 >= row_) return;
    for (int f = 2; f < 4; ++f) __builtin_prefetch(y(f, z_at) + y_at * 8, 0, 2);
    for (int f = 4; f < 6; ++f) __builtin_prefetch(z(f, z_at) + y_at * 8, 0, 2);
  }

 private:
  std::array<FaceView, 6> faces_;
  std::size_t row_;
  std::array<std::size_t, 4> step_y_{}, step_z_{};
};

/// The seven rows that one row of results needs.
struct RowArgs {
  const double* row;
  const double* ahead;  ///< row to prefetch
  const double *xm, *xp, *ym, *yp, *zm, *zp;
  double* out;
};

template <int N>
struct VectorSum {
  SimdBits<N> hi, lo, flags;
  inline void add(const SimdDouble<N>& v, double magic_hi, double magic_lo) {
    const SimdDouble<N> m = SimdDouble<N>{} + magic_hi;
    const SimdDouble<N> shifted = v + m;
    const SimdBits<N> bits = (SimdBits<N>)shifted;
    hi += bits;
    flags |= bits ^ (SimdBits<N>)m;
    const SimdDouble<N> rest = v - (shifted - m);
    lo += (SimdBits<N>)(rest + magic_lo);
  }
};

template <int Lanes, int Cells, bool Sum, bool Stream>
struct FixedRow {
  static constexpr int kRow = Lanes * Cells;
  static constexpr int kLength = vector_length(kRow);
  static constexpr int kPatterns = pattern_count(Lanes, kLength);
  using Sums = std::array<VectorSum<kLength>, kPatterns>;

  template <int O>
  static inline void vector_at(const RowArgs& r, Sums& sums, const SumMagic& magic) {
    constexpr int n = kLength;
    if constexpr (O % 8 == 0) __builtin_prefetch(r.ahead + O, 0, 2);
    const SimdDouble<n> v = average7<SimdDouble<n>>(left_of<n, Lanes, O>(r.row, r.xm), load<n>(r.ym + O),
                                                    load<n>(r.zm + O), load<n>(r.row + O), load<n>(r.zp + O),
                                                    load<n>(r.yp + O), right_of<n, Lanes, kRow, O>(r.row, r.xp));
    Stream ? stream<n>(r.out + O, v) : store<n>(r.out + O, v);
    if constexpr (Sum) sums[(O / n) % kPatterns].add(v, magic.hi, magic.lo);
  }
  template <std::size_t... I>
  static inline void run(const RowArgs& r, Sums& sums, const SumMagic& magic, std::index_sequence<I...>) {
    (vector_at<int(I) * kLength>(r, sums, magic), ...);
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

template <int N, int P>
inline void load_sums(std::array<VectorSum<N>, P>& sums, const RawSum* raw) {
  for (int p = 0; p < P; ++p) {
    std::memcpy(&sums[p].hi, raw[p].hi.data(), sizeof sums[p].hi);
    std::memcpy(&sums[p].lo, raw[p].lo.data(), sizeof sums[p].lo);
    std::memcpy(&sums[p].flags, raw[p].flags.data(), sizeof sums[p].flags);
  }
}
template <int N, int P>
inline void store_sums(const std::array<VectorSum<N>, P>& sums, RawSum* raw) {
  for (int p = 0; p < P; ++p) {
    std::memcpy(raw[p].hi.data(), &sums[p].hi, sizeof sums[p].hi);
    std::memcpy(raw[p].lo.data(), &sums[p].lo, sizeof sums[p].lo);
    std::memcpy(raw[p].flags.data(), &sums[p].flags, sizeof sums[p].flags);
  }
}

/// A chunk of a block.
template <int Lanes, int Cells, bool Sum, bool Stream>
void average7_chunk(const BlockLayout& layout, const ChunkArgs& args, RawSum* raw, SumMagic magic) {
  using Row =
      std::conditional_t<Cells == 0, AnyRow<Lanes, Sum, Stream>, FixedRow<Lanes, Cells == 0 ? 1 : Cells, Sum, Stream>>;
  const Shape<Lanes, Cells> shape(layout);
  const std::size_t row = shape.row, plane = shape.plane;
  const int ny = shape.ny, nz = shape.nz;
  const FaceSteps now(args.faces, Lanes, row, plane, ny), next(args.next.faces, Lanes, row, plane, ny);
  typename Row::Sums sums;
  if constexpr (Sum) load_sums<Row::kLength, Row::kPatterns>(sums, raw);
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      const std::size_t o = z * plane + y * row;
      RowArgs r;
      r.row = args.in + o;
      r.ahead = args.next.in + o;
      r.out = args.out + o;
      r.xm = now.x(0, y, z);
      r.xp = now.x(1, y, z);
      r.ym = y > 0 ? r.row - row : now.y(2, z);
      r.yp = y + 1 < ny ? r.row + row : now.y(3, z);
      r.zm = z > 0 ? r.row - plane : now.z(4, y);
      r.zp = z + 1 < nz ? r.row + plane : now.z(5, y);
      next.prefetch(y, z);
      if constexpr (Cells == 0)
        Row::run(r, sums, magic, shape.nx);
      else
        Row::run(r, sums, magic);
    }
  }
  if constexpr (Sum) store_sums<Row::kLength, Row::kPatterns>(sums, raw);
}

template <int Lanes, int Cells>
Average7Kernel average7_kernel() {
  using Row =
      std::conditional_t<Cells == 0, AnyRow<Lanes, true, false>, FixedRow<Lanes, Cells == 0 ? 1 : Cells, true, false>>;
  // Streaming stores need whole aligned vectors of a length the processor streams.
  constexpr bool kStreams = kStreamLength > 0 && Row::kLength >= 4;
  return {{average7_chunk<Lanes, Cells, false, false>, average7_chunk<Lanes, Cells, false, kStreams>},
          {average7_chunk<Lanes, Cells, true, false>, average7_chunk<Lanes, Cells, true, kStreams>},
          Row::kLength,
          Row::kPatterns};
}

template <int Lanes>
Average7Kernel average7_for_cells(const std::array<int, 3>& cells) {
  const bool cube = cells[0] == cells[1] && cells[1] == cells[2];
  switch (cube ? cells[0] : 0) {
    case 4:
      return average7_kernel<Lanes, 4>();
    case 8:
      return average7_kernel<Lanes, 8>();
    case 16:
      return average7_kernel<Lanes, 16>();
    default:
      return average7_kernel<Lanes, 0>();
  }
}

}  // namespace amrbench::kernels::detail
