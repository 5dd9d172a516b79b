#pragma once
// Closed triangulations of the unit sphere, and the graph of their edges.
//
// The icosahedron stands on a vertex: 0 is the north pole, 1 .. 5 lie at latitude atan(1/2) and longitudes 0, 72, ...
// degrees, 6 .. 10 at the opposite latitude and 36, 108, ... degrees, 11 is the south pole. A bisection keeps all
// vertices and their numbers and appends the middle of each edge, edges in the order of (lower, higher vertex). So
// level k has 10 * 4^k + 2 vertices, those of level k - 1 first, of degree 6 but for the first twelve, whose degree
// is 5. Nothing but +, -, *, / and square roots is used: the same numbers on every machine. Source: document 001,
// section 3.2.1.2 (meshes of MPAS); J. R. Baumgardner, P. O. Frederickson, SIAM J. Numer. Anal. 22 (1985).
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

using Vector3 = std::array<double, 3>;

struct TriangleMesh {
  std::vector<Vector3> points;                         ///< unit vectors
  std::vector<std::array<std::int32_t, 3>> triangles;  ///< counterclockwise from outside
};

inline constexpr int kFinestSphere = 10;  ///< 10,485,762 vertices

/// Vertices of an icosahedron that is bisected `level` times. 0 <= level <= kFinestSphere.
constexpr std::uint64_t sphere_vertices(int level) {
  return (std::uint64_t{10} << (2 * level)) + 2;
}

TriangleMesh icosahedron();

/// Each triangle in four, new vertices in the middle of edges, pushed out to the sphere. Any closed triangulation.
/// O(n); the result does not depend on `threads` (0: all that OpenMP offers).
TriangleMesh bisect(const TriangleMesh& mesh, int threads = 0);

/// The icosahedron bisected `level` times.
TriangleMesh sphere_mesh(int level, int threads = 0);

/// Vertices that an edge joins. The mesh must be closed: every edge in two triangles, once in either direction.
Graph triangle_graph(const TriangleMesh& mesh, int threads = 0);

inline Vector3 operator+(const Vector3& a, const Vector3& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
inline Vector3 operator-(const Vector3& a, const Vector3& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline Vector3 operator*(double s, const Vector3& a) {
  return {s * a[0], s * a[1], s * a[2]};
}
inline double dot(const Vector3& a, const Vector3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
/// a must not be 0.
Vector3 unit(const Vector3& a);

}  // namespace amrbench::partitioners
