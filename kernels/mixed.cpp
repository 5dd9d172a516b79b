#include "kernels/mixed.hpp"

#include <array>

#include "kernels/mixed_block.hpp"

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

/// Cells row by row on one thread; rows whose cells do not depend on each other become vectors.
class RowWalk {
 public:
  /// scratch: a variable's values, indexed like one from cell (0, 0, 0).
  RowWalk(const TileLayout& layout, double* scratch)
      : cells_(layout.block.cells),
        row_(static_cast<std::ptrdiff_t>(layout.row_values())),
        plane_(static_cast<std::ptrdiff_t>(layout.plane_values())),
        work_(scratch) {}

  template <class F>
  void each_cell(F f) const {
    walk<true>(f);
  }
  template <int Axis, class F>
  void each_line(F f) const {
    walk<Axis != 0>(f);
  }
  template <class F>
  void replace(double* u, F f) const {
    double* const w = work_;
    walk<true>([=](std::ptrdiff_t c) { w[c] = f(c); });
    walk<true>([=](std::ptrdiff_t c) { u[c] = w[c]; });
  }

 private:
  /// Free: the cells of a row may be computed together.
  template <bool Free, class F>
  void walk(F f) const {
    for (int z = 0; z < cells_[2]; ++z) {
      for (int y = 0; y < cells_[1]; ++y) {
        const std::ptrdiff_t first = z * plane_ + y * row_, last = first + cells_[0];
        if constexpr (Free) {
#pragma omp simd
          for (std::ptrdiff_t c = first; c < last; ++c) f(c);
        } else {
          for (std::ptrdiff_t c = first; c < last; ++c) f(c);
        }
      }
    }
  }

  std::array<int, 3> cells_;
  std::ptrdiff_t row_, plane_;
  double* work_;
};

}  // namespace

std::size_t mixed_scratch(const TileLayout& layout) {
  return layout.chunk_values();
}

void advance_mixed(const TileLayout& layout, const MixedConstants& constants, std::int64_t stage, double* tile,
                   double* scratch) {
  detail::MixedBlock<RowWalk> block(
      RowWalk(layout, scratch), constants.a1, constants.a0.data(), static_cast<int>(constants.a0.size()),
      tile + layout.cell(0, 0, 0), static_cast<std::ptrdiff_t>(layout.chunk_values()),
      static_cast<std::ptrdiff_t>(layout.row_values()), static_cast<std::ptrdiff_t>(layout.plane_values()));
  for (int v = 0; v < layout.block.variables; ++v) block.advance(v, static_cast<int>(stage % 6));
}

}  // namespace amrbench::kernels
