#pragma once
// The walk of average7 over a chunk (kernels/row_walk.hpp): every row is loaded with the cells beside it straight from
// the blocks or faces that have them. Included by average7*.cpp only.
#include "kernels/average.hpp"
#include "kernels/average7/average7.hpp"
#include "kernels/face_walk.hpp"
#include "kernels/row_walk.hpp"

namespace amrbench::kernels::detail {

template <class Shape, bool Sum>
class RowChunk : private RowWalk<Shape, Sum> {
  using Walk = RowWalk<Shape, Sum>;
  using typename Walk::Ends, typename Walk::Vector;
  using Walk::kLanes, Walk::kLength, Walk::kLong;
  using Walk::lead, Walk::nz, Walk::ny, Walk::plane_values, Walk::row, Walk::strip_end;
  using Faces = FaceWalk<kLanes>;

 public:
  using typename Walk::Sums;
  using Walk::kPatterns, Walk::Walk;

  /// `now`, `then`: at the chunk at `in` and at that at `next`, which is fetched when this one has been.
  [[gnu::always_inline]] void run(const double* in, const Faces& now, const double* next, const Faces& then,
                                  double* out, Sums& sums) {
    Place here{in, now, 0, 0}, after = here, ahead = here;
    int stop = 0;
    const auto start = [&](int y, int end) __attribute__((always_inline)) {
      stop = end;
      after = end < ny() ? Place{in, now, 0, end} : Place{next, then, 0, 0};
      here = {in, now, 0, y};
      ahead = lead() < nz() ? here : after;
      for (int z = 0; lead() < nz() && z < lead(); ++z) go_on(ahead);
    };
    this->walk(
        out, start, [&](int, double* to, Vector& held) __attribute__((always_inline)) {
          plane(here, stop, ahead, to, held, sums);
          go_on(here);
          go_on(ahead);
          if (lead() < nz() && ahead.z == nz()) ahead = after;
        });
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

  /// Asks for a row, for a cell at its end: few of them are in one line.
  [[gnu::always_inline]] void fetch_row(const double* p) const {
    !kLong&& kFlatLength % std::max(1, Shape::kRow) == 0 ? prefetch_line(p) : prefetch_values(p, row());
  }
  [[gnu::always_inline]] static void fetch_cell(const double* p) {
    Shape::kOneLine ? prefetch_line(p) : prefetch_values(p, kLanes);
  }

  /// The seven rows that one row of results needs; xm, xp: the cells before and behind it.
  struct Rows {
    const double *row, *xm, *xp, *ym, *yp, *zm, *zp;
    const double* fetch;  ///< row to fetch meanwhile

    [[nodiscard, gnu::always_inline]] Vector before() const { return Ends::before(xm); }
    [[nodiscard, gnu::always_inline]] Vector behind() const { return Ends::behind(xp); }
    [[nodiscard, gnu::always_inline]] Vector at(std::ptrdiff_t o) const { return load<kLength>(row + o); }
    [[nodiscard, gnu::always_inline]] Vector average(std::ptrdiff_t o, const Vector& left, const Vector& center,
                                                     const Vector& right) const {
      return average7<Vector>(left, load<kLength>(ym + o), load<kLength>(zm + o), center, load<kLength>(zp + o),
                              load<kLength>(yp + o), right);
    }
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
      this->template results<phase>(Rows{in, xm, xp, ym, yp, in + zm, in + zp, fetch}, out, held, sums);
      in += row();
      fetch += row();
      out += row();
      xm += now.step_y(0);
      xp += now.step_y(1);
      next_xm += then.step_y(0);
      next_xp += then.step_y(1);
    };
    this->by_pairs(
        here.z, first, end, ny(), [&](auto phase, int y) __attribute__((always_inline)) {
          one(phase, y > 0 ? in - row() : now.at(2), in + row());
          one(this->following(phase), in - row(), y + 2 < ny() ? in + row() : now.at(3));
        });
  }
};

/// A chunk whose rows are shorter than a vector of 8 and whose results go through the caches, so that they need not be
/// whole vectors: a row is its first vector of 4 and its last one, loaded where they lie and stored as they come.
template <class Shape>
class PlainChunk {
  static constexpr int kLanes = Shape::kLanes, kRow = Shape::kRow, kLength = 4, kLast = kRow - kLength;
  using Vector = SimdDouble<kLength>;
  using Ends = RowEnds<kLanes, kLength>;

 public:
  /// For these rows. A vector holds two cells and more.
  static constexpr bool kExists = !Shape::kLong && kRow >= kLength && kRow < 2 * kLength && kLanes <= 2;

  /// Fetches the chunk at `next`.
  [[gnu::always_inline]] static void run(const BlockLayout& l, const double* in, FaceWalk<kLanes> faces,
                                         const double* next, double* out) {
    const std::ptrdiff_t plane = std::ptrdiff_t{kRow} * l.cells[1];
    for (int z = 0; z < l.cells[2]; ++z, faces.next_plane()) {
      const double *xm = faces.at(0), *xp = faces.at(1);
      const double* zm = z > 0 ? in - plane : faces.at(4);
      const double* zp = z + 1 < l.cells[2] ? in + plane : faces.at(5);
      for (int y = 0; y < l.cells[1]; ++y) {
        const double* ym = y > 0 ? in - kRow : faces.at(2);
        const double* yp = y + 1 < l.cells[1] ? in + kRow : faces.at(3);
        const auto part = [&](int o, const Vector& left, const Vector& at, const Vector& right) {
          const auto row = [o](const double* p) { return load<kLength>(p + o); };
          store<kLength>(out + o, average7<Vector>(left, row(ym), row(zm), at, row(zp), row(yp), right));
        };
        const Vector first = load<kLength>(in), last = load<kLength>(in + kLast);
        const Vector before = shifted<kLength - kLanes>(Ends::before(xm), first);
        const Vector behind = shifted<kLanes>(last, Ends::behind(xp));
        if constexpr (kLast == 0) {
          part(0, before, first, behind);
        } else {
          part(0, before, first, load<kLength>(in + kLanes));
          part(kLast, load<kLength>(in + kLast - kLanes), last, behind);
        }
        prefetch_line(next);
        next += kRow;
        in += kRow;
        out += kRow;
        zm += kRow;
        zp += kRow;
        xm += faces.step_y(0);
        xp += faces.step_y(1);
      }
    }
  }
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
    const double *in = args.input->in + c * values, *next = args.next->in + c * values;
    double* const out = args.out + c * values;
    if (!PlainChunk<Shape>::kExists || args.streams) {
      chunk.run(in, now, next, then, out, sums);
    } else if constexpr (PlainChunk<Shape>::kExists) {
      PlainChunk<Shape>::run(l, in, now, next, out);
      if constexpr (Sum) add_values(sums, out, values, magic);
    }
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
