#pragma once
// A sphere's mesh with a cap refined: a spherical centroidal Voronoi tessellation of graded density, as MPAS has them.
//
// The cap lies around longitude 0, latitude 45 degrees and is 60 degrees across. Inside it points are to be four times
// as dense along a line as far from it (so many moves come to more than three times); between 30 and 50 degrees from
// its middle the spacing changes smoothly. Points begin as the icosahedron. Each level bisects all edges
// (triangle_mesh.hpp), moves every point to the centroid, under a density of spacing^-4, of its Voronoi cell (Lloyd)
// some times, and makes the triangulation Delaunay's again by flips of edges after each move. Numbers are those of the
// bisections. Level k has 10 * 4^k + 2 vertices, of degree 6 but for some of 5 and 7 and rarely others. Source:
// document 001, section 3.2.4; Q. Du, V. Faber, M. Gunzburger, SIAM Review 41 (1999); T. Ringler et al., Ocean Dynamics
// 58 (2008) for the density; C. L. Lawson, 1977, for the flips.
#include "partitioners/inputs/triangle_mesh.hpp"

namespace amrbench::partitioners {

inline constexpr int kFinestAdaptive = 9;

/// 0 <= level <= kFinestAdaptive. The result does not depend on `threads`. O(n) a move; the finest level moves 10
/// times.
TriangleMesh sphere_adaptive_mesh(int level, int threads = 0);

/// The spacing that is aimed at around a unit vector, relative to that far from the cap: 1/4 to 1.
double adaptive_spacing(const Vector3& at);

/// Flips edges until no vertex lies inside the circle around a neighbouring triangle. All triangles must be
/// counterclockwise. Returns the number of flips. Serial.
std::size_t flip_to_delaunay(TriangleMesh& mesh);

/// Every point moved to the centroid of its Voronoi cell under the density; by a shorter step where a triangle would
/// turn over. The mesh must be Delaunay's. Returns the longest move.
double lloyd_move(TriangleMesh& mesh, int threads = 0);

}  // namespace amrbench::partitioners
