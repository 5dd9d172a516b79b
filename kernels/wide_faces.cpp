#include "kernels/wide_faces.hpp"

#include <algorithm>
#include <array>

#include "kernels/extensive.hpp"
#include "kernels/lanes.hpp"
#include "kernels/simd.hpp"

namespace amrbench::kernels {

namespace {

/// Cells [low, high) along an axis of a face.
struct Range {
  int low, high;
  [[nodiscard]] int count() const { return high - low; }
  /// The part of it beside the n cells of a block, d = -1 or 1, or among them, 0.
  [[nodiscard]] Range part(int d, int n) const {
    return {std::max(low, d < 0 ? -1 : d == 0 ? 0 : n), std::min(high, d < 0 ? 0 : d == 0 ? n : n + 1)};
  }
};

/// The cells of a sent layer that a part of a coarse face needs, along one of its axes.
Range sent_range(TileTransfer transfer, int cells, int extension, bool upper) {
  const int half = cells / 2;
  switch (transfer) {
    case TileTransfer::quarter:
      return {(upper ? half : 0) - extension, (upper ? cells : half) + extension};
    case TileTransfer::restricted:  // the outer layer of the extension counts twice
      return {upper ? 0 : -extension, cells + (upper ? extension : 0)};
    default:
      return {-extension, cells + extension};
  }
}

/// Cells of a plane: so many along a and b, at steps from the first.
template <class Value>
struct Plane {
  Value* first;
  std::size_t a, b;
  int na, nb;
  [[nodiscard]] Value* row(int k) const { return first + k * b; }
};

/// n values; n is small, and a call would cost as much.
inline void copy_values(const double* from, std::size_t n, double* to) {
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8) store<8>(to + k, load<8>(from + k));
  if (n & 4U) store<4>(to + k, load<4>(from + k)), k += 4;
  if (n & 2U) store<2>(to + k, load<2>(from + k)), k += 2;
  if (n & 1U) to[k] = from[k];
}

template <int Lanes>
inline void copy_cell(const double* from, double* to) {
  for_vectors<Lanes>([&](auto n, int at) { store<n>(to + at, load<n>(from + at)); });
}

template <int Lanes>
void copy_plane(const Plane<const double>& from, const Plane<double>& to) {
  for (int b = 0; b < from.nb; ++b) {
    const double* p = from.row(b);
    double* q = to.row(b);
    if (from.a == Lanes && to.a == Lanes) {
      copy_values(p, std::size_t(from.na) * Lanes, q);
      continue;
    }
    for (int a = 0; a < from.na; ++a, p += from.a, q += to.a) copy_cell<Lanes>(p, q);
  }
}

/// Every fine ghost takes the entry of the quarter that contains it: of those that are extended, the first and the last
/// entry go to one ghost, all others to two.
template <int Lanes>
void double_plane(const Plane<const double>& from, const Plane<double>& to, int ea, int eb) {
  for (int b = 0; b < to.nb; ++b) {
    const double* const row = from.row((b + eb) / 2);
    double* q = to.row(b);
    for (int a = 0; a < to.na; ++a, q += to.a) copy_cell<Lanes>(row + std::size_t((a + ea) / 2) * from.a, q);
  }
}

/// The two fine cells along an axis that entry k of a restricted piece sums. One cell too few: that at the outer end
/// counts twice.
struct Pairs {
  int shift, last;
  Pairs(int cells, int entries, bool upper) : shift(2 * entries > cells && !upper ? 1 : 0), last(cells - 1) {}
  [[nodiscard]] int first(int k) const { return std::max(2 * k - shift, 0); }
  [[nodiscard]] int second(int k) const { return std::min(2 * k + 1 - shift, last); }
};

template <int Lanes>
void sum_plane(const Plane<const double>& from, const Plane<double>& to, bool upper_a, bool upper_b) {
  const Pairs of_a(from.na, to.na, upper_a), of_b(from.nb, to.nb, upper_b);
  for (int b = 0; b < to.nb; ++b) {
    const double *const row0 = from.row(of_b.first(b)), *const row1 = from.row(of_b.second(b));
    double* q = to.row(b);
    for (int a = 0; a < to.na; ++a, q += to.a) {
      const std::size_t a0 = of_a.first(a) * from.a, a1 = of_a.second(a) * from.a;
      for_vectors<Lanes>([&](auto n, int at) {
        store<n>(q + at, face_sum(load<n>(row0 + a0 + at), load<n>(row1 + a0 + at), load<n>(row0 + a1 + at),
                                  load<n>(row1 + a1 + at)));
      });
    }
  }
}

}  // namespace

/// One job, with the number of lanes known.
template <int Lanes>
struct WideFaces::Work {
  const WideFaces& faces;
  const WideFaceJob& job;
  const TileTransfer transfer = job.transfer;
  const bool upper_a = (job.part & 1) != 0, upper_b = job.part >> 1 != 0;

  /// Cells of a piece along a and b.
  [[nodiscard]] std::array<int, 2> piece_cells() const {
    const WideFaces& f = faces;
    const int more = transfer == TileTransfer::restricted ? 1 : 2;
    const int divisor = transfer == TileTransfer::whole ? 1 : 2;
    return {f.na_ / divisor + more * f.ea_, f.nb_ / divisor + more * f.eb_};
  }
  template <class Value>
  [[nodiscard]] Plane<Value> packed(Value* first, int na, int nb) const {
    return {first, Lanes, std::size_t(na) * Lanes, na, nb};
  }
  /// Where in an extended face the piece goes.
  [[nodiscard]] Plane<double> ghosts(double* extended_face) const {
    const WideFaces& f = faces;
    const bool is_part = transfer == TileTransfer::restricted;
    std::array<int, 3> at{};
    at[f.a_] = is_part && upper_a ? f.na_ / 2 : -f.ea_;
    at[f.b_] = is_part && upper_b ? f.nb_ / 2 : -f.eb_;
    const std::array<std::size_t, 3> steps = f.extended_.strides();
    const int na = is_part ? f.na_ / 2 + f.ea_ : f.na_ + 2 * f.ea_;
    const int nb = is_part ? f.nb_ / 2 + f.eb_ : f.nb_ + 2 * f.eb_;
    return {extended_face + f.extended_.cell(at[0], at[1], at[2]), steps[f.a_], steps[f.b_], na, nb};
  }

  /// The cells of a chunk of the sender's layer that are sent: each(the part of them in a piece, its offset where they
  /// are packed). How many there are along a and b.
  template <class Each>
  std::array<int, 2> for_parts(const Surroundings& around, int chunk, const Each& each) const {
    const WideFaces& f = faces;
    const int face = job.work == WideFaceWork::pack ? job.face : job.face ^ 1;
    const Range all_a = sent_range(transfer, f.na_, f.ea_, upper_a),
                all_b = sent_range(transfer, f.nb_, f.eb_, upper_b);
    const std::size_t row = std::size_t(all_a.count()) * Lanes;
    std::array<int, 3> d{}, at{};
    at[f.axis_] = face % 2 != 0 ? f.layout_.cells[f.axis_] - 1 : 0;
    for (int db = -f.eb_; db <= f.eb_; ++db) {
      const Range b = all_b.part(db, f.nb_);
      if (b.count() <= 0) continue;
      d[f.b_] = db;
      at[f.b_] = db == 0 ? b.low : 0;
      for (int da = -f.ea_; da <= f.ea_; ++da) {
        const Range a = all_a.part(da, f.na_);
        if (a.count() <= 0) continue;
        d[f.a_] = da;
        at[f.a_] = da == 0 ? a.low : 0;
        const Piece& piece = around.piece(d[0], d[1], d[2]);
        const double* const from = piece.at(at[0], at[1], at[2]) + chunk * piece.steps->chunk;
        each(Plane<const double>{from, piece.steps->cell[f.a_], piece.steps->cell[f.b_], a.count(), b.count()},
             (b.low - all_b.low) * row + std::size_t(a.low - all_a.low) * Lanes);
      }
    }
    return {all_a.count(), all_b.count()};
  }
  /// Packs them in `to`.
  [[nodiscard]] Plane<const double> gather(const Surroundings& around, int chunk, double* to) const {
    const std::size_t row = std::size_t(sent_range(transfer, faces.na_, faces.ea_, upper_a).count()) * Lanes;
    const auto [na, nb] = for_parts(around, chunk, [&](const Plane<const double>& from, std::size_t at) {
      copy_plane<Lanes>(from, {to + at, Lanes, row, from.na, from.nb});
    });
    if (transfer == TileTransfer::quarter)
      for (std::size_t k = 0; k < row * nb; ++k) to[k] = face_quarter(to[k]);
    return packed<const double>(to, na, nb);
  }
  void fetch(const Surroundings& around) const {
    for (int chunk = 0; chunk < faces.layout_.chunks; ++chunk)
      for_parts(around, chunk, [](const Plane<const double>& from, std::size_t) {
        // Cells that follow in a line are asked for together.
        const std::size_t cell = from.a < kMaxLanes ? from.na * from.a : Lanes;
        for (int b = 0; b < from.nb; ++b)
          for (int a = 0; a < (from.a < kMaxLanes ? 1 : from.na); ++a) prefetch_values(from.row(b) + a * from.a, cell);
      });
  }

  void pack(const Surroundings& around, double* piece, double* scratch) const {
    const auto [na, nb] = piece_cells();
    const bool sums = transfer == TileTransfer::restricted;
    for (int chunk = 0; chunk < faces.layout_.chunks; ++chunk, piece += std::size_t(na) * nb * Lanes) {
      const Plane<const double> layer = gather(around, chunk, sums ? scratch : piece);
      if (sums) sum_plane<Lanes>(layer, packed(piece, na, nb), upper_a, upper_b);
    }
  }
  void fill(const Surroundings& around, double* extended_face, double* scratch) const {
    Plane<double> to = ghosts(extended_face);
    for (int chunk = 0; chunk < faces.layout_.chunks; ++chunk, to.first += faces.extended_.chunk_values()) {
      const Plane<const double> layer = gather(around, chunk, scratch);
      if (transfer == TileTransfer::restricted)
        sum_plane<Lanes>(layer, to, upper_a, upper_b);
      else
        double_plane<Lanes>(layer, to, faces.ea_, faces.eb_);
    }
  }
  void unpack(const double* piece, double* extended_face) const {
    const auto [na, nb] = piece_cells();
    Plane<double> to = ghosts(extended_face);
    for (int chunk = 0; chunk < faces.layout_.chunks; ++chunk, to.first += faces.extended_.chunk_values()) {
      const Plane<const double> from = packed(piece, na, nb);
      if (transfer == TileTransfer::quarter)
        double_plane<Lanes>(from, to, faces.ea_, faces.eb_);
      else
        copy_plane<Lanes>(from, to);
      piece += std::size_t(na) * nb * Lanes;
    }
  }
};

WideFaces::WideFaces(const BlockLayout& layout, int axis)
    : layout_(layout),
      extended_(layout, axis),
      axis_(axis),
      a_(layout.face_axis_a(axis)),
      b_(layout.face_axis_b(axis)),
      na_(layout.cells[a_]),
      nb_(layout.cells[b_]),
      ea_(TileLayout::extension(axis, a_)),
      eb_(TileLayout::extension(axis, b_)) {}

void WideFaces::pack(const WideFaceJob& job, const Surroundings& around, double* piece, double* scratch) const {
  with_lanes(layout_.lanes, [&](auto lanes) { Work<lanes>{*this, job}.pack(around, piece, scratch); });
}

void WideFaces::fill(const WideFaceJob& job, const Surroundings& around, double* extended_face, double* scratch) const {
  with_lanes(layout_.lanes, [&](auto lanes) { Work<lanes>{*this, job}.fill(around, extended_face, scratch); });
}

void WideFaces::fetch(const WideFaceJob& job, const Surroundings& around) const {
  with_lanes(layout_.lanes, [&](auto lanes) { Work<lanes>{*this, job}.fetch(around); });
}

void WideFaces::unpack(const WideFaceJob& job, const double* piece, double* extended_face) const {
  with_lanes(layout_.lanes, [&](auto lanes) { Work<lanes>{*this, job}.unpack(piece, extended_face); });
}

}  // namespace amrbench::kernels
