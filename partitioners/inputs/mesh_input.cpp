#include "partitioners/inputs/mesh_input.hpp"

#include <fmt/format.h>

#include "partitioners/inputs/delaunay.hpp"
#include "partitioners/inputs/generated_points.hpp"
#include "partitioners/inputs/point_input.hpp"
#include "partitioners/inputs/sphere_adaptive.hpp"
#include "partitioners/inputs/tetgen_file.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {

namespace {

MeshInput sphere_input(const TriangleMesh& mesh, int threads) {
  MeshInput input;
  input.points.reserve(3 * mesh.points.size());
  for (const Vector3& p : mesh.points) input.points.insert(input.points.end(), p.begin(), p.end());
  input.graph = triangle_graph(mesh, threads);
  return input;
}

MeshInput tetra_input(const InputSpec& spec) {
  const std::vector<LatticePoint> points = tetra_points(spec.n, spec.seed);
  const TetraMesh mesh = delaunay(points);
  if (mesh.elements.empty())
    throw support::InputError(
        fmt::format("--input {}: its {} points lie in a plane; take more", spec.text, points.size()));
  MeshInput input;
  input.points.reserve(3 * mesh.elements.size());
  for (const auto& element : mesh.elements)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::int64_t sum = 0;
      for (const std::int32_t v : element) sum += points[static_cast<std::size_t>(v)][axis];
      input.points.push_back(static_cast<double>(sum) / (4.0 * kLatticeEnd));
    }
  input.graph = face_graph(mesh.neighbours);
  return input;
}

}  // namespace

std::vector<LatticePoint> tetra_points(std::uint64_t n, std::uint64_t seed) {
  std::vector<double> cube(3 * n);
  make_points<double>(PointKind::uniform, 3, seed, 0, cube);
  std::vector<LatticePoint> points(n);
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::size_t axis = 0; axis < 3; ++axis)
      points[i][axis] = static_cast<std::int32_t>(cube[3 * i + axis] * kLatticeEnd);
  return points;
}

double mesh_bytes(const InputSpec& spec) {
  using Form = InputSpec::Form;
  const auto n = static_cast<double>(spec.n);
  // Points, two triangles and six neighbours a vertex, and the mesh before; moves hold fans, centres and targets too.
  if (spec.form == Form::sphere) return n * 200;
  if (spec.form == Form::sphere_adaptive) return n * 350;
  // Seven elements a point of 36 bytes each while they grow, then their points and rows.
  return spec.form == Form::tetrahedra ? n * (7 * 36 + 7 * 80) : 0;
}

MeshInput load_mesh(const InputSpec& spec, int threads) {
  switch (spec.form) {
    case InputSpec::Form::sphere:
      return sphere_input(sphere_mesh(spec.level, threads), threads);
    case InputSpec::Form::sphere_adaptive:
      return sphere_input(sphere_adaptive_mesh(spec.level, threads), threads);
    case InputSpec::Form::tetrahedra:
      return tetra_input(spec);
    default:
      return read_tetgen(spec.path);
  }
}

}  // namespace amrbench::partitioners
