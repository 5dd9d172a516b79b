#pragma once
// One stage of the shallow-water scheme on one block.
//
//   in place of U:  U + dt L(U), or in the second stage 1/2 (U^n + (U + dt L(U)))        (SSPRK2, Shu and Osher 1988)
//
// L: slopes of w = h + z, h, u, v normal to each face (cell.hpp), fluxes of face.hpp, friction backward Euler in every
// stage. A cell's stencil is a cross of two cells each way. Second order in space and, friction apart, in time.
// Stable up to dt max((|u| + c) / dx) = 0.5, the maximum over cells and both directions; 0.45 leaves room for what
// grows within a step. Depths stay at or above 0 for any dt.
//
// Depth changes through face fluxes alone. Results depend on nothing but the arguments: neither on threads nor on
// vector length, and both sides of a face find the same flux (at a change of level: if dx of the levels differ by
// exactly 2).
//
// A cell and stage cost about 3 divisions, 6 square roots and 300 other operations (monotonized slopes), and 64 bytes.
#include <array>
#include <cstddef>
#include <vector>

#include "kernels/shallow_water/face.hpp"

namespace amrbench::kernels::shallow_water {

/// What lies behind a face of a block.
enum class StripKind : int {
  same,    ///< cells of the block's size: n of them along the face; boundary conditions too
  coarse,  ///< cells twice as large: n/2
  fine,    ///< cells half as large: 2n, two blocks beside each other
};

/// Raw values of the two layers of cells behind a face: [variable][layer][cell along the face], layer 0 the nearest.
/// The neighbour's roughness is not read.
template <class Real>
struct Strip {
  const Real* values = nullptr;
  StripKind kind = StripKind::same;
  /// Where water comes in through a side (inflow.hpp): discharges [n], and fluxes [4][n] which those above 0 go with.
  const Real* inflow = nullptr;
};

/// Cells along the face in a strip of a block of n x n cells, and the values in it.
[[nodiscard]] inline int strip_cells(StripKind kind, int n) {
  return kind == StripKind::same ? n : kind == StripKind::coarse ? n / 2 : 2 * n;
}
[[nodiscard]] inline std::size_t strip_values(StripKind kind, int n) {
  return std::size_t(kVariables) * 2 * std::size_t(strip_cells(kind, n));
}

/// n x n cells (n even, 4 .. 64) of dx x dy metres.
template <class Real>
struct BlockShape {
  int cells = 16;
  Real dx = Real(1), dy = Real(1);
  [[nodiscard]] std::size_t plane() const { return std::size_t(cells) * std::size_t(cells); }
  [[nodiscard]] std::size_t values() const { return plane() * kVariables; }
};

/// What a stage found in its new state.
template <class Real>
struct StepResult {
  /// Water that waits behind a side of the domain is not in it: a dry domain with inflow needs a bound of its own.
  Real fastest = Real(0);         ///< largest of (|u| + c) / dx and (|v| + c) / dy [1/s]; 0 where all is dry
  Real smallest_depth = Real(0);  ///< [m]
  Real largest_depth = Real(0);   ///< [m]
  bool wet = false;               ///< some cell is deeper than dry_depth
};

/// Memory for one thread, for blocks of up to `cells` cells a side: about
/// 5 (n + 4)^2 + 108 (n + 4) values.
template <class Real>
class Scratch {
 public:
  explicit Scratch(int cells);
  [[nodiscard]] Real* data() { return memory_.data(); }
  [[nodiscard]] int cells() const { return cells_; }

 private:
  int cells_;
  std::vector<Real> memory_;
};

/// One stage of length dt > 0. `in`: the block's five planes, depths >= 0; `strips`: behind faces -x +x -y +y; `old`:
/// U^n in the second stage, else null; `out`: receives the planes h, hu, hv, may be `old` or `in`. `scratch` for at
/// least shape.cells. Nothing is checked.
template <class Real>
StepResult<Real> advance_block(const BlockShape<Real>& shape, const Physics<Real>& physics, const Real* in,
                               const std::array<Strip<Real>, 4>& strips, const Real* old, Real dt, Real* out,
                               Scratch<Real>& scratch);

/// The same figures of a state as it is, for the first time step.
template <class Real>
StepResult<Real> measure_block(const BlockShape<Real>& shape, const Physics<Real>& physics, const Real* in);

}  // namespace amrbench::kernels::shallow_water
