#include "kernels/mixed/mixed.hpp"

#include <algorithm>
#include <array>

#include "kernels/mixed/mixed_block.hpp"

namespace amrbench::kernels {

std::vector<std::uint32_t> additive_feedback_numbers(int count) {
  constexpr int kLong = 31, kShort = 3, kDropped = 310;
  constexpr std::int64_t kFactor = 16807, kModulus = 2147483647;
  // r[0 .. 30]: Lehmer's generator from 1; r[31 .. 33] repeat r[0 .. 2]; then the feedback.
  std::vector<std::uint32_t> r{1};
  for (int i = 1; i < kLong; ++i) r.push_back(static_cast<std::uint32_t>(kFactor * r[i - 1] % kModulus));
  for (int i = kLong; i < kLong + kShort; ++i) r.push_back(r[i - kLong]);
  const int first = kLong + kShort + kDropped;
  for (int i = kLong + kShort; i < first + count; ++i) r.push_back(r[i - kShort] + r[i - kLong]);
  std::vector<std::uint32_t> numbers;
  for (int i = first; i < first + count; ++i) numbers.push_back(r[i] >> 1);
  return numbers;
}

MixedConstants mixed_constants(int variables) {
  const auto numbers = additive_feedback_numbers(1 + variables / 4);
  MixedConstants constants;
  constants.a1 = numbers[0] / 2147483647.0;
  for (std::size_t k = 1; k < numbers.size(); ++k) constants.a0.push_back(numbers[k] / 2147483647.0);
  return constants;
}

namespace {

/// Vectors of 8 over whole planes of a tile, the ghosts between rows and up to 7 values behind the last row included:
/// those keep their values by a mask.
class PlaneWalk {
 public:
  /// inside: of a plane from cell (0, 0) on, 1 for cells, 0 for ghosts. work: a variable's values, indexed like one
  /// from cell (0, 0, 0). swapped: the tile's first axis is y.
  PlaneWalk(const TileLayout& layout, bool swapped, const double* inside, double* work)
      : cells_(layout.block.cells),
        row_(static_cast<std::ptrdiff_t>(layout.row_values())),
        plane_(static_cast<std::ptrdiff_t>(layout.plane_values())),
        swapped_(swapped),
        inside_(inside),
        work_(work) {}

  template <class F>
  void each_cell(double* u, F f) const {
    const double* const inside = inside_;
    for (std::ptrdiff_t first = 0; first < cells_[2] * plane_; first += plane_) {
      each_value(first, length(), [=](std::ptrdiff_t c) {
        const double value = f(c);
        u[c] = inside[c - first] != 0.0 ? value : u[c];
      });
    }
  }
  template <int Axis, class F>
  void each_line(double* u, F f) const {
    const int along = swapped_ && Axis < 2 ? 1 - Axis : Axis;
    if (along == 2) return each_cell(u, f);
    // Planes do not wait for each other: row after row of one plane would wait for every result.
    const std::ptrdiff_t nx = cells_[0], length = (nx + 7) / 8 * 8;
    for (int y = 0; y < cells_[1]; ++y) {
      for (int z = 0; z < cells_[2]; ++z) {
        const std::ptrdiff_t first = z * plane_ + y * row_;
        if (along == 1) {
          each_value(0, length, [=](std::ptrdiff_t x) {
            const double value = f(first + x);
            u[first + x] = x < nx ? value : u[first + x];
          });
        } else {
          for (std::ptrdiff_t c = first; c < first + nx; ++c) u[c] = f(c);
        }
      }
    }
  }
  template <class F>
  void replace(double* u, F f) const {
    const double* const w = work_;
    make(f);
    each_cell(u, [=](std::ptrdiff_t c) { return w[c]; });
  }
  template <class F>
  void replace(double* u, F f, const detail::Range& range) const {
    make(f);
    into_range(u, work_, range);
  }
  void into_range(double* u, const detail::Range& range) const { into_range(u, u, range); }

 private:
  /// f(first), f(first + 1) ... in whole vectors. Known to be of 8, they need no loop for a rest.
  template <class F>
  static void each_value(std::ptrdiff_t first, std::ptrdiff_t length, F f) {
    for (std::ptrdiff_t v = first; v < first + length; v += 8) {
#pragma omp simd simdlen(8) safelen(8)
      for (std::ptrdiff_t k = 0; k < 8; ++k) f(v + k);
    }
  }
  template <class F>
  void make(F f) const {
    double* const w = work_;
    for (std::ptrdiff_t first = 0; first < cells_[2] * plane_; first += plane_)
      each_value(first, length(), [=](std::ptrdiff_t c) { w[c] = f(c); });
  }
  /// u(c) = w(c) in range. Planes whose cells are all below 1 need no division.
  void into_range(double* u, const double* w, const detail::Range& range) const {
    const double* const inside = inside_;
    for (std::ptrdiff_t first = 0; first < cells_[2] * plane_; first += plane_) {
      std::int64_t large = 0;
#pragma omp simd reduction(| : large)
      for (std::ptrdiff_t k = 0; k < length(); ++k) large |= inside[k] * std::fabs(w[first + k]) >= 1.0 ? 1 : 0;
      const auto store = [=, this](auto ranged) {
        each_value(first, length(), [=](std::ptrdiff_t c) {
          const double value = ranged(w[c]);
          u[c] = inside[c - first] != 0.0 ? value : u[c];
        });
      };
      large != 0 ? store(range) : store([=](double value) { return range.below_one(value); });
    }
  }
  [[nodiscard]] std::ptrdiff_t length() const {
    return ((cells_[1] - 1) * row_ + cells_[0] + 7) / 8 * 8;
  }

  std::array<int, 3> cells_;
  std::ptrdiff_t row_, plane_;
  bool swapped_;
  const double* inside_;
  double* work_;
};

}  // namespace

bool mixed_swaps_axes(std::int64_t stage) {
  return stage % 6 == 1;
}

std::size_t mixed_scratch(const TileLayout& layout) {
  return layout.chunk_values() + layout.plane_values() + 2 * kPadding;
}

PieceSet mixed_pieces(const BlockLayout& layout, std::int64_t stage, int chunk) {
  constexpr PieceSet kFaces = kOwnPiece | face_pieces(0) | face_pieces(1) | face_pieces(2);
  const int m = layout.variables / 4, behind = std::max(1, 4 * m), kind = static_cast<int>(stage % 6);
  if (m > 0 && kind == 5) return kAllPieces;
  const bool averages = chunk == 0 || (chunk + 1) * layout.lanes > behind;  // some of its variables
  if (averages || kind == 4) return kFaces;
  return kOwnPiece | (kind == 0 ? 0U : face_pieces(kind - 1));
}

void advance_mixed(const TileLayout& layout, const MixedConstants& constants, std::int64_t stage, bool swapped,
                   double* tile, double* scratch) {
  const auto row = static_cast<std::ptrdiff_t>(layout.row_values());
  double* const inside = scratch + layout.chunk_values() + kPadding;
  std::fill_n(inside, layout.plane_values() + kPadding, 0.0);
  for (int y = 0; y < layout.block.cells[1]; ++y) std::fill_n(inside + y * row, layout.block.cells[0], 1.0);
  detail::MixedBlock<PlaneWalk> block(PlaneWalk(layout, swapped, inside, scratch + layout.cell(0, 0, 0)), constants.a1,
                                      constants.a0.data(), static_cast<int>(constants.a0.size()),
                                      tile + layout.cell(0, 0, 0), static_cast<std::ptrdiff_t>(layout.chunk_values()),
                                      swapped ? row : 1, swapped ? 1 : row,
                                      static_cast<std::ptrdiff_t>(layout.plane_values()));
  for (int v = 0; v < layout.block.variables; ++v) block.advance(v, static_cast<int>(stage % 6));
}

}  // namespace amrbench::kernels
