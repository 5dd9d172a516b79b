#include "kernels/mixed.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "kernels/average.hpp"

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

/// p[0][c] + p[1][c] + ... in this order, written out so that a row is computed in vectors.
template <std::size_t... Q>
inline double sum_at(const std::array<const double*, 27>& p, std::ptrdiff_t c, std::index_sequence<Q...>) {
  double sum = p[0][c];
  ((sum += p[Q + 1][c]), ...);
  return sum;
}

/// One block's stage. A cell is an offset from the value of cell (0, 0, 0); cells are always walked in ascending order
/// of z, y, x, which gives each cell what miniAMR's order (x outermost) gives it: a dependency along one axis only sees
/// the order along that axis.
class MixedBlock {
 public:
  MixedBlock(const TileLayout& layout, const MixedConstants& constants, double* tile, double* scratch)
      : l_(layout),
        a1_(constants.a1),
        a0_(constants.a0.data()),
        m_(static_cast<int>(constants.a0.size())),
        row_(static_cast<std::ptrdiff_t>(layout.row_values())),
        plane_(static_cast<std::ptrdiff_t>(layout.plane_values())),
        tile_(tile + layout.cell(0, 0, 0)),
        work_(scratch) {}

  void advance(int v, int kind);

 private:
  [[nodiscard]] double* var(int v) const { return tile_ + v * l_.chunk_values(); }
  /// The variable at v's place in the group `distance` groups on, cyclically.
  [[nodiscard]] const double* partner(int v, int distance) const { return var((v / m_ + distance) % 4 * m_ + v % m_); }

  /// f(c) for every cell; Free: cells of a row do not depend on each other, so they may be computed together.
  template <bool Free, class F>
  void each_cell(F f) const {
    for (int z = 0; z < l_.block.cells[2]; ++z) {
      for (int y = 0; y < l_.block.cells[1]; ++y) {
        const std::ptrdiff_t first = z * plane_ + y * row_, last = first + l_.block.cells[0];
        if constexpr (Free) {
#pragma omp simd
          for (std::ptrdiff_t c = first; c < last; ++c) f(c);
        } else {
          for (std::ptrdiff_t c = first; c < last; ++c) f(c);
        }
      }
    }
  }
  /// u(c) = f(c) for all cells, every f from the values before.
  template <class F>
  void replace(double* u, F f) const {
    double* const w = work_;
    each_cell<true>([=](std::ptrdiff_t c) { w[c] = f(c); });
    each_cell<true>([=](std::ptrdiff_t c) { u[c] = w[c]; });
  }

  void average(int v) const;
  void react(int v) const;
  template <int Axis>
  void transport(int v) const;
  template <int Axis>
  void limit(double* u, const double* driver, double coefficient, const double* first, const double* second) const;
  void couple7(int v) const;
  void couple27(int v) const;
  void bring_into_range(double* u) const;

  const TileLayout& l_;
  double a1_;
  const double* a0_;
  int m_;
  std::ptrdiff_t row_, plane_;
  double* tile_;
  double* work_;  ///< chunk_values() doubles, indexed like a variable from cell (0, 0, 0)
};

void MixedBlock::average(int v) const {
  double* const u = var(v);
  const std::ptrdiff_t dy = row_, dz = plane_;
  replace(u, [=](std::ptrdiff_t c) {
    return average7<double>(u[c - 1], u[c - dy], u[c - dz], u[c], u[c + dz], u[c + dy], u[c + 1]);
  });
}

void MixedBlock::react(int v) const {
  double* const u = var(v);
  const double *const p0 = var(0), *const p1 = var(1);
  const double a1 = a1_;
  if (v == 1) {
    for (int k = m_; k < 2 * m_; ++k) {
      const double* const q = var(k);
      each_cell<true>([=](std::ptrdiff_t c) { u[c] += q[c] * p0[c]; });
    }
    return;
  }
  const double a0 = a0_[v % m_];
  switch (v / m_) {
    case 0:
      each_cell<true>([=](std::ptrdiff_t c) { u[c] += u[c] * (p0[c] + p1[c] - a1 * u[c]); });
      break;
    case 1: {
      const double *const q = partner(v, 1), *const r = partner(v, 2);
      each_cell<true>([=](std::ptrdiff_t c) { u[c] = u[c] * (p0[c] + u[c] + a1 * q[c] + (1.0 - a1) * r[c]) / p1[c]; });
      break;
    }
    case 2: {
      const double *const q = partner(v, 3), *const r = partner(v, 1);
      each_cell<true>([=](std::ptrdiff_t c) { u[c] += q[c] * (a1 * p0[c] + a0 * u[c] + (1.0 - a1) * r[c]) / p1[c]; });
      break;
    }
    default: {
      const double *const q = partner(v, 2), *const r = partner(v, 3);
      each_cell<true>([=](std::ptrdiff_t c) {
        u[c] += q[c] * (a1 * p0[c] + a0 * u[c] + (1.0 - a0) * r[c] + (1.0 - a1) * q[c]) / (p1[c] * p1[c]);
      });
    }
  }
}

/// The new value weighs the cells before and behind by the driver's slopes towards them; the denominator holds the
/// three cells and two more variables. Group 1 adds those two last, the others first: one order each.
template <int Axis>
void MixedBlock::limit(double* u, const double* driver, double coefficient, const double* first,
                       const double* second) const {
  const std::ptrdiff_t d = Axis == 0 ? 1 : Axis == 1 ? row_ : plane_;
  const double* const p1 = var(1);
  const double a = a1_ + coefficient;
  const bool last = driver == u;
  const auto numerator = [=](std::ptrdiff_t c) {
    const double before = std::abs(driver[c] - driver[c - d]), behind = std::abs(driver[c] - driver[c + d]);
    return before * u[c - d] + std::abs(before - behind) * (u[c] + p1[c]) + behind * u[c + d];
  };
  if (last) {
    each_cell<Axis != 0>(
        [=](std::ptrdiff_t c) { u[c] = numerator(c) / (a + u[c - d] + u[c] + u[c + d] + first[c] + second[c]); });
  } else {
    each_cell<Axis != 0>(
        [=](std::ptrdiff_t c) { u[c] = numerator(c) / (a + first[c] + second[c] + u[c - d] + u[c] + u[c + d]); });
  }
}

template <int Axis>
void MixedBlock::transport(int v) const {
  double* const u = var(v);
  const double *const p0 = var(0), *const p1 = var(1);
  const double a1 = a1_, a0 = a0_[v % m_];
  if (v == 1) {
    for (int k = 2; k < m_ + 2; ++k) {
      const double* const q = var(k);
      each_cell<true>([=](std::ptrdiff_t c) { u[c] += q[c] * p0[c]; });
    }
    each_cell<true>([=](std::ptrdiff_t c) { u[c] /= a1 + u[c]; });
    return;
  }
  switch (v / m_) {
    case 0:
      each_cell<true>([=](std::ptrdiff_t c) { u[c] += u[c] * (p0[c] + p1[c] - a1 * u[c]) / (a0 + p1[c]); });
      break;
    case 1:
      limit<Axis>(u, u, a0, p0, p1);
      break;
    case 2:
      limit<Axis>(u, partner(v, 3), a0, partner(v, 3), partner(v, 1));
      break;
    default:
      limit<Axis>(u, partner(v, 2), a0, partner(v, 3), partner(v, 2));
  }
}

void MixedBlock::couple7(int v) const {
  double* const u = var(v);
  const double *const px = partner(v, 1), *const py = partner(v, 2), *const pz = partner(v, 3);
  const std::ptrdiff_t dy = row_, dz = plane_;
  const double a1 = a1_;
  replace(u, [=](std::ptrdiff_t c) {
    return (u[c - 1] * px[c - 1] + u[c - dy] * py[c - dy] + u[c - dz] * pz[c - dz] + u[c] * u[c] +
            u[c + dz] * pz[c + dz] + u[c + dy] * py[c + dy] + u[c + 1] * px[c + 1]) /
           7.0 * (a1 + u[c]);
  });
}

void MixedBlock::couple27(int v) const {
  double* const u = var(v);
  // By the number of axes along which a cell differs from the centre: itself, faces, edges, corners.
  const std::array<const double*, 4> from{u, partner(v, 1), partner(v, 2), partner(v, 3)};
  std::array<const double*, 27> p{};
  std::size_t k = 0;
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        const int away = std::abs(x) + std::abs(y) + std::abs(z);
        p[k++] = from[static_cast<std::size_t>(away)] + x + y * row_ + z * plane_;
      }
    }
  }
  const double divisor = a1_ + 27.0;
  replace(u, [=](std::ptrdiff_t c) { return sum_at(p, c, std::make_index_sequence<26>{}) / divisor; });
}

void MixedBlock::bring_into_range(double* u) const {
  const double high = a1_ + a0_[0], low = 10.0 - a1_;
  each_cell<true>([=](std::ptrdiff_t c) {
    const double x = std::abs(u[c]);
    const double reduced = x / (high + x), raised = x * low;
    u[c] = x >= 1.0 ? reduced : x < 0.1 ? raised : x;
  });
}

void MixedBlock::advance(int v, int kind) {
  if (v == 0 || v >= 4 * m_) return average(v);
  switch (kind) {
    case 0:
      react(v);
      break;
    case 1:
      transport<0>(v);
      break;
    case 2:
      transport<1>(v);
      break;
    case 3:
      transport<2>(v);
      break;
    case 4:
      couple7(v);
      break;
    default:
      couple27(v);
  }
  bring_into_range(var(v));
}

}  // namespace

std::size_t mixed_scratch(const TileLayout& layout) {
  return layout.chunk_values();
}

void advance_mixed(const TileLayout& layout, const MixedConstants& constants, std::int64_t stage, double* tile,
                   double* scratch) {
  MixedBlock block(layout, constants, tile, scratch);
  for (int v = 0; v < layout.block.variables; ++v) block.advance(v, static_cast<int>(stage % 6));
}

}  // namespace amrbench::kernels
