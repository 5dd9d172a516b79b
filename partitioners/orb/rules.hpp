#pragma once
// What orthogonal recursive bisection (ORB) decides, and by which rules: every method, on CPU, GPU or several ranks,
// uses the functions below, so that all give the same tree and the same labels, bit for bit.
//
// 1. Order. Along an axis points are ordered by their coordinate on it, then by the other coordinates in ascending
//    order of axes, then by index (number in the input, over all ranks). No two points are equal, so coincident points
//    split. Zeros of both signs are equal.
// 2. Leaf counts. A cell that serves d > 1 leaves gives its left child left_leaves(d), the right one the rest. So the
//    tree is complete but for its last level, which fills from the left: node i of a heap (root 1) has the children 2i
//    and 2i + 1, and the nodes are 1 .. 2d - 1. Leaves are numbered from left to right, 0 .. d - 1.
// 3. Box. The root's box is the domain that the caller names, or the smallest box around all points; a cut divides a
//    cell's box at its plane. This is the seed's cell, not the smallest box around a cell's own points: the latter
//    needs a pass over all points before each level, and an outlier changes the shape of every cell above it.
// 4. Axis. A cell is cut across the longest side of its box. Sides within a relative `side_tolerance` of the longest
//    count as equally long, the first axis of them is taken. Why not 0: cuts of cubes that differ by noise make sides
//    that differ by noise, so without it the axes, and with them all parts below, flip when a point moves; and a method
//    that cuts several levels in one pass must know axes before cuts are exact. 0 is allowed everywhere, only slower.
//    Why 0.14: where sides differ by just the tolerance, noise decides. On the clustered inputs of orb_tolerance_bench
//    few points lie in such cells with this one, and in no input many. With 1/16, for one, many do where half of the
//    points lie in a corner's cube of edge 1/16: its cells have sides that differ by nearly as much.
// 5. Cut. Of a cell's n points the first k in order go left. No weights: k = floor(n dl / d). Weights: the k whose left
//    weight is nearest to W dl / d, the smaller weight of two equally near, with dl <= k <= n - dr, so that no leaf can
//    be empty while there are at least as many points as leaves; where points of weight zero make several k equal, the
//    one nearest to floor(n dl / d). Weights are integers (weights.hpp), so their sums are exact in any order.
// 6. Plane. Half-way between the last point of the left and the first of the right (cut_between).
//
// Source: document 000, sections 3.3-3.6 (equations 1-7, algorithms 1-3, the example of 3.4) and 5.3; rules 1, 4's
// tolerance and 5's ties are ours, where the document leaves them open.
#include <array>
#include <cstdint>

#include "sfc/host_device.hpp"

namespace amrbench::partitioners {

/// Most points, over all ranks: a point's number has 32 bits.
constexpr std::uint64_t kOrbMaxPoints = std::uint64_t{1} << 32;
/// Sides this near to the longest, relative to it, count as equally long, unless asked otherwise.
constexpr double kOrbSideTolerance = 0.14;

/// A point with its number in the input.
template <class T, int Dim>
struct OrbPoint {
  T x[Dim];
  std::uint32_t id;
};

/// The point of these coordinates.
template <class T, int Dim>
AMRBENCH_HD inline OrbPoint<T, Dim> point_at(const T* x, std::uint32_t id) {
  OrbPoint<T, Dim> p;
  for (int a = 0; a < Dim; ++a) p.x[a] = x[a];
  p.id = id;
  return p;
}

/// Rule 1: does p stand before q along `axis`?
template <class T, int Dim>
AMRBENCH_HD inline bool orb_before(const OrbPoint<T, Dim>& p, const OrbPoint<T, Dim>& q, int axis) {
  if (p.x[axis] != q.x[axis]) return p.x[axis] < q.x[axis];
  for (int a = 0; a < Dim; ++a)
    if (p.x[a] != q.x[a]) return p.x[a] < q.x[a];
  return p.id < q.id;
}

/// Levels below the root of a tree with d >= 1 leaves: ceil(log2 d).
AMRBENCH_HD constexpr int orb_depth(std::uint32_t d) {
  int depth = 0;
  while ((std::uint64_t{1} << depth) < d) ++depth;
  return depth;
}

/// Rule 2, the document's equation 4: leaves of the left child of a cell with d > 1 leaves.
AMRBENCH_HD constexpr std::uint32_t left_leaves(std::uint32_t d) {
  const int depth = orb_depth(d);
  if (depth == 1) return 1;
  const std::uint32_t most = std::uint32_t{1} << (depth - 1);
  const std::uint32_t grown = d - most / 2;
  return grown < most ? grown : most;
}

/// Rule 5 without weights: points that go left of n, of d leaves dl left. n < 2^32, exact.
AMRBENCH_HD constexpr std::uint64_t unit_target(std::uint64_t n, std::uint32_t dl, std::uint32_t d) {
  return n / d * dl + n % d * dl / d;
}

/// A cell's box; lower <= upper on every axis.
template <class T, int Dim>
struct OrbBox {
  std::array<T, Dim> lower{};
  std::array<T, Dim> upper{};
};

/// Rule 4. Halves are compared, so that no side overflows.
template <class T, int Dim>
AMRBENCH_HD inline int cut_axis(const OrbBox<T, Dim>& box, double side_tolerance) {
  double half[Dim] = {};
  double longest = 0;
  for (int a = 0; a < Dim; ++a) {
    half[a] = 0.5 * static_cast<double>(box.upper[a]) - 0.5 * static_cast<double>(box.lower[a]);
    longest = longest < half[a] ? half[a] : longest;
  }
  const double least = longest * (1.0 - side_tolerance);
  int axis = 0;
  while (half[axis] < least) ++axis;
  return axis;
}

/// Rule 6: the plane between the last left coordinate and the first right one; never outside them.
template <class T>
AMRBENCH_HD inline T cut_between(T left, T right) {
  const T middle = T(0.5) * left + T(0.5) * right;
  return (middle < left ? left : right < middle ? right : middle) + T(0);  // + 0: no negative zero
}

}  // namespace amrbench::partitioners
