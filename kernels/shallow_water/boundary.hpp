#pragma once
// Boundary conditions: strips of kind `same` filled from the block's own cells. Periodic ones are the mesh's.
#include <cstddef>

#include "kernels/shallow_water/block.hpp"

namespace amrbench::kernels::shallow_water {

enum class BoundaryKind : int {
  wall,    ///< mirror: no mass passes, to the bit
  open,    ///< copy of the outermost cell: waves leave
  inflow,  ///< value = discharge per metre along the inward normal [m^2/s]; depth from inside, at least the critical
           ///< one
  level,   ///< value = height of the water outside [m]; discharge from inside
};

template <class Real>
struct Boundary {
  BoundaryKind kind = BoundaryKind::wall;
  Real value = Real(0);
};

/// (q^2 / g)^(1/3): the depth at which a discharge q flows as fast as its waves.
template <class Real>
[[nodiscard]] AMRBENCH_HD inline Real critical_depth(Real q, Real gravity) {
  const Real cube = (q * q) / gravity;
  const Real root = inverse_cube_root(larger(cube, Real(1e-30)));
  return cube * (root * root);
}

/// The place of cell `m` along face `face` (-x +x -y +y) in a plane of n x n cells, `layer` cells inside.
[[nodiscard]] AMRBENCH_HD inline std::size_t cell_at_face(int n, int face, int layer, int m) {
  const int across = face % 2 == 0 ? layer : n - 1 - layer;
  return face < 2 ? std::size_t(m) * n + across : std::size_t(across) * n + m;
}

/// The cell in `layer` behind cell `m` of a face: its five values. Stored: of the block's values.
template <class Real, class Stored>
AMRBENCH_HD inline void boundary_value(const Boundary<Real>& boundary, int n, int face, const Physics<Real>& physics,
                                       const Stored* block, int m, int layer, Real (&value)[kVariables]) {
  const std::size_t plane = std::size_t(n) * n;
  const int normal = face < 2 ? kDischargeX : kDischargeY;
  const int transverse = face < 2 ? kDischargeY : kDischargeX;
  // A mirror shows the second cell second; all other conditions repeat the first.
  const std::size_t from = cell_at_face(n, face, boundary.kind == BoundaryKind::wall ? layer : 0, m);
  for (int v = 0; v < kVariables; ++v) value[v] = static_cast<Real>(block[v * plane + from]);
  if (boundary.kind == BoundaryKind::wall) {
    value[normal] = -value[normal];
  } else if (boundary.kind == BoundaryKind::inflow) {
    value[kDepth] = larger(value[kDepth], critical_depth(boundary.value, physics.gravity));
    value[normal] = face % 2 == 0 ? boundary.value : -boundary.value;
    value[transverse] = Real(0);
  } else if (boundary.kind == BoundaryKind::level) {
    value[kDepth] = larger(boundary.value - value[kBed], Real(0));
  }
}

/// Fills the two layers behind one cell of a face; `strip` as in Strip, [5][2][n].
template <class Real, class Stored>
AMRBENCH_HD inline void fill_boundary_cell(const Boundary<Real>& boundary, int n, int face,
                                           const Physics<Real>& physics, const Stored* block, int m, Stored* strip) {
  for (int layer = 0; layer < 2; ++layer) {
    Real value[kVariables];
    boundary_value(boundary, n, face, physics, block, m, layer, value);
    for (int v = 0; v < kVariables; ++v) strip[(std::size_t(v) * 2 + layer) * n + m] = value[v];
  }
}

/// The whole strip of a face of the block `block` of n x n cells.
template <class Real, class Stored>
inline void fill_boundary(const Boundary<Real>& boundary, int n, int face, const Physics<Real>& physics,
                          const Stored* block, Stored* strip) {
  for (int m = 0; m < n; ++m) fill_boundary_cell(boundary, n, face, physics, block, m, strip);
}

/// Copies the two layers of a block that a neighbour of the same size behind it sees through the block's face `face`
/// into `strip` at cell `offset` of `along` cells (a strip of two fine blocks has 2n, the second one's begin at n).
template <class Real>
inline void copy_layers(int n, int face, const Real* block, int offset, int along, Real* strip) {
  const std::size_t plane = std::size_t(n) * n;
  for (int v = 0; v < kVariables; ++v)
    for (int layer = 0; layer < 2; ++layer)
      for (int m = 0; m < n; ++m)
        strip[(std::size_t(v) * 2 + layer) * along + offset + m] = block[v * plane + cell_at_face(n, face, layer, m)];
}

}  // namespace amrbench::kernels::shallow_water
