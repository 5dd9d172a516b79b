#pragma once
// The walk of 27 points over a chunk (kernels/row_walk.hpp): sums of nine are made where a row is loaded, from the nine
// rows where they lie. Those of the cells before and behind the rows are made first. Included by average27*.cpp only.
#include <array>

#include "kernels/average.hpp"
#include "kernels/average27/average27.hpp"
#include "kernels/row_walk.hpp"
#include "kernels/surroundings.hpp"

namespace amrbench::kernels::detail {

/// The nine rows, or columns, whose sum is wanted, in the order of additions: along z, then along y.
using Nine = std::array<const double*, 9>;

[[nodiscard, gnu::always_inline]] inline SimdDouble<kFlatLength> sum_of_nine(const Nine& p, std::ptrdiff_t o) {
  SimdDouble<kFlatLength> sum = load<kFlatLength>(p[0] + o);
  for (int k = 1; k < 9; ++k) sum += load<kFlatLength>(p[k] + o);
  return sum;
}
/// to[t] = the sum of nine at t, in whole vectors: up to 7 values too many.
inline void sum_nine(const Nine& p, std::size_t n, double* to) {
  for (std::size_t t = 0; t < n; t += kFlatLength) store<kFlatLength>(to + t, sum_of_nine(p, std::ptrdiff_t(t)));
}

/// The rows of a plane, or their cells before or behind the block: at y = -1, 0 and ny, and the step between those
/// inside.
struct PlaneRows {
  const double *before, *first, *behind;
  std::size_t step;
};
using Planes = std::array<PlaneRows, kMaxBlockEdge + 2>;  ///< from -1 on

/// Those of a chunk: dx = 0 the rows, -1 and 1 the cells before and behind them.
inline void find_planes(const Surroundings& around, int chunk, int dx, int nz, Planes& planes) {
  PlaneRows* to = planes.data();
  for (int dz = -1; dz <= 1; ++dz) {
    const Piece &before = around.piece(dx, -1, dz), &own = around.piece(dx, 0, dz), &behind = around.piece(dx, 1, dz);
    PlaneRows rows{before.values + chunk * before.steps->chunk, own.values + chunk * own.steps->chunk,
                   behind.values + chunk * behind.steps->chunk, own.steps->cell[1]};
    for (int z = 0; z < (dz == 0 ? nz : 1); ++z) {
      *to++ = rows;
      rows.before += before.steps->cell[2];
      rows.first += own.steps->cell[2];
      rows.behind += behind.steps->cell[2];
    }
  }
}

/// Sums of nine of the cells before or behind rows y to stop - 1 of a plane, to[0] those of the first one, and up to 7
/// values too many. planes: it and the two beside it. Reads exactly the cells: whatever else lies in their lines is not
/// wanted. A cell is loaded once for the three sums that it belongs to.
template <int Lanes>
inline void sum_row_ends(const PlaneRows* planes, int y, int stop, int ny, double* to) {
  constexpr int kLength = Lanes <= 2 ? Lanes : 4 % Lanes == 0 ? 4 : 8;
  using Vector = std::conditional_t<Lanes == 1, double, SimdDouble<kLength>>;  // vectors of one go through memory
  const auto at = [](const double* cell) {
    if constexpr (Lanes == 1)
      return *cell;
    else if constexpr (kLength == Lanes)
      return load<kLength>(cell);
    else
      return RowEnds<Lanes, kLength>::behind(cell);
  };
  const auto put = [&to](const Vector& v) {
    if constexpr (Lanes == 1)
      *to = v;
    else
      store<kLength>(to, v);
  };
  std::array<const double*, 3> p{};
  for (int k = 0; k < 3; ++k) p[k] = planes[k].first + std::size_t(y) * planes[k].step;
  const auto before = [&](int k) { return at(y > 0 ? p[k] - planes[k].step : planes[k].before); };
  Vector a = at(p[0]), b = at(p[1]), c = at(p[2]);
  // Of the last two rows, and of the last one alone.
  Vector two = before(0) + before(1) + before(2) + a + b + c, one = a + b + c;
  for (int r = y + 1; r < stop; ++r, to += Lanes) {
    for (int k = 0; k < 3; ++k) p[k] += planes[k].step;
    a = at(p[0]);
    b = at(p[1]);
    c = at(p[2]);
    put(two + a + b + c);
    two = one + a + b + c;
    one = a + b + c;
  }
  const auto behind = [&](int k) { return at(stop < ny ? p[k] + planes[k].step : planes[k].behind); };
  put(two + behind(0) + behind(1) + behind(2));
}

template <class Shape, bool Sum>
class Average27Rows : private RowWalk<Shape, Sum> {
  using Walk = RowWalk<Shape, Sum>;
  using typename Walk::Ends, typename Walk::Vector;
  using Walk::kLanes, Walk::kLong;
  using Walk::lead, Walk::nz, Walk::ny, Walk::plane_values, Walk::row, Walk::strip_end;

 public:
  using typename Walk::Sums;
  using Walk::kPatterns;

  /// Strips are longer: of each the rows beside it are loaded in three planes, not in one.
  Average27Rows(const BlockLayout& layout, bool streams, const SumMagic& magic)
      : Walk(layout, streams, magic, 2 * kStripValues), layout_(layout) {}

  /// A chunk of a block to `out`; of `next` the same chunk is fetched when all of this one is.
  void run(const Surroundings& around, const Surroundings& next, int chunk, double* out, Sums& sums) {
    for (int dx = -1; dx <= 1; ++dx) find_planes(around, chunk, dx, nz(), planes_[dx + 1]);
    int y = 0, stop = 0;
    Place ahead{&around, 0, 0}, after = ahead;
    const auto start = [&](int first, int end) {
      y = first;
      stop = end;
      after = end < ny() ? Place{&around, 0, end} : Place{&next, 0, 0};
      ahead = lead() < nz() ? Place{&around, lead(), first} : after;
    };
    this->walk(
        out, start, [&](int z, double* to, Vector& held) __attribute__((always_inline)) {
          plane(z, y, stop, fetch(ahead, chunk), to, held, sums);
          ++ahead.z;
          if (lead() < nz() && ahead.z == nz()) ahead = after;
        });
  }

 private:
  /// Where the rows of a strip begin in a plane of a block.
  struct Place {
    const Surroundings* around;
    int z, y;
  };

  /// Rows to ask for, and the cells before and behind them; where those need not be asked for, the rows once more.
  struct Fetched {
    const double *rows, *before, *behind;
    std::ptrdiff_t step_before, step_behind;
  };
  /// Those at a place. Asks for what else lies beside them.
  Fetched fetch(const Place& at, int chunk) const {
    const int end = strip_end(at.y);
    prefetch_beside(layout_, *at.around, chunk, at.z, at.y, end);
    const auto first = [&](int dx) {
      const Piece& piece = at.around->piece(dx, 0, 0);
      return piece.at(0, at.y, at.z) + chunk * piece.steps->chunk;
    };
    const auto is_far = [&](int dx) { return (at.around->far >> unsigned(Surroundings::index(dx, 0, 0)) & 1U) != 0; };
    const double* const rows = first(0);
    if (at.y > 0) prefetch_values(rows - row(), std::size_t(row()));
    if (end < ny()) prefetch_values(rows + (end - at.y) * row(), std::size_t(row()));
    Fetched f{rows, rows, rows, row(), row()};
    if (is_far(-1)) f.before = first(-1), f.step_before = std::ptrdiff_t(at.around->piece(-1, 0, 0).steps->cell[1]);
    if (is_far(1)) f.behind = first(1), f.step_behind = std::ptrdiff_t(at.around->piece(1, 0, 0).steps->cell[1]);
    return f;
  }

  [[gnu::always_inline]] static void prefetch_cell(const double* p) {
    prefetch_line(p);
    if constexpr (kFlatLength % kLanes != 0) prefetch_line(p + kLanes - 1);
  }

  struct Rows {
    Nine rows;
    const double *xm, *xp;  ///< sums of the cells before and behind
    const double* fetch;    ///< row to fetch meanwhile

    [[nodiscard, gnu::always_inline]] Vector before() const { return Ends::before(xm); }
    [[nodiscard, gnu::always_inline]] Vector behind() const { return Ends::behind(xp); }
    [[nodiscard, gnu::always_inline]] Vector at(std::ptrdiff_t o) const { return sum_of_nine(rows, o); }
    [[nodiscard, gnu::always_inline]] Vector average(std::ptrdiff_t, const Vector& left, const Vector& center,
                                                     const Vector& right) const {
      return twenty_seventh<Vector>(left + center + right);
    }
  };

  /// Rows y to stop - 1 of plane z; as many of `fetch` are asked for.
  [[gnu::always_inline]] void plane(int z, int y, int stop, Fetched fetch, double* out, Vector& held, Sums& sums) {
    const PlaneRows* const planes = planes_[1].data() + z;  // z - 1, z, z + 1 and on
    // Once more, shortly before: what is fetched from many places a chunk ahead does not stay in the cache for sure.
    if (y == 0 && z + 2 < nz()) {
      prefetch_values(planes[3].before, row());
      prefetch_values(planes[3].behind, row());
    }
    for (int side = 0; side < 2; ++side)
      sum_row_ends<kLanes>(planes_[2 * side].data() + z, y, stop, ny(), ends_[side].data());
    const double *xm = ends_[0].data(), *xp = ends_[1].data();
    Nine rows{};
    for (int k = 0; k < 3; ++k) {
      const PlaneRows& p = planes[k];
      rows[3 + k] = p.first + y * p.step;
      rows[k] = y > 0 ? rows[3 + k] - p.step : p.before;
    }
    const auto one = [&](auto phase, bool last) __attribute__((always_inline)) {
      for (int k = 0; k < 3; ++k) rows[6 + k] = last ? planes[k].behind : rows[3 + k] + planes[k].step;
      prefetch_cell(fetch.before);
      prefetch_cell(fetch.behind);
      this->template results<phase>(Rows{rows, xm, xp, fetch.rows}, out, held, sums);
      for (int k = 0; k < 6; ++k) rows[k] = rows[k + 3];
      fetch.rows += row();
      fetch.before += fetch.step_before;
      fetch.behind += fetch.step_behind;
      out += row();
      xm += kLanes;
      xp += kLanes;
    };
    this->by_pairs(
        z, y, stop, ny(), [&](auto phase, int at) __attribute__((always_inline)) {
          one(phase, false);
          one(this->following(phase), at + 2 == ny());
        });
  }

  const BlockLayout& layout_;
  std::array<Planes, 3> planes_;  ///< before, in and behind the block
  /// Sums before and behind the rows of a strip.
  std::array<std::array<double, kMaxBlockEdge * kLanes + kFlatLength>, 2> ends_;
};

/// A run of chunks of a block.
template <class Shape, bool Sum>
void average27_rows(const BlockLayout& layout, const Average27Args& args, RawSum* raw, SumMagic magic) {
  using Chunk = Average27Rows<Shape, Sum>;
  Chunk part(layout, args.streams, magic);
  for (int chunk = args.first; chunk < args.last; ++chunk) {
    typename Chunk::Sums sums{};
    if constexpr (Sum) load_sums(sums, raw + chunk * Chunk::kPatterns);
    part.run(*args.around, *args.next, chunk, args.out + chunk * layout.chunk_values(), sums);
    if constexpr (Sum) store_sums(sums, raw + chunk * Chunk::kPatterns);
  }
}

/// The kernels of a shape.
template <class Shape>
Average27Kernel average27_kernel() {
  return {average27_rows<Shape, false>, average27_rows<Shape, true>};
}

}  // namespace amrbench::kernels::detail
