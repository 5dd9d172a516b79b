#pragma once
// One stage of the advection scheme on one block.
//
//   in place of q:  q + dt L(q), or in the second stage 1/2 (q^n + (q + dt L(q)))        (SSPRK2, Shu and Osher 1988)
//
// L: at each face the value of the cell upwind, carried to the face by its limited slope (MUSCL, van Leer 1979), times
// the velocity. A cell's stencil is a cross of two cells each way. Where the level changes both sides compute the
// values at the fine faces from the same raw cells, and the coarse cell takes their mean: what one block loses the
// other gains, but for rounding. Results depend on the arguments alone.
//
// About 15 operations a cell and axis, 24 bytes a cell.
#include <array>
#include <cstddef>
#include <vector>

#include "amr/mesh.hpp"
#include "kernels/layout.hpp"

namespace amrbench::workloads::advection {

/// The value at a face of cell `at`, with `ahead` across the face and `behind` on the other side of the cell: the
/// central slope, at most twice the smaller one-sided one (van Leer's monotonized), 0 at an extremum.
[[nodiscard]] inline double face_value(double behind, double at, double ahead) {
  const double a = at - behind, b = ahead - at, central = 0.25 * (a + b);
  const double low = a < b ? a : b, high = a < b ? b : a;
  const double up = low < central ? low : central, down = high > central ? high : central;
  return at + ((up > 0.0 ? up : 0.0) + (down < 0.0 ? down : 0.0));
}

/// Two layers of raw cells behind a face, as amr::LayerHalo hands them out; at a side of the domain cells of the
/// block's own size.
struct Behind {
  const double* values = nullptr;
  amr::FaceKind kind = amr::FaceKind::boundary;
};

/// A block at work, with two cells behind each face; memory for one thread, about 3 (n + 4)^Dim values.
template <int Dim>
class Block {
 public:
  explicit Block(const kernels::BlockLayout& layout);

  /// Takes the block's values and what lies behind its faces; the latter must live as long as they are worked on.
  void load(const double* block, const std::array<Behind, 2 * Dim>& behind);
  /// Of the block that was loaded and of what lies behind its faces: the largest change between cells side by side.
  [[nodiscard]] double largest_change() const;
  /// One stage. `courant`: velocity times dt over a cell's extent, by axis, their absolute values at most 0.5 together;
  /// `old`: q^n in the second stage, else null; `out`: receives the new values, may be `old` or what was loaded.
  void advance(const std::array<double, Dim>& courant, const double* old, double* out);

 private:
  static constexpr int kGhosts = 2;
  static constexpr std::size_t kParts = std::size_t{1} << (Dim - 1);
  /// A coarse cell and the fine cells before it, two layers of each, the nearest to the face first.
  struct Jump {
    std::array<double, 2> coarse;
    std::array<std::array<double, kParts>, 2> fine;
  };
  /// Place of the first cell of a row in the tile.
  [[nodiscard]] std::ptrdiff_t row(int y, int z) const;
  /// Place of a cell by its place at a face: layer 0 lies inside, -1 behind the face.
  [[nodiscard]] std::ptrdiff_t place(int face, int layer, int a, int b) const;
  [[nodiscard]] Jump jump_at(int face, int a, int b) const;
  template <class Take>
  void for_jumps(int face, Take&& take) const;
  void fill_behind(int face);
  void find_values(int axis, bool forward);
  void mend_values(int face, bool forward);

  kernels::BlockLayout layout_;
  std::array<std::ptrdiff_t, 3> step_{};  ///< of the tile, from cell to cell along each axis
  std::array<Behind, 2 * Dim> behind_{};
  std::vector<double> tile_;
  std::vector<double> at_face_;  ///< like the tile: values at the lower faces of cells across one axis
  std::vector<double> next_;     ///< the block's new values
};

extern template class Block<2>;
extern template class Block<3>;

}  // namespace amrbench::workloads::advection
