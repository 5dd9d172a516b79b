#include "partitioners/inputs/triangle_mesh.hpp"

#include <algorithm>
#include <cmath>

#include "partitioners/threads.hpp"

namespace amrbench::partitioners {

namespace {

/// Numbers of the vertices that a bisection puts on edges.
class EdgeNumbers {
 public:
  explicit EdgeNumbers(const Graph& graph) : graph_(graph), first_(graph.vertices() + 1), above_(graph.vertices()) {
    auto next = static_cast<std::int64_t>(graph.vertices());
    for (std::size_t v = 0; v < graph.vertices(); ++v) {
      const auto begin = graph.adjacent.begin() + graph.offsets[v], end = graph.adjacent.begin() + graph.offsets[v + 1];
      above_[v] = std::upper_bound(begin, end, static_cast<std::int32_t>(v)) - graph.adjacent.begin();
      first_[v] = next;
      next += graph.offsets[v + 1] - above_[v];
    }
    first_.back() = next;
  }
  [[nodiscard]] std::int32_t between(std::int32_t a, std::int32_t b) const {
    const auto low = static_cast<std::size_t>(std::min(a, b));
    const auto begin = graph_.adjacent.begin() + above_[low];
    const auto at = std::find(begin, graph_.adjacent.begin() + graph_.offsets[low + 1], std::max(a, b));
    return static_cast<std::int32_t>(first_[low] + (at - begin));
  }
  [[nodiscard]] std::int64_t first(std::size_t vertex) const { return first_[vertex]; }
  [[nodiscard]] std::int64_t above(std::size_t vertex) const { return above_[vertex]; }

 private:
  const Graph& graph_;
  std::vector<std::int64_t> first_;  // number of the first vertex on an edge to a higher one
  std::vector<std::int64_t> above_;  // place of the first higher neighbour
};

}  // namespace

Vector3 unit(const Vector3& a) {
  const double length = std::sqrt(dot(a, a));
  return {a[0] / length, a[1] / length, a[2] / length};
}

TriangleMesh icosahedron() {
  const double root = std::sqrt(5.0);
  const double height = 1 / root, radius = 2 / root;
  // Cosines and sines of 0, 72, 144, 216 and 288 degrees.
  const double c1 = (root - 1) / 4, c2 = -(root + 1) / 4;
  const double s1 = std::sqrt(10 + 2 * root) / 4, s2 = std::sqrt(10 - 2 * root) / 4;
  const double cosine[] = {1, c1, c2, c2, c1}, sine[] = {0, s1, s2, -s2, -s1};
  TriangleMesh mesh;
  mesh.points.push_back({0, 0, 1});
  for (std::size_t k = 0; k < 5; ++k) mesh.points.push_back({radius * cosine[k], radius * sine[k], height});
  for (std::size_t k = 0; k < 5; ++k) {  // 36 degrees more: half a turn from the third one on
    const std::size_t opposite = (k + 3) % 5;
    mesh.points.push_back({-radius * cosine[opposite], -radius * sine[opposite], -height});
  }
  mesh.points.push_back({0, 0, -1});
  for (std::int32_t k = 0; k < 5; ++k) {
    const std::int32_t next = (k + 1) % 5;
    mesh.triangles.push_back({0, 1 + k, 1 + next});
    mesh.triangles.push_back({1 + k, 6 + k, 1 + next});
    mesh.triangles.push_back({6 + k, 6 + next, 1 + next});
    mesh.triangles.push_back({11, 6 + next, 6 + k});
  }
  return mesh;
}

Graph triangle_graph(const TriangleMesh& mesh, int threads) {
  const std::size_t n = mesh.points.size();
  Graph graph;
  graph.offsets.assign(n + 1, 0);
  // An edge stands in two triangles, once in either direction.
  for (const auto& t : mesh.triangles)
    for (const std::int32_t v : t) ++graph.offsets[static_cast<std::size_t>(v) + 1];
  for (std::size_t v = 0; v < n; ++v) graph.offsets[v + 1] += graph.offsets[v];
  graph.adjacent.resize(static_cast<std::size_t>(graph.offsets[n]));
  std::vector<std::int64_t> at(graph.offsets.begin(), graph.offsets.end() - 1);
  for (const auto& t : mesh.triangles)
    for (std::size_t k = 0; k < 3; ++k)
      graph.adjacent[static_cast<std::size_t>(at[static_cast<std::size_t>(t[k])]++)] = t[(k + 1) % 3];
#pragma omp parallel for schedule(static) num_threads(team_size(threads))
  for (std::size_t v = 0; v < n; ++v)
    std::sort(graph.adjacent.begin() + graph.offsets[v], graph.adjacent.begin() + graph.offsets[v + 1]);
  return graph;
}

TriangleMesh bisect(const TriangleMesh& mesh, int threads) {
  const Graph graph = triangle_graph(mesh, threads);
  const EdgeNumbers edges(graph);
  const std::size_t n = mesh.points.size();
  TriangleMesh fine;
  fine.points = mesh.points;
  fine.points.resize(n + graph.edges());
  fine.triangles.resize(4 * mesh.triangles.size());
  const int team = team_size(threads);
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::size_t v = 0; v < n; ++v) {
    auto number = static_cast<std::size_t>(edges.first(v));
    for (std::int64_t k = edges.above(v); k < graph.offsets[v + 1]; ++k)
      fine.points[number++] =
          unit(mesh.points[v] + mesh.points[static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(k)])]);
  }
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const auto [a, b, c] = mesh.triangles[t];
    const std::int32_t ab = edges.between(a, b), bc = edges.between(b, c), ca = edges.between(c, a);
    fine.triangles[4 * t] = {a, ab, ca};
    fine.triangles[4 * t + 1] = {b, bc, ab};
    fine.triangles[4 * t + 2] = {c, ca, bc};
    fine.triangles[4 * t + 3] = {ab, bc, ca};
  }
  return fine;
}

TriangleMesh sphere_mesh(int level, int threads) {
  TriangleMesh mesh = icosahedron();
  for (int k = 0; k < level; ++k) mesh = bisect(mesh, threads);
  return mesh;
}

}  // namespace amrbench::partitioners
