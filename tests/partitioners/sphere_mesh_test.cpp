// Meshes of the sphere: the bisected icosahedron and the one with a cap refined.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "partitioners/inputs/point_input.hpp"
#include "partitioners/inputs/sphere_adaptive.hpp"
#include "partitioners/inputs/triangle_mesh.hpp"
#include "sanitized.hpp"
#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

/// Everything that a closed triangulation of the sphere is: Euler's formula, each edge once in either direction, all
/// triangles counterclockwise from outside, unit vectors, areas that cover the sphere once.
void expect_closed(const TriangleMesh& mesh) {
  std::set<std::pair<std::int32_t, std::int32_t>> directed;
  double solid_angle = 0;
  for (const auto& t : mesh.triangles) {
    Vector3 p[3];
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_TRUE(directed.insert({t[k], t[(k + 1) % 3]}).second) << t[k];
      p[k] = mesh.points[static_cast<std::size_t>(t[k])];
    }
    const double volume = dot(cross(p[0], p[1]), p[2]);
    EXPECT_GT(volume, 0);
    solid_angle += 2 * std::atan2(volume, 1 + dot(p[0], p[1]) + dot(p[1], p[2]) + dot(p[2], p[0]));
  }
  for (const auto& [a, b] : directed) EXPECT_TRUE(directed.contains({b, a})) << a << " " << b;
  EXPECT_EQ(mesh.points.size() + mesh.triangles.size(), directed.size() / 2 + 2);
  for (const Vector3& p : mesh.points) EXPECT_NEAR(dot(p, p), 1, 1e-14);
  EXPECT_NEAR(solid_angle, 16 * std::atan(1.0), 1e-9);
}

/// Rows ascend, have no loops, and hold each edge at both ends.
void expect_graph(const Graph& graph, std::size_t vertices) {
  ASSERT_EQ(graph.vertices(), vertices);
  for (std::size_t v = 0; v < vertices; ++v) {
    for (auto k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
      const std::int32_t w = graph.adjacent[static_cast<std::size_t>(k)];
      if (k > graph.offsets[v]) {
        ASSERT_LT(graph.adjacent[static_cast<std::size_t>(k) - 1], w);
      }
      ASSERT_NE(static_cast<std::size_t>(w), v);
      const auto begin = graph.adjacent.begin() + graph.offsets[static_cast<std::size_t>(w)];
      const auto end = graph.adjacent.begin() + graph.offsets[static_cast<std::size_t>(w) + 1];
      ASSERT_TRUE(std::binary_search(begin, end, static_cast<std::int32_t>(v)));
    }
  }
}

std::map<std::int64_t, std::size_t> degrees(const Graph& graph) {
  std::map<std::int64_t, std::size_t> count;
  for (std::size_t v = 0; v < graph.vertices(); ++v) ++count[graph.offsets[v + 1] - graph.offsets[v]];
  return count;
}

TEST(SphereMesh, IsTheBisectedIcosahedron) {
  for (int level = 0; level <= 5; ++level) {
    SCOPED_TRACE(level);
    const TriangleMesh mesh = sphere_mesh(level);
    ASSERT_EQ(mesh.points.size(), sphere_vertices(level));
    expect_closed(mesh);
    const Graph graph = triangle_graph(mesh);
    expect_graph(graph, mesh.points.size());
    std::map<std::int64_t, std::size_t> expected{{5, 12}};
    if (level > 0) expected[6] = mesh.points.size() - 12;
    EXPECT_EQ(degrees(graph), expected);
    for (std::size_t v = 0; v < 12; ++v) EXPECT_EQ(graph.offsets[v + 1] - graph.offsets[v], 5);
  }
}

TEST(SphereMesh, NumbersStayAndMiddlesFollowInTheOrderOfEdges) {
  const TriangleMesh coarse = sphere_mesh(2), fine = sphere_mesh(3);
  const Graph graph = triangle_graph(coarse);
  std::size_t next = coarse.points.size();
  for (std::size_t v = 0; v < coarse.points.size(); ++v) {
    EXPECT_EQ(fine.points[v], coarse.points[v]);
    for (auto k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
      const auto w = static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(k)]);
      if (w > v) {
        EXPECT_EQ(fine.points[next++], unit(coarse.points[v] + coarse.points[w]));
      }
    }
  }
  EXPECT_EQ(next, fine.points.size());
}

/// Known of this family of meshes: edges keep within a fifth of each other's length, triangles within 1 : 2 in area.
TEST(SphereMesh, NeighboursAreNearAndAreasAlike) {
  const TriangleMesh mesh = sphere_mesh(5);
  double shortest = 10, longest = 0, smallest = 10, largest = 0;
  for (const auto& t : mesh.triangles) {
    const Vector3& a = mesh.points[static_cast<std::size_t>(t[0])];
    const Vector3 ab = mesh.points[static_cast<std::size_t>(t[1])] - a;
    const Vector3 ac = mesh.points[static_cast<std::size_t>(t[2])] - a;
    const Vector3 normal = cross(ab, ac);
    shortest = std::min(shortest, std::sqrt(dot(ab, ab)));
    longest = std::max(longest, std::sqrt(dot(ab, ab)));
    smallest = std::min(smallest, std::sqrt(dot(normal, normal)));
    largest = std::max(largest, std::sqrt(dot(normal, normal)));
  }
  EXPECT_LT(longest, 1.2 * shortest);
  EXPECT_LT(largest, 2 * smallest);
}

TEST(SphereMesh, IsTheSameOnAnyNumberOfThreads) {
  const int splits = tests::cases(5, 4);
  for (const bool adaptive : {false, true}) {
    const TriangleMesh one = adaptive ? sphere_adaptive_mesh(splits, 1) : sphere_mesh(splits, 1);
    for (const int threads : {2, 3}) {
      const TriangleMesh some = adaptive ? sphere_adaptive_mesh(splits, threads) : sphere_mesh(splits, threads);
      EXPECT_EQ(one.points, some.points);
      EXPECT_EQ(one.triangles, some.triangles);
    }
  }
}

TEST(SphereAdaptive, IsDelaunaysAndGraded) {
  const TriangleMesh mesh = sphere_adaptive_mesh(4);
  ASSERT_EQ(mesh.points.size(), sphere_vertices(4));
  expect_closed(mesh);
  const Graph graph = triangle_graph(mesh);
  expect_graph(graph, mesh.points.size());
  // No vertex above the plane of any triangle: the triangulation is the hull, which is Delaunay's on a sphere. Circles
  // through four points may go either way by 1e-9 of the square of twice the area.
  for (const auto& t : mesh.triangles) {
    const Vector3& a = mesh.points[static_cast<std::size_t>(t[0])];
    const Vector3 out =
        cross(mesh.points[static_cast<std::size_t>(t[1])] - a, mesh.points[static_cast<std::size_t>(t[2])] - a);
    for (const Vector3& p : mesh.points) ASSERT_LE(dot(out, p - a), 1e-8 * dot(out, out) + 1e-15);
  }
  // Edges follow the spacing: four to one is aimed at, and so many moves come to more than three.
  double inside = 0, outside = 0;
  std::size_t edges_inside = 0, edges_outside = 0;
  for (std::size_t v = 0; v < graph.vertices(); ++v) {
    for (auto k = graph.offsets[v]; k < graph.offsets[v + 1]; ++k) {
      const Vector3 way =
          mesh.points[static_cast<std::size_t>(graph.adjacent[static_cast<std::size_t>(k)])] - mesh.points[v];
      const double length = std::sqrt(dot(way, way));
      if (adaptive_spacing(mesh.points[v]) == 0.25) {
        inside += length;
        ++edges_inside;
      } else if (adaptive_spacing(mesh.points[v]) == 1) {
        outside += length;
        ++edges_outside;
      }
    }
  }
  ASSERT_GT(edges_inside, 0U);
  ASSERT_GT(edges_outside, 0U);
  const double ratio = (outside / static_cast<double>(edges_outside)) / (inside / static_cast<double>(edges_inside));
  EXPECT_GT(ratio, 3);
  EXPECT_LT(ratio, 4.4);
}

TEST(SphereAdaptive, FlipsUndoABadTriangulation) {
  // Points of the bisected icosahedron pushed about by less than their distance, then joined as before.
  TriangleMesh mesh = sphere_mesh(3);
  for (std::size_t v = 0; v < mesh.points.size(); ++v) {
    Vector3& p = mesh.points[v];
    const double angle = 12.9898 * static_cast<double>(v);
    p = unit(p + 0.03 * cross(p, {std::sin(angle), std::cos(angle), std::sin(2 * angle)}));
  }
  EXPECT_GT(flip_to_delaunay(mesh), 0U);
  expect_closed(mesh);
  EXPECT_EQ(flip_to_delaunay(mesh), 0U);
  for (const auto& t : mesh.triangles) {
    const Vector3& a = mesh.points[static_cast<std::size_t>(t[0])];
    const Vector3 out =
        cross(mesh.points[static_cast<std::size_t>(t[1])] - a, mesh.points[static_cast<std::size_t>(t[2])] - a);
    for (const Vector3& p : mesh.points) ASSERT_LE(dot(out, p - a), 1e-8 * dot(out, out));
  }
}

TEST(SphereInput, HasPointsAndGraph) {
  for (const char* text : {"sphere:3", "sphere-adaptive:3"}) {
    const PointInput input = load_input(text);
    EXPECT_EQ(input.size, 642U);
    EXPECT_EQ(input.dim, 3);
    ASSERT_TRUE(input.graph);
    EXPECT_EQ(input.graph->edges(), 1920U);
  }
  EXPECT_EQ(parse_input("sphere:10").n, 10485762U);
  for (const char* text : {"sphere:11", "sphere:-1", "sphere:", "sphere:2:1", "sphere-adaptive:10", "sphere"})
    EXPECT_THROW(parse_input(text), support::InputError) << text;
  EXPECT_THROW(parse_input("sphere:2", 2), support::InputError);
  // MPAS's name for METIS's format.
  EXPECT_EQ(parse_input("file:x1.655362.graph.info").form, InputSpec::Form::graph);
}

}  // namespace
}  // namespace amrbench::partitioners
