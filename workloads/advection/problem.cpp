#include "workloads/advection/problem.hpp"

#include <cmath>

namespace amrbench::workloads::advection {

template <int Dim>
Problem<Dim>::Problem(const amr::Config& config, const AdvectionConfig& advection)
    : layout_(
          kernels::make_layout({config.mesh.block[0], config.mesh.block[1], Dim == 3 ? config.mesh.block[2] : 1}, 1)),
      root_(config.mesh.root),
      periodic_(config.mesh.periodic),
      width_(advection.width) {
  for (std::size_t d = 0; d < Dim; ++d) velocity_[d] = advection.velocity[d];
}

template <int Dim>
typename Problem<Dim>::Point Problem<Dim>::cell_size(int level) const {
  Point size{};
  for (std::size_t d = 0; d < Dim; ++d)
    size[d] = 1.0 / static_cast<double>((std::int64_t{root_[d]} << level) * layout_.cells[d]);
  return size;
}

template <int Dim>
double Problem<Dim>::exact(const Point& at, double time) const {
  constexpr double kStart = 0.35;
  double square = 0.0;
  for (std::size_t d = 0; d < Dim; ++d) {
    double way = at[d] - kStart - velocity_[d] * time;
    if (periodic_[d]) way -= std::floor(way + 0.5);
    const double away = way / width_;
    square += away * away;
  }
  if (square >= 1.0) return 0.0;
  const double rest = (1.0 - square) * (1.0 - square);
  return rest * rest;
}

template <int Dim>
typename Problem<Dim>::Point Problem<Dim>::centre(const amr::Mesh<Dim>& mesh, std::int32_t i,
                                                  const std::array<int, 3>& cell) const {
  Point at = cell_size(mesh.level(i));
  for (std::size_t d = 0; d < Dim; ++d)
    at[d] *= static_cast<double>(std::int64_t{mesh.coord(i)[d]} * layout_.cells[d] + cell[d]) + 0.5;
  return at;
}

template <int Dim>
void Problem<Dim>::fill(const amr::Mesh<Dim>& mesh, std::int32_t i, double time, double* block) const {
  for (int z = 0; z < layout_.cells[2]; ++z) {
    for (int y = 0; y < layout_.cells[1]; ++y) {
      for (int x = 0; x < layout_.cells[0]; ++x) *block++ = exact(centre(mesh, i, {x, y, z}), time);
    }
  }
}

template <int Dim>
void Problem<Dim>::fill_behind(const amr::Mesh<Dim>& mesh, std::int32_t i, int face, double time,
                               double* layers) const {
  const auto axis = static_cast<std::size_t>(face / 2);
  const auto axis_a = static_cast<std::size_t>(layout_.face_axis_a(face / 2));
  const auto axis_b = static_cast<std::size_t>(layout_.face_axis_b(face / 2));
  std::array<int, 3> cell{};
  for (int layer = 0; layer < 2; ++layer) {
    cell[axis] = face % 2 == 0 ? -1 - layer : layout_.cells[axis] + layer;
    for (cell[axis_b] = 0; cell[axis_b] < layout_.cells[axis_b]; ++cell[axis_b])
      for (cell[axis_a] = 0; cell[axis_a] < layout_.cells[axis_a]; ++cell[axis_a])
        *layers++ = exact(centre(mesh, i, cell), time);
  }
}

template class Problem<2>;
template class Problem<3>;

}  // namespace amrbench::workloads::advection
