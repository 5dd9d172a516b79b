#pragma once
// Sums of all variables over a stage's cells, fused into the stencil, exact and free of order.
//
// A kernel adds up the raw bit patterns of support/fixed_point_sum.hpp (the arithmetic and its proof stand there),
// vector by vector; which variable a vector's element belongs to follows from the row's pattern of lanes. Integer sums
// do not depend on their order, so any cut of the mesh into ranks, threads and blocks gives the same total.
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/layout.hpp"
#include "kernels/simd.hpp"
#include "support/fixed_point_sum.hpp"

namespace amrbench::kernels {

/// One vector's worth of raw sums; 64 bytes each whatever the vector length in use.
struct alignas(64) RawSum {
  std::array<std::uint64_t, kMaxLanes> hi{}, lo{}, flags{};
};

/// The two magic numbers a kernel adds; one scale serves all variables of a run.
struct SumMagic {
  double hi = 0.0;
  double lo = 0.0;
};

/// Sums of one thread. A kernel run over a block adds to raw(chunk)[0 .. patterns) and then calls add_cells; flush
/// moves the raw sums into totals before 2^15 cells could overflow them.
class StageSum {
 public:
  static constexpr std::size_t kMaxCells = std::size_t(1) << 15;  ///< cells between two flushes

  StageSum(const BlockLayout& layout, int vector_length, int patterns, const support::FixedPointScale& scale);

  /// Makes room for `cells` more cells; call before a block's kernel.
  void reserve(std::size_t cells) {
    if (cells_ + cells > kMaxCells) flush();
    cells_ += cells;
  }
  [[nodiscard]] RawSum* raw(int chunk) { return raw_.data() + std::size_t(chunk) * patterns_; }
  [[nodiscard]] const SumMagic& magic() const { return magic_; }
  /// Moves raw sums into the totals.
  void flush();
  /// Totals by variable (padding lanes left out); flushes.
  [[nodiscard]] const std::vector<support::FixedPointSum>& totals() {
    flush();
    return totals_;
  }

 private:
  BlockLayout layout_;
  int vector_length_;
  int patterns_;
  std::size_t cells_ = 0;
  SumMagic magic_;
  std::vector<RawSum> raw_;
  std::vector<support::FixedPointSum> totals_;
};

}  // namespace amrbench::kernels
