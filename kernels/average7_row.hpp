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

/// Strides and starts of the six faces in one chunk.
struct FaceWalk {
  std::array<const double*, 6> base;
  std::array<std::size_t, 6> step_a, step_b;  ///< doubles from one cell (row) to the next along y and z
};

inline FaceWalk face_walk(const BlockLayout& l, const BlockArgs& args, int chunk) {
  FaceWalk w;
  const std::size_t lanes = l.lanes, row = l.row_values(), plane = l.plane_values();
  for (int f = 0; f < 6; ++f) {
    const FaceView& face = args.faces[f];
    w.base[f] = face.values + chunk * (face.packed ? l.face_cells(f / 2) * lanes : l.chunk_values());
  }
  for (int f = 0; f < 2; ++f) {
    w.step_a[f] = args.faces[f].packed ? lanes : row;
    w.step_b[f] = args.faces[f].packed ? lanes * l.cells[1] : plane;
  }
  for (int f = 2; f < 4; ++f) {
    w.step_a[f] = 0;
    w.step_b[f] = args.faces[f].packed ? row : plane;
  }
  for (int f = 4; f < 6; ++f) {
    w.step_a[f] = row;
    w.step_b[f] = 0;
  }
  return w;
}

/// The seven rows that one row of results needs.
struct RowArgs {
  const double* row;
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

/// The whole block. Cells = 0 compiles for any row length.
template <int Lanes, int Cells, bool Sum, bool Stream>
void average7_block(const BlockLayout& l, const BlockArgs& args, StageSum* sum) {
  using Row =
      std::conditional_t<Cells == 0, AnyRow<Lanes, Sum, Stream>, FixedRow<Lanes, Cells == 0 ? 1 : Cells, Sum, Stream>>;
  const std::size_t row = l.row_values(), plane = l.plane_values();
  const int ny = l.cells[1], nz = l.cells[2];
  const SumMagic magic = Sum ? sum->magic() : SumMagic{};
  for (int chunk = 0; chunk < l.chunks; ++chunk) {
    const FaceWalk w = face_walk(l, args, chunk);
    const double* in = args.in + chunk * l.chunk_values();
    double* out = args.out + chunk * l.chunk_values();
    typename Row::Sums sums;
    if constexpr (Sum) load_sums<Row::kLength, Row::kPatterns>(sums, sum->raw(chunk));
    for (int z = 0; z < nz; ++z) {
      for (int y = 0; y < ny; ++y) {
        const std::size_t o = z * plane + y * row;
        RowArgs r;
        r.row = in + o;
        r.out = out + o;
        r.xm = w.base[0] + y * w.step_a[0] + z * w.step_b[0];
        r.xp = w.base[1] + y * w.step_a[1] + z * w.step_b[1];
        r.ym = y > 0 ? r.row - row : w.base[2] + z * w.step_b[2];
        r.yp = y + 1 < ny ? r.row + row : w.base[3] + z * w.step_b[3];
        r.zm = z > 0 ? r.row - plane : w.base[4] + y * w.step_a[4];
        r.zp = z + 1 < nz ? r.row + plane : w.base[5] + y * w.step_a[5];
        if constexpr (Cells == 0)
          Row::run(r, sums, magic, l.cells[0]);
        else
          Row::run(r, sums, magic);
      }
    }
    if constexpr (Sum) store_sums<Row::kLength, Row::kPatterns>(sums, sum->raw(chunk));
  }
}

template <int Lanes, int Cells>
Average7Kernel average7_kernel() {
  using Row =
      std::conditional_t<Cells == 0, AnyRow<Lanes, true, false>, FixedRow<Lanes, Cells == 0 ? 1 : Cells, true, false>>;
  // Streaming stores need whole aligned vectors of a length the processor streams.
  constexpr bool kStreams = kStreamLength > 0 && Row::kLength >= 4;
  return {{average7_block<Lanes, Cells, false, false>, average7_block<Lanes, Cells, false, kStreams>},
          {average7_block<Lanes, Cells, true, false>, average7_block<Lanes, Cells, true, kStreams>},
          Row::kLength,
          Row::kPatterns};
}

template <int Lanes>
Average7Kernel average7_for_cells(int cells) {
  switch (cells) {
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
