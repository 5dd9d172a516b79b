#include "workloads/shallow_water/unrest.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/shallow_water/boundary.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// A cell as planes of values `stride` apart.
struct CellRef {
  const double* values;
  std::size_t stride;
  [[nodiscard]] double operator[](int v) const { return values[std::size_t(v) * stride]; }
};

class Finder {
 public:
  Finder(double gravity, double dry_depth) : gravity_(gravity), dry_depth_(dry_depth) {}

  void look(CellRef a) { (a[swe::kDepth] > dry_depth_ ? wet_ : dry_) = true; }
  void compare(CellRef a, CellRef b) {
    const double deepest = std::max(a[swe::kDepth], b[swe::kDepth]);
    if (!(std::min(a[swe::kDepth], b[swe::kDepth]) > dry_depth_)) return;
    const double flow = std::max(std::abs(a[swe::kDischargeX] - b[swe::kDischargeX]),
                                 std::abs(a[swe::kDischargeY] - b[swe::kDischargeY]));
    const double surface = std::abs((a[swe::kDepth] + a[swe::kBed]) - (b[swe::kDepth] + b[swe::kBed]));
    change_ = std::max({change_, surface, flow / std::sqrt(gravity_ * deepest)});
  }
  [[nodiscard]] Unrest result() const { return {change_, wet_ && dry_}; }

 private:
  double gravity_, dry_depth_;
  double change_ = 0.0;
  bool wet_ = false, dry_ = false;
};

}  // namespace

Unrest find_unrest(const Problem& problem, double dry_depth, const amr::Mesh<2>& mesh, std::int32_t i,
                   const double* block, const StripSet& around) {
  const int n = problem.cells();
  const std::size_t plane = std::size_t(n) * std::size_t(n);
  Finder finder(problem.physics().gravity, dry_depth);
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      const std::size_t at = std::size_t(y) * std::size_t(n) + std::size_t(x);
      const CellRef cell{block + at, plane};
      finder.look(cell);
      if (x + 1 < n) finder.compare(cell, {block + at + 1, plane});
      if (y + 1 < n) finder.compare(cell, {block + at + n, plane});
    }
  }
  for (int face = 0; face < 4; ++face) {
    if (mesh.links(i).kind[std::size_t(face)] == amr::FaceKind::boundary) continue;
    const swe::Strip<double>& strip = around.strips[std::size_t(face)];
    const int along = swe::strip_cells(strip.kind, n);
    const std::size_t stride = 2 * std::size_t(along);
    for (int m = 0; m < along; ++m) {
      const CellRef near{strip.values + m, stride}, far{strip.values + along + m, stride};
      const CellRef inside{block + swe::cell_at_face(n, face, 0, m * n / along), plane};
      finder.look(near);
      finder.look(far);
      finder.compare(inside, near);
      finder.compare(near, far);
      // Beside each other along the face.
      if (m + 1 < along) finder.compare(near, {strip.values + m + 1, stride});
    }
  }
  return finder.result();
}

}  // namespace amrbench::workloads::shallow_water
