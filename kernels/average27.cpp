#include "kernels/average27.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/average.hpp"
#include "kernels/lanes.hpp"
#include "kernels/vector_sum.hpp"

namespace amrbench::kernels {

namespace {

using Vector = SimdDouble<kFlatLength>;

/// Doubles to the next multiple of a vector, and one vector more: loops run in whole vectors.
constexpr std::size_t with_room(std::size_t values) {
  return (values + 2 * kFlatLength - 1) / kFlatLength * kFlatLength;
}

/// Where a kernel's arrays lie in its scratch.
struct Parts {
  explicit Parts(const FlatRows& r)
      : column_plane(std::size_t(r.layout.cells[1] + 2) * r.layout.lanes),
        column(with_room(column_plane * (r.layout.cells[2] + 2))),
        ghosts(with_room(std::size_t(r.layout.cells[1]) * r.layout.lanes)),
        strip(with_room(r.strip * r.layout.row_values())) {}
  [[nodiscard]] std::size_t values() const { return 2 * column + ghosts + 3 * strip + 2 * kFlatLength; }

  std::size_t column_plane;  ///< of a column of ghosts before or behind the rows: [z][y][lane] from -1 on
  std::size_t column, ghosts, strip;
};

/// The rows, or columns, whose sum is wanted, in the order of additions.
using Nine = std::array<const double*, 9>;

/// to[t] = the sum of nine at t, in whole vectors: up to 7 values too many.
inline void sum_nine(const Nine& p, std::size_t n, double* to) {
  for (std::size_t t = 0; t < n; t += kFlatLength) {
    Vector sum = load<8>(p[0] + t);
    for (int k = 1; k < 9; ++k) sum += load<8>(p[k] + t);
    store<8>(to + t, sum);
  }
}

/// One chunk; strips in turn.
template <int Lanes, bool Sum, bool Stream>
class Chunk {
 public:
  static constexpr int kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;

  Chunk(const FlatRows& rows, const Surroundings& around, int chunk, double* scratch)
      : rows_(rows), around_(around), parts_(rows), row_(rows.layout.row_values()) {
    for (std::size_t k = 0; k < around_.pieces.size(); ++k)
      around_.pieces[k].values += chunk * around_.pieces[k].steps->chunk;
    columns_ = {scratch, scratch + parts_.column};
    ghosts_ = scratch + 2 * parts_.column;
    sums_ = ghosts_ + parts_.ghosts + kFlatLength;
    outside_ = {sums_ + parts_.strip, sums_ + 2 * parts_.strip};
    pack_columns();
  }

  /// Rows [begin, end) of the chunk to `out`, where they begin.
  void compute(int begin, int end, double* out, Sums& sums, const SumMagic& magic) {
    const int ny = rows_.layout.cells[1];
    for (int r = begin; r < end;) {
      const int z = r / ny, last = std::min(end, (z + 1) * ny);
      sum_rows(z, r % ny, last - z * ny, sums_ + (r - begin) * row_);
      sum_ghosts(z, r % ny, last - z * ny, std::size_t(r - begin) * row_);
      r = last;
    }
    average(std::size_t(end - begin) * row_ / kFlatLength, out, sums, magic);
  }

 private:
  void pack_columns() {
    const auto& n = rows_.layout.cells;
    for (int side = 0; side < 2; ++side) {
      double* to = columns_[side];
      for (int dz = -1; dz <= 1; ++dz) {
        for (int z = 0; z < (dz == 0 ? n[2] : 1); ++z) {
          for (int dy = -1; dy <= 1; ++dy) {
            const Piece& piece = around_.piece(2 * side - 1, dy, dz);
            const double* from = piece.at(0, 0, z);
            for (int y = 0; y < (dy == 0 ? n[1] : 1); ++y, to += Lanes, from += piece.steps->cell[1])
              std::memcpy(to, from, Lanes * sizeof(double));
          }
        }
      }
    }
  }

  /// Row (y, z), coordinates -1 .. n, but for its ends.
  [[nodiscard]] const double* row_at(int y, int z) const {
    const auto& n = rows_.layout.cells;
    const int dy = y < 0 ? -1 : y < n[1] ? 0 : 1, dz = z < 0 ? -1 : z < n[2] ? 0 : 1;
    return around_.piece(0, dy, dz).at(0, dy == 0 ? y : 0, dz == 0 ? z : 0);
  }

  /// Sums of nine of the rows [y0, y1) of plane z.
  void sum_rows(int z, int y0, int y1, double* to) const {
    const int ny = rows_.layout.cells[1];
    // Rows lie one behind the other but in faces that are extended along x.
    const bool flat = around_.piece(0, 0, -1).steps->cell[1] == row_ && around_.piece(0, 0, 1).steps->cell[1] == row_;
    const bool inner = flat || (z > 0 && z + 1 < rows_.layout.cells[2]);
    for (int y = y0; y < y1;) {
      const int count = inner && y > 0 && y + 1 < ny ? std::min(y1, ny - 1) - y : 1;
      Nine p{};
      for (int k = 0; k < 9; ++k) p[k] = row_at(y + k / 3 - 1, z + k % 3 - 1);
      sum_nine(p, count * row_, to);
      to += count * row_;
      y += count;
    }
  }

  /// Sums of nine of the columns beside the same rows, to where the rows' shifted arrays take them.
  void sum_ghosts(int z, int y0, int y1, std::size_t at) const {
    for (int side = 0; side < 2; ++side) {
      Nine p{};
      for (int k = 0; k < 9; ++k)
        p[k] = columns_[side] + (z + k % 3) * parts_.column_plane + std::size_t(y0 + k / 3) * Lanes;
      sum_nine(p, std::size_t(y1 - y0) * Lanes, ghosts_);
      double* to = outside_[side] + at + (side == 0 ? 0 : row_ - Lanes);
      for (int y = 0; y < y1 - y0; ++y, to += row_) std::memcpy(to, ghosts_ + y * Lanes, Lanes * sizeof(double));
    }
  }

  void average(std::size_t vectors, double* out, Sums& kept, const SumMagic& magic) const {
    const EdgeMasks* const masks = rows_.masks.data();
    const std::size_t period = rows_.masks.size();
    const double *const low = outside_[0], *const high = outside_[1], *const mid = sums_;
    Sums sums = kept;
    for (std::size_t first = 0; first < vectors; first += period) {
      for (std::size_t k = 0; k < period; k += kPatterns) {
        for (std::size_t p = 0; p < kPatterns; ++p) {
          const std::size_t t = (first + k + p) * kFlatLength;
          const EdgeMasks& mask = masks[k + p];
          Vector before, behind;
          if (mask.any) {
            before = load_either(mask.first, low + t, mid + t - Lanes);
            behind = load_either(mask.last, high + t, mid + t + Lanes);
          } else {
            before = load<8>(mid + t - Lanes);
            behind = load<8>(mid + t + Lanes);
          }
          const Vector v = twenty_seventh<Vector>(before + load<8>(mid + t) + behind);
          Stream ? stream<8>(out + t, v) : store<8>(out + t, v);
          if constexpr (Sum) sums[p].add(v, magic.hi, magic.lo);
        }
      }
    }
    kept = sums;
  }

  const FlatRows& rows_;
  Surroundings around_;
  Parts parts_;
  std::size_t row_;
  std::array<double*, 2> columns_{};  ///< before and behind the rows
  double* ghosts_;                    ///< their sums
  double* sums_;                      ///< those of a strip
  std::array<double*, 2> outside_{};  ///< laid out like sums_: what stands before its first cells, behind its last ones
};

template <int Lanes, bool Sum, bool Stream>
void average27_chunks(const FlatRows& rows, const Average27Args& args, double* scratch, RawSum* raw, SumMagic magic) {
  using Part = Chunk<Lanes, Sum, Stream>;
  double* out = args.out + args.first * rows.layout.chunk_values();
  for (int chunk = args.first; chunk < args.last; ++chunk) {
    Part part(rows, args.around, chunk, scratch);
    typename Part::Sums sums{};
    if constexpr (Sum) load_sums(sums, raw + chunk * Part::kPatterns);
    for (int begin = 0; begin < rows.rows; begin += rows.strip) {
      const int end = std::min(begin + rows.strip, rows.rows);
      prefetch_rows(rows.layout, args.next, chunk, begin, end);
      part.compute(begin, end, out, sums, magic);
      out += std::size_t(end - begin) * rows.layout.row_values();
    }
    if constexpr (Sum) store_sums(sums, raw + chunk * Part::kPatterns);
  }
}

}  // namespace

Average27Kernel select_average27(const FlatRows& rows) {
  Average27Kernel kernel;
  with_lanes(rows.layout.lanes, [&](auto lanes) {
    kernel.plain = {average27_chunks<lanes, false, false>, average27_chunks<lanes, false, true>};
    kernel.summing = {average27_chunks<lanes, true, false>, average27_chunks<lanes, true, true>};
  });
  kernel.scratch = Parts(rows).values();
  return kernel;
}

void average27_reference(const TileLayout& l, const double* tile, double* out) {
  const auto& n = l.block.cells;
  for (int v = 0; v < l.lanes * l.chunks; ++v) {
    for (int z = 0; z < n[2]; ++z) {
      for (int y = 0; y < n[1]; ++y) {
        for (int x = 0; x < n[0]; ++x) {
          std::array<double, 3> planes{};
          for (int c = 0; c < 27; ++c) {
            const double u = tile[l.offset(v, x + c / 9 - 1, y + c / 3 % 3 - 1, z + c % 3 - 1)];
            planes[c / 9] = c % 9 == 0 ? u : planes[c / 9] + u;
          }
          out[l.block.offset(v, x, y, z)] = (planes[0] + planes[1] + planes[2]) / 27.0;
        }
      }
    }
  }
}

}  // namespace amrbench::kernels
