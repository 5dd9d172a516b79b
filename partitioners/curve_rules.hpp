#pragma once
// The rules of Hilbert's curve and GenSFC at one node of a kd-tree (traversal.hpp says what they mean).
//
// Corners and cells are bits, bit d set at the upper side of axis d. Within a group of cells Hilbert's rule walks a
// Gray code: with travel axis a and the other axes b (and c), cells are left across b, a, b (2-D) or b, c, b, a, b, c,
// b (3-D), so that the last one lies opposite the entry along a. Each cell's state leads its exit to the face it is
// left through.
#include <array>
#include <cstdint>
#include <span>

#include "partitioners/kd_tree.hpp"
#include "partitioners/traversal.hpp"

namespace amrbench::partitioners {

/// A node's children by look-ahead: 2, 4 or 8 cells which stand in a row (breadth-first storage).
template <class Index>
struct Resolution {
  int cells;
  std::array<int, 3> axis;  ///< of the splits, outermost first
  Index first;

  /// The cell at the side of each axis that `bits` say.
  [[nodiscard]] Index cell(unsigned bits) const {
    unsigned at = bits >> axis[0] & 1U;
    if (cells >= 4) at = 2 * at + (bits >> axis[1] & 1U);
    if (cells == 8) at = 2 * at + (bits >> axis[2] & 1U);
    return first + static_cast<Index>(at);
  }
};

template <class Index>
Resolution<Index> resolve(std::span<const KdNode<Index>> nodes, Index at, int dim) {
  const auto& node = nodes[at];
  const auto& lower = nodes[node.child];
  const auto& upper = nodes[node.child + 1];
  Resolution<Index> r{2, {static_cast<int>(node.axis), 0, 0}, node.child};
  if (lower.leaf() || upper.leaf() || lower.axis != upper.axis || lower.axis == node.axis) return r;
  r = {4, {r.axis[0], static_cast<int>(lower.axis), 0}, lower.child};
  if (dim == 2) return r;
  const auto* grand = &nodes[lower.child];
  const auto third = static_cast<std::uint32_t>(3 - r.axis[0] - r.axis[1]);
  for (int i = 0; i < 4; ++i) {
    if (grand[i].leaf() || grand[i].axis != third) return r;
  }
  return {8, {r.axis[0], r.axis[1], static_cast<int>(third)}, grand[0].child};
}

/// Receives the cells of a node in curve order.
template <class Index>
struct CurveCells {
  std::array<CurveState<Index>, 8> state;
  int count = 0;

  void add(Index node, unsigned entry, int travel) {
    state[static_cast<std::size_t>(count++)] = {node, static_cast<std::uint8_t>(entry),
                                                static_cast<std::uint8_t>(travel)};
  }
};

namespace rules {

constexpr unsigned bit(int axis) {
  return 1U << axis;
}

/// Hilbert's rule over 8 cells. Quarters follow the tree's splits where the travel axis leaves a choice.
template <class Index>
void hilbert3(const CurveState<Index>& s, const Resolution<Index>& r, CurveCells<Index>& out) {
  const unsigned e = s.entry;
  const int a = s.travel;
  const int c = a == r.axis[0] ? r.axis[1] : r.axis[0];
  const int b = 3 - a - c;
  const unsigned A = bit(a), B = bit(b), C = bit(c);
  out.add(r.cell(e), e, b);
  out.add(r.cell(e ^ B), e, c);
  out.add(r.cell(e ^ B ^ C), e, c);
  out.add(r.cell(e ^ C), e ^ C ^ B, a);
  out.add(r.cell(e ^ C ^ A), e ^ C ^ B, a);
  out.add(r.cell(e ^ C ^ A ^ B), e ^ C ^ A, c);
  out.add(r.cell(e ^ A ^ B), e ^ A ^ C, c);
  out.add(r.cell(e ^ A), e ^ A ^ B, b);
}

/// Hilbert's rule over 4 cells in the plane of their splits, one of which is along the travel axis.
template <class Index>
void hilbert2(const CurveState<Index>& s, const Resolution<Index>& r, CurveCells<Index>& out) {
  const unsigned e = s.entry;
  const int a = s.travel;
  const int b = a == r.axis[0] ? r.axis[1] : r.axis[0];
  const unsigned A = bit(a), B = bit(b);
  out.add(r.cell(e), e, b);
  out.add(r.cell(e ^ B), e, a);
  out.add(r.cell(e ^ B ^ A), e, a);
  out.add(r.cell(e ^ A), e ^ A ^ B, b);
}

/// 4 cells in a plane perpendicular to the travel axis: Hilbert's walk in the plane, along which the third cell crosses
/// to the far side.
template <class Index>
void hilbert2_across(const CurveState<Index>& s, const Resolution<Index>& r, CurveCells<Index>& out) {
  const unsigned e = s.entry;
  const int a = r.axis[0], b = r.axis[1];
  const unsigned A = bit(a), B = bit(b), T = bit(s.travel);
  out.add(r.cell(e), e, b);
  out.add(r.cell(e ^ B), e, a);
  out.add(r.cell(e ^ B ^ A), e, s.travel);
  out.add(r.cell(e ^ A), e ^ T ^ B, b);
}

/// Two cells. Trans (split along the travel axis): straight through both. Cis: along the split axis through the first
/// cell, which is the one at the entry, then along the travel axis.
template <class Index>
void cis_trans(const CurveState<Index>& s, const Resolution<Index>& r, CurveCells<Index>& out) {
  const int d = r.axis[0];
  out.add(r.cell(s.entry), s.entry, d);
  out.add(r.cell(s.entry ^ bit(d)), s.entry, s.travel);
}

/// Where Hilbert's curve has no rule: nearest child first, states inherited.
template <class Index>
void nearest_first(const CurveState<Index>& s, const Resolution<Index>& r, CurveCells<Index>& out) {
  out.add(r.cell(s.entry), s.entry, s.travel);
  out.add(r.cell(s.entry ^ bit(r.axis[0])), s.entry, s.travel);
}

}  // namespace rules

/// GenSFC's cells of an inner node, in curve order.
template <class Index>
void gensfc_cells(std::span<const KdNode<Index>> nodes, int dim, const CurveState<Index>& s, CurveCells<Index>& out) {
  const auto r = resolve(nodes, s.node, dim);
  if (r.cells == 8) return rules::hilbert3(s, r, out);
  if (r.cells == 2) return rules::cis_trans(s, r, out);
  if (s.travel == r.axis[0] || s.travel == r.axis[1]) return rules::hilbert2(s, r, out);
  rules::hilbert2_across(s, r, out);
}

/// Hilbert's cells of an inner node, in curve order.
template <class Index>
void hilbert_cells(std::span<const KdNode<Index>> nodes, int dim, const CurveState<Index>& s, CurveCells<Index>& out) {
  auto r = resolve(nodes, s.node, dim);
  if (r.cells == 8) return rules::hilbert3(s, r, out);
  if (r.cells == 4 && dim == 2) return rules::hilbert2(s, r, out);
  r.first = nodes[s.node].child;
  r.cells = 2;
  rules::nearest_first(s, r, out);
}

}  // namespace amrbench::partitioners
