// 27 points where blocks are small: eight blocks that make a cube of twice their edge are computed together.
//
// The cube's planes, with their ghosts, are copied one after the other to the first-level cache, in rows of whole
// vectors. A block of 4^3 cells has 2.4 times as many ghosts as cells, the cube of eight 0.95 times; rows are twice as
// long, and what lies around is found and asked for once.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/average27/average27_rows.hpp"
#include "kernels/lanes.hpp"

namespace amrbench::kernels {

namespace {

using detail::Nine;
using detail::RowWalk;
using detail::sum_nine;

/// Copies n doubles, n >= Length, in vectors; the last one is moved back to end with them.
template <int Length>
inline void copy_row(const double* from, std::size_t n, double* to) {
  for (std::size_t t = 0; t < n; t += Length) {
    const std::size_t column = std::min(t, n - Length);
    store<Length>(to + column, load<Length>(from + column));
  }
}

template <class Shape, bool Sum>
class OctetChunk : private RowWalk<Shape, Sum> {
  using Walk = RowWalk<Shape, Sum>;
  using typename Walk::Vector;
  using Walk::kLanes;

 public:
  using typename Walk::Sums;
  using Walk::kPatterns, Walk::kSums;
  [[nodiscard]] static std::size_t scratch(const BlockLayout& l) {
    return (kRing * std::size_t(2 * l.cells[1] + 2) + std::size_t(4 * l.cells[1])) * pitch(l.row_values()) +
           2 * kFlatLength;
  }

  /// Chunk `chunk` of `around` to `out`; meanwhile chunk `next_chunk` of `next` is asked for.
  OctetChunk(const BlockLayout& layout, const Octet& around, int chunk, const Octet& next, int next_chunk,
             const std::array<double*, 8>& out, bool streams, double* scratch, const SumMagic& magic)
      : Walk(layout, streams, magic),
        layout_(layout),
        around_(around),
        next_(next),
        out_(out),
        chunk_(chunk),
        next_chunk_(next_chunk),
        planes_(scratch),
        sums_(scratch + kRing * plane()),
        far_(next.far),
        share_((std::popcount(far_) + layout.cells[2] - 1) / layout.cells[2]) {}

  void run(Sums& sums) {
    const int n = layout_.cells[2];
    for (int z = -1; z <= 0; ++z) gather(z);
    for (int z = 0; z < 2 * n; z += 2) {  // two planes of a block are whole vectors
      fetch_beside();
      gather(z + 1);
      gather(z + 2);
      compute(z, sums);
    }
  }

 private:
  static constexpr int kRing = 4;  ///< planes that are kept
  /// Doubles from row to row of a plane: the rows of two blocks, and a cell before and behind them.
  [[nodiscard]] static std::size_t pitch(std::size_t row) {
    return (2 * (row + kLanes) + kFlatLength - 1) / kFlatLength * kFlatLength;
  }
  [[nodiscard]] std::size_t row() const { return std::size_t(Walk::row()); }
  [[nodiscard]] std::size_t pitch() const { return pitch(row()); }
  [[nodiscard]] std::size_t plane() const { return std::size_t(2 * layout_.cells[1] + 2) * pitch(); }
  [[nodiscard]] double* plane_at(int z) const { return planes_ + unsigned(z + kRing) % kRing * plane(); }
  /// Which piece plane z, -1 .. 2n, lies in, and its number there.
  [[nodiscard]] std::array<int, 2> place(int z) const {
    const int n = layout_.cells[2];
    return z < 0 ? std::array{0, 0} : z < n ? std::array{1, z} : z < 2 * n ? std::array{2, z - n} : std::array{3, 0};
  }

  /// Copies plane z, -1 .. 2n.
  void gather(int z) const {
    if (row() >= 8)
      gather_rows<8>(z);
    else if (row() >= 4)
      gather_rows<4>(z);
    else
      gather_rows<2>(z);
  }
  template <int Length>
  void gather_rows(int z) const {
    const auto& n = layout_.cells;
    const auto [bz, local] = place(z);
    double* to = plane_at(z);
    for (int by = 0; by < 4; ++by) {
      std::array<const double*, 4> from;
      std::array<std::size_t, 4> step;
      for (int bx = 0; bx < 4; ++bx) {
        const Piece& p = around_.piece(bx, by, bz);
        from[bx] = p.values + chunk_ * p.steps->chunk + local * p.steps->cell[2];
        step[bx] = p.steps->cell[1];
      }
      double* const end = to + std::size_t(by == 1 || by == 2 ? n[1] : 1) * pitch();
      for (; to < end; to += pitch()) {
        std::memcpy(to, from[0], kLanes * sizeof(double));
        copy_row<Length>(from[1], row(), to + kLanes);
        copy_row<Length>(from[2], row(), to + kLanes + row());
        std::memcpy(to + kLanes + 2 * row(), from[3], kLanes * sizeof(double));
        for (int bx = 0; bx < 4; ++bx) from[bx] += step[bx];
      }
    }
  }

  /// A row of sums of nine, which stand between those of the cells beside it.
  struct Rows {
    const double *sums, *fetch;

    /// Of the vector at o, which may begin before the row.
    [[nodiscard, gnu::always_inline]] Vector result(std::ptrdiff_t o) const {
      const auto at = [this](std::ptrdiff_t p) { return load<kFlatLength>(sums + p); };
      return twenty_seventh<Vector>(at(o - kLanes) + at(o) + at(o + kLanes));
    }
  };

  /// Results of planes z and z + 1.
  void compute(int z, Sums& sums) {
    const auto& n = layout_.cells;
    const std::size_t chunk_values = layout_.chunk_values();
    const auto [bz, local] = place(z);
    const std::size_t at = std::size_t(local * n[1]) * row();
    for (int by = 0; by < 2; ++by) {
      double* to = sums_;
      for (int k = z; k < z + 2; ++k, to += std::size_t(n[1]) * pitch()) {
        Nine rows{};
        for (int d = 0; d < 9; ++d) rows[d] = plane_at(k + d % 3 - 1) + std::size_t(by * n[1] + d / 3) * pitch();
        sum_nine(rows, std::size_t(n[1]) * pitch(), to);
      }
      for (int bx = 0; bx < 2; ++bx) {
        const int block = bx + 2 * by + 4 * (bz - 1);
        Rows rows{sums_ + kLanes + bx * row(),
                  next_.piece(1 + bx, 1 + by, bz).values + next_chunk_ * chunk_values + at};
        double* out = out_[block] + chunk_ * chunk_values + at;
        Vector held{};
        const auto one = [&](auto phase) __attribute__((always_inline)) {
          this->template results<phase>(rows, out, held, sums);
          rows.sums += pitch();
          rows.fetch += row();
          out += row();
        };
        this->start_vectors(at);
        this->by_pairs(
            0, 0, 2 * n[1], 2 * n[1], [&](auto phase, int) __attribute__((always_inline)) {
              one(phase);
              one(this->following(phase));
            });
      }
    }
  }

  /// Asks for a share of what lies around those that come next.
  void fetch_beside() {
    const auto& n = layout_.cells;
    for (int k = 0; k < share_ && far_ != 0; ++k, far_ &= far_ - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(far_)), bx = at % 4, by = at / 4 % 4, bz = at / 16;
      const auto inside = [](unsigned b) { return b == 1 || b == 2; };
      const Piece& p = next_.pieces[at];
      // Rows that follow in a line are asked for together.
      const std::size_t values = inside(bx) ? row() : std::size_t(kLanes), step = p.steps->cell[1];
      const int rows = inside(by) ? n[1] : 1;
      const bool together = step < kFlatLength;
      const double* plane = p.values + next_chunk_ * p.steps->chunk;
      for (int z = 0; z < (inside(bz) ? n[2] : 1); ++z, plane += p.steps->cell[2]) {
        const double* from = plane;
        for (int y = 0; y < (together ? 1 : rows); ++y, from += step) {
          prefetch_values(from, together ? std::size_t(rows - 1) * step + values : values);
          asm volatile("");  // GCC drops what only fetches
        }
      }
    }
  }

  const BlockLayout& layout_;
  const Octet &around_, &next_;
  const std::array<double*, 8>& out_;
  int chunk_, next_chunk_;
  double *planes_, *sums_;
  std::uint64_t far_;  ///< pieces still to be asked for
  int share_;          ///< of them for two planes
};

template <class Part>
void average27_octet_chunks(const BlockLayout& layout, const Average27OctetArgs& args, double* scratch, RawSum* raw,
                            SumMagic magic) {
  for (int chunk = args.first; chunk < args.last; ++chunk) {
    typename Part::Sums sums{};
    if constexpr (Part::kSums) load_sums(sums, raw + chunk * Part::kPatterns);
    const bool more = chunk + 1 < args.last;
    Part(layout, *args.around, chunk, more ? *args.around : *args.next, more ? chunk + 1 : args.first, args.out,
         args.streams, scratch, magic)
        .run(sums);
    if constexpr (Part::kSums) store_sums(sums, raw + chunk * Part::kPatterns);
  }
}

}  // namespace

Average27OctetKernel select_average27_octet(const BlockLayout& layout, std::size_t cache_bytes) {
  Average27OctetKernel kernel;
  // Measured (docs/kernels.md): others do as well one by one, or better. Rows that are no whole vectors waste more of
  // them one by one. What is kept of a cube must stay in the cache: rows of 30 values do in one of 48 KiB.
  constexpr std::size_t kMostRow = 30;
  const std::size_t most_chunk = layout.row_values() % kFlatLength == 0 ? 512 : 1100;
  if (layout.row_values() > kMostRow || layout.chunk_values() > most_chunk) return kernel;
  with_lanes(layout.lanes, [&](auto lanes) {
    detail::with_rows<lanes, kMostRow>(layout, [&](auto shape) {
      using Shape = decltype(shape);
      if (OctetChunk<Shape, true>::scratch(layout) * sizeof(double) > cache_bytes) return;
      kernel = {average27_octet_chunks<OctetChunk<Shape, false>>, average27_octet_chunks<OctetChunk<Shape, true>>,
                OctetChunk<Shape, true>::scratch(layout)};
    });
  });
  return kernel;
}

}  // namespace amrbench::kernels
