#pragma once
// Delaunay tetrahedra of points in space, by insertion, with exact arithmetic.
//
// Coordinates are whole numbers below 2^20, so that every orientation fits into 64 bits and every test of a
// circumsphere into 128: nothing rounds. Points go in by rounds that double, each along Morton's curve; a point's
// tetrahedron is found by a walk from the last one, those whose circumsphere holds it are taken out, and it is joined
// to the hole's faces. Beyond the hull stand tetrahedra with a vertex at infinity. Where five points share a sphere any
// of the possible triangulations may come out, the same one on every machine. Source: document 001, section 4.4.2
// (meshes by Tetgen); A. Bowyer, D. F. Watson, Computer Journal 24 (1981); N. Amenta, S. Choi, G. Rote, SoCG 2003
// (rounds).
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

inline constexpr std::int32_t kLatticeEnd = 1 << 20;
using LatticePoint = std::array<std::int32_t, 3>;  ///< each from 0 to kLatticeEnd - 1

/// Elements by their four vertices, and across their faces.
struct TetraMesh {
  std::vector<std::array<std::int32_t, 4>> elements;    ///< vertices; positive orientation()
  std::vector<std::array<std::int32_t, 4>> neighbours;  ///< across the face opposite to each vertex; -1: the hull
};

/// > 0 where d lies on the side of the plane through a, b, c from which they go clockwise; 0 on it. Six times the
/// volume. Exact.
std::int64_t orientation(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c, const LatticePoint& d);

/// Whether e lies inside the sphere around a, b, c, d, which are of positive orientation(). Exact; false on the sphere.
bool in_circumsphere(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c, const LatticePoint& d,
                     const LatticePoint& e);

/// The tetrahedra of `points`; a point that stands where an earlier one does is left out. No elements where all lie in
/// a plane. About O(n log n) for points without order; serial; about 330 bytes a point.
TetraMesh delaunay(std::span<const LatticePoint> points);

/// Elements that share a face.
Graph face_graph(std::span<const std::array<std::int32_t, 4>> neighbours);

}  // namespace amrbench::partitioners
