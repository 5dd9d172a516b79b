#pragma once
// A bump that a constant velocity carries through the unit square or cube, on the mesh.
//
//   q_t + div(a q) = 0,     q(x, t) = (1 - (|x - c - a t| / w)^2)^4 within w of the bump's middle, else 0
//
// c = (0.35, 0.35, 0.35). Only + - * /: the same bits on every machine.
#include <array>
#include <cstdint>

#include "amr/config.hpp"
#include "amr/halo_shape.hpp"
#include "amr/mesh.hpp"
#include "kernels/layout.hpp"
#include "workloads/advection/config.hpp"

namespace amrbench::workloads::advection {

/// What travels across a face.
inline constexpr amr::HaloShape kHalo{1, 2};

/// Immutable; may be asked by several threads.
template <int Dim>
class Problem {
 public:
  using Point = std::array<double, Dim>;

  Problem(const amr::Config& config, const AdvectionConfig& advection);

  /// Of the blocks: one variable, the tracer, [z][y][x].
  [[nodiscard]] const kernels::BlockLayout& layout() const { return layout_; }
  [[nodiscard]] const Point& velocity() const { return velocity_; }
  /// Extents of a cell of a level; those of the next one are exactly half of them.
  [[nodiscard]] Point cell_size(int level) const;

  /// q at a point and a time.
  /// Where the domain closes on itself, of the bump's nearest image.
  [[nodiscard]] double exact(const Point& at, double time) const;
  /// The middle of a cell of block i, which may lie outside of it.
  [[nodiscard]] Point centre(const amr::Mesh<Dim>& mesh, std::int32_t i, const std::array<int, 3>& cell) const;
  /// q of all cells of block i, at their middles.
  void fill(const amr::Mesh<Dim>& mesh, std::int32_t i, double time, double* block) const;
  /// q of the two layers of cells behind a face at a side of the domain, as amr::LayerHalo hands out layers.
  void fill_behind(const amr::Mesh<Dim>& mesh, std::int32_t i, int face, double time, double* layers) const;

 private:
  kernels::BlockLayout layout_;
  std::array<int, 3> root_;
  std::array<bool, 3> periodic_;
  Point velocity_{};
  double width_;
};

extern template class Problem<2>;
extern template class Problem<3>;

}  // namespace amrbench::workloads::advection
