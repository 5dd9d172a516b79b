#pragma once
// miniAMR's mixed work on one block, variable by variable, on a CPU (kernels/mixed/mixed.hpp says what).
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/mixed/mixed_cell.hpp"

namespace amrbench::kernels::detail {

/// p[0][c] + p[1][c] + ... in this order, written out so that a row is computed in vectors.
template <std::size_t... Q>
inline double sum_at(const std::array<const double*, 27>& p, std::ptrdiff_t c, std::index_sequence<Q...>) {
  double sum = p[0][c];
  ((sum += p[Q + 1][c]), ...);
  return sum;
}

/// One block's stage. A cell is an offset from the value of cell (0, 0, 0). `Walk` says how cells are walked:
///   each_cell(u, f)        u(c) = f(c) for every cell, in any order; f reads that cell only
///   each_line<Axis>(u, f)  u(c) = f(c) for every cell, ascending along Axis
///   replace(u, f)          u(c) = f(c) for every cell, every f from the values before
///   replace(u, f, range)   the same, brought into range
///   into_range(u, range)   u(c) brought into range, for every cell
/// One after the other, each sees what the one before wrote. Ascending order along an axis gives each cell what
/// miniAMR's order (x outermost) gives it: a dependency along one axis only sees the order along that axis.
template <class Walk>
class MixedBlock {
 public:
  /// `tile`: cell (0, 0, 0) of variable 0; chunk, dx, dy, dz: steps in doubles; a0: m values.
  MixedBlock(const Walk& walk, double a1, const double* a0, int m, double* tile, std::ptrdiff_t chunk,
             std::ptrdiff_t dx, std::ptrdiff_t dy, std::ptrdiff_t dz)
      : walk_(walk), a1_(a1), a0_(a0), m_(m), chunk_(chunk), dx_(dx), dy_(dy), dz_(dz), tile_(tile) {}

  /// Variable v in a stage of kind stage % 6.
  void advance(int v, int kind);

 private:
  [[nodiscard]] double* var(int v) const { return tile_ + v * chunk_; }
  /// The variable at v's place in the group `distance` groups on, cyclically.
  [[nodiscard]] const double* partner(int v, int distance) const { return var((v / m_ + distance) % 4 * m_ + v % m_); }
  template <int Axis>
  [[nodiscard]] std::ptrdiff_t step() const {
    return Axis == 0 ? dx_ : Axis == 1 ? dy_ : dz_;
  }

  void average(int v) const;
  void react(int v) const;
  template <int Axis>
  void transport(int v) const;
  template <int Axis>
  void limit(double* u, const double* driver, double coefficient, const double* first, const double* second) const;
  void couple7(int v) const;
  void couple27(int v) const;
  [[nodiscard]] Range range() const { return {a1_, a0_[0]}; }

  Walk walk_;
  double a1_;
  const double* a0_;
  int m_;
  std::ptrdiff_t chunk_, dx_, dy_, dz_;
  double* tile_;
};

template <class Walk>
void MixedBlock<Walk>::average(int v) const {
  double* const u = var(v);
  const std::ptrdiff_t dx = dx_, dy = dy_, dz = dz_;
  walk_.replace(u, [=](std::ptrdiff_t c) {
    return average7<double>(u[c - dx], u[c - dy], u[c - dz], u[c], u[c + dz], u[c + dy], u[c + dx]);
  });
}

template <class Walk>
void MixedBlock<Walk>::react(int v) const {
  double* const u = var(v);
  const double *const p0 = var(0), *const p1 = var(1);
  const double a1 = a1_;
  const auto range = this->range();
  if (v == 1) {
    for (int k = m_; k < 2 * m_; ++k) {
      const double* const q = var(k);
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return u[c] + q[c] * p0[c]; });
    }
    walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(u[c]); });
    return;
  }
  const double a0 = a0_[v % m_];
  switch (v / m_) {
    case 0:
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(reaction0(u[c], p0[c], p1[c], a1)); });
      break;
    case 1: {
      const double *const q = partner(v, 1), *const r = partner(v, 2);
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(reaction1(u[c], p0[c], p1[c], q[c], r[c], a1)); });
      break;
    }
    case 2: {
      const double *const q = partner(v, 3), *const r = partner(v, 1);
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(reaction2(u[c], p0[c], p1[c], q[c], r[c], a1, a0)); });
      break;
    }
    default: {
      const double *const q = partner(v, 2), *const r = partner(v, 3);
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(reaction3(u[c], p0[c], p1[c], q[c], r[c], a1, a0)); });
    }
  }
}

template <class Walk>
template <int Axis>
void MixedBlock<Walk>::limit(double* u, const double* driver, double coefficient, const double* first,
                             const double* second) const {
  const std::ptrdiff_t d = step<Axis>();
  const double* const p1 = var(1);
  const double a = a1_ + coefficient;
  const bool last = driver == u;
  const auto triple = [d](const double* w, std::ptrdiff_t c) { return Triple{w[c - d], w[c], w[c + d]}; };
  if (last) {
    walk_.template each_line<Axis>(u, [=](std::ptrdiff_t c) {
      const Triple w = triple(u, c);
      return limited(w, w, p1[c]) / weight1(w, a, first[c], second[c]);
    });
  } else {
    walk_.template each_line<Axis>(u, [=](std::ptrdiff_t c) {
      const Triple w = triple(u, c);
      return limited(w, triple(driver, c), p1[c]) / weight23(w, a, first[c], second[c]);
    });
  }
  walk_.into_range(u, range());
}

template <class Walk>
template <int Axis>
void MixedBlock<Walk>::transport(int v) const {
  double* const u = var(v);
  const double *const p0 = var(0), *const p1 = var(1);
  const double a1 = a1_, a0 = a0_[v % m_];
  const auto range = this->range();
  if (v == 1) {
    for (int k = 2; k < m_ + 2; ++k) {
      const double* const q = var(k);
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return u[c] + q[c] * p0[c]; });
    }
    walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(u[c] / (a1 + u[c])); });
    return;
  }
  switch (v / m_) {
    case 0:
      walk_.each_cell(u, [=](std::ptrdiff_t c) { return range(transport0(u[c], p0[c], p1[c], a1, a0)); });
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

template <class Walk>
void MixedBlock<Walk>::couple7(int v) const {
  double* const u = var(v);
  const double *const px = partner(v, 1), *const py = partner(v, 2), *const pz = partner(v, 3);
  const std::ptrdiff_t dx = dx_, dy = dy_, dz = dz_;
  const double a1 = a1_;
  walk_.replace(
      u,
      [=](std::ptrdiff_t c) {
        return seventh(u[c - dx] * px[c - dx] + u[c - dy] * py[c - dy] + u[c - dz] * pz[c - dz] + u[c] * u[c] +
                       u[c + dz] * pz[c + dz] + u[c + dy] * py[c + dy] + u[c + dx] * px[c + dx]) *
               (a1 + u[c]);
      },
      range());
}

template <class Walk>
void MixedBlock<Walk>::couple27(int v) const {
  double* const u = var(v);
  // By the number of axes along which a cell differs from the centre: itself, faces, edges, corners.
  const std::array<const double*, 4> from{u, partner(v, 1), partner(v, 2), partner(v, 3)};
  std::array<const double*, 27> p{};
  std::size_t k = 0;
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        const int away = x * x + y * y + z * z;
        p[k++] = from[static_cast<std::size_t>(away)] + x * dx_ + y * dy_ + z * dz_;
      }
    }
  }
  const Divisor divisor(a1_ + 27.0);
  walk_.replace(
      u, [=](std::ptrdiff_t c) { return divisor.divide(sum_at(p, c, std::make_index_sequence<26>{})); }, range());
}

template <class Walk>
void MixedBlock<Walk>::advance(int v, int kind) {
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
}

}  // namespace amrbench::kernels::detail
