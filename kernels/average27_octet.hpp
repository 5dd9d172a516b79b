#pragma once
// 27 points where blocks are small: eight blocks that make a cube of twice their edge are computed together. Included
// by average27.cpp only.
//
// The cube's planes, with their ghosts, are copied one after the other to the first-level cache, in rows of whole
// vectors. A block of 4^3 cells has 2.4 times as many ghosts as cells, the cube of eight 0.95 times; rows are twice as
// long, and what lies around is found and asked for once.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/average27_rows.hpp"
#include "kernels/flat_rows.hpp"
#include "kernels/surroundings.hpp"

namespace amrbench::kernels::detail {

/// Copies n doubles, n >= Length, in vectors; the last one is moved back to end with them.
template <int Length>
inline void copy_row(const double* from, std::size_t n, double* to) {
  for (std::size_t t = 0; t < n; t += Length) {
    const std::size_t column = std::min(t, n - Length);
    store<Length>(to + column, load<Length>(from + column));
  }
}

template <int Lanes, bool Sum, bool Stream>
class OctetChunk {
 public:
  static constexpr bool kSums = Sum;
  static constexpr int kPatterns = pattern_count(Lanes, kFlatLength);
  using Sums = std::array<VectorSum<kFlatLength>, kPatterns>;
  /// Doubles from row to row of a plane: the rows of two blocks, and a cell before and behind them.
  static std::size_t pitch(const BlockLayout& l) { return whole_vectors(2 * (l.row_values() + std::size_t(Lanes))); }
  static std::size_t plane(const BlockLayout& l) { return std::size_t(2 * l.cells[1] + 2) * pitch(l); }
  static std::size_t scratch(const FlatRows& rows) {
    const BlockLayout& l = rows.layout;
    return kRing * plane(l) + std::size_t(4 * l.cells[1]) * pitch(l) + 2 * kFlatLength;
  }

  /// Chunk `chunk` of `around` to `out`; meanwhile chunk `next_chunk` of `next` is asked for.
  OctetChunk(const FlatRows& rows, const Octet& around, int chunk, const Octet& next, int next_chunk,
             const std::array<double*, 8>& out, double* scratch, const SumMagic& magic)
      : rows_(rows),
        around_(around),
        next_(next),
        out_(out),
        chunk_(chunk),
        next_chunk_(next_chunk),
        row_(rows.layout.row_values()),
        pitch_(pitch(rows.layout)),
        plane_(plane(rows.layout)),
        planes_(scratch),
        sums_(scratch + kRing * plane_),
        magic_(magic),
        far_(next.far),
        share_((std::popcount(far_) + rows.layout.cells[2] - 1) / rows.layout.cells[2]) {}

  void run(Sums& sums) {
    const int n = rows_.layout.cells[2];
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
  [[nodiscard]] double* plane_at(int z) const { return planes_ + unsigned(z + kRing) % kRing * plane_; }
  /// Which piece plane z, -1 .. 2n, lies in, and its number there.
  [[nodiscard]] std::array<int, 2> place(int z) const {
    const int n = rows_.layout.cells[2];
    return z < 0 ? std::array{0, 0} : z < n ? std::array{1, z} : z < 2 * n ? std::array{2, z - n} : std::array{3, 0};
  }

  /// Copies plane z, -1 .. 2n.
  void gather(int z) const {
    if (row_ >= 8)
      gather_rows<8>(z);
    else if (row_ >= 4)
      gather_rows<4>(z);
    else
      gather_rows<2>(z);
  }
  template <int Length>
  void gather_rows(int z) const {
    const auto& n = rows_.layout.cells;
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
      double* const end = to + std::size_t(by == 1 || by == 2 ? n[1] : 1) * pitch_;
      for (; to < end; to += pitch_) {
        std::memcpy(to, from[0], Lanes * sizeof(double));
        copy_row<Length>(from[1], row_, to + Lanes);
        copy_row<Length>(from[2], row_, to + Lanes + row_);
        std::memcpy(to + Lanes + 2 * row_, from[3], Lanes * sizeof(double));
        for (int bx = 0; bx < 4; ++bx) from[bx] += step[bx];
      }
    }
  }

  /// Results of planes z and z + 1.
  void compute(int z, Sums& sums) const {
    const auto& n = rows_.layout.cells;
    const std::size_t chunk_values = rows_.layout.chunk_values();
    const auto [bz, local] = place(z);
    const std::size_t at = std::size_t(local * n[1]) * row_;
    for (int by = 0; by < 2; ++by) {
      double* to = sums_;
      for (int k = z; k < z + 2; ++k, to += std::size_t(n[1]) * pitch_) {
        std::array<PlaneRows, 3> planes;
        for (int d = 0; d < 3; ++d) {
          const double* const before = plane_at(k + d - 1) + std::size_t(by * n[1]) * pitch_;
          planes[d] = {before, before + pitch_, before + std::size_t(n[1] + 1) * pitch_, pitch_};
        }
        sum_rows<kFlatLength>(planes.data(), {0, n[1], n[1]}, pitch_, to, pitch_);
      }
      for (int bx = 0; bx < 2; ++bx) {
        const int block = bx + 2 * by + 4 * (bz - 1);
        const double* const next = next_.piece(1 + bx, 1 + by, bz).values + next_chunk_ * chunk_values;
        finish_rows<Lanes, Sum, Stream>(rows_, sums_ + Lanes + bx * row_, pitch_, 2 * n[1], next + at,
                                        out_[block] + chunk_ * chunk_values + at, sums, magic_);
      }
    }
  }

  /// Asks for a share of what lies around those that come next.
  void fetch_beside() {
    const auto& n = rows_.layout.cells;
    for (int k = 0; k < share_ && far_ != 0; ++k, far_ &= far_ - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(far_)), bx = at % 4, by = at / 4 % 4, bz = at / 16;
      const auto inside = [](unsigned b) { return b == 1 || b == 2; };
      const Piece& p = next_.pieces[at];
      // Rows that follow in a line are asked for together.
      const std::size_t values = inside(bx) ? row_ : std::size_t(Lanes), step = p.steps->cell[1];
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

  const FlatRows& rows_;
  const Octet &around_, &next_;
  const std::array<double*, 8>& out_;
  int chunk_, next_chunk_;
  std::size_t row_, pitch_, plane_;
  double *planes_, *sums_;
  SumMagic magic_;
  std::uint64_t far_;  ///< pieces still to be asked for
  int share_;          ///< of them for two planes
};

}  // namespace amrbench::kernels::detail
