#pragma once
// Building an OrbTree: used by every method, so that boxes, ranges and leaf numbers follow from cuts in one way only.
#include <algorithm>
#include <cstdint>
#include <string>

#include "partitioners/orb/orb.hpp"
#include "partitioners/orb/weight_search.hpp"

namespace amrbench::partitioners {

/// A tree of uncut cells: leaf counts and numbers by rule 2; the root has `box`, all `count` points and `weight`.
/// leaves >= 1. tree: an old one whose memory is to be used again, for its pages have been touched. O(leaves).
template <class T, int Dim>
OrbTree<T, Dim> make_orb_tree(std::uint32_t leaves, const OrbBox<T, Dim>& box, std::uint64_t count,
                              std::uint64_t weight, double weight_unit, OrbTree<T, Dim> tree = {}) {
  tree.leaves = leaves;
  tree.weight_unit = weight_unit;
  tree.cells.assign(2 * std::size_t{leaves}, {});
  tree.leaf_cell.resize(leaves);
  OrbCell<T, Dim>& root = tree.cells[1];
  root.box = box;
  root.leaves = leaves;
  root.count = count;
  root.weight = weight;
  for (std::size_t i = 1; i < tree.cells.size(); ++i) {
    const OrbCell<T, Dim>& cell = tree.cells[i];
    if (cell.leaves == 1) {
      tree.leaf_cell[cell.first_leaf] = static_cast<std::uint32_t>(i);
      continue;
    }
    const std::uint32_t left = left_leaves(cell.leaves);
    tree.cells[2 * i].leaves = left;
    tree.cells[2 * i].first_leaf = cell.first_leaf;
    tree.cells[2 * i + 1].leaves = cell.leaves - left;
    tree.cells[2 * i + 1].first_leaf = cell.first_leaf + left;
  }
  return tree;
}

/// weighted: by weight, where the cell has any.
template <class T, int Dim>
OrbGoal goal_of(const OrbTree<T, Dim>& tree, std::size_t i, bool weighted) {
  const OrbCell<T, Dim>& cell = tree.cells[i];
  return {cell.count, cell.leaves, left_leaves(cell.leaves), weighted ? cell.weight : 0};
}

/// Cuts cell i: `left` points of weight `weight_left` go left of plane `cut`.
template <class T, int Dim>
void cut_cell(OrbTree<T, Dim>& tree, std::size_t i, int axis, T cut, std::uint64_t left, std::uint64_t weight_left) {
  OrbCell<T, Dim>& cell = tree.cells[i];
  OrbCell<T, Dim>& a = tree.cells[2 * i];
  OrbCell<T, Dim>& b = tree.cells[2 * i + 1];
  cell.axis = axis;
  cell.cut = cut;
  a.box = b.box = cell.box;
  a.box.upper[static_cast<std::size_t>(axis)] = b.box.lower[static_cast<std::size_t>(axis)] = cut;
  a.begin = cell.begin;
  a.count = left;
  a.weight = weight_left;
  b.begin = cell.begin + left;
  b.count = cell.count - left;
  b.weight = cell.weight - weight_left;
}

/// What a method gets: checked input and a tree whose root is filled in.
template <class T, int Dim>
struct OrbInput {
  const T* coordinates = nullptr;
  std::uint64_t count = 0;
  const std::uint64_t* weights = nullptr;  ///< units; nullptr: every point weighs 1
  OrbOptions options;                      ///< threads > 0
  /// orb_multiway() only: points in ascending order of ids, instead of coordinates; weights go by these ids.
  const OrbPoint<T, Dim>* items = nullptr;
  OrbPoint<T, Dim>* placed = nullptr;  ///< orb_multiway() only: room for all points, by leaf; nullptr: not wanted

  [[nodiscard]] bool weighted() const { return weights != nullptr; }
  [[nodiscard]] OrbPoint<T, Dim> point(std::uint64_t i) const {
    return point_at<T, Dim>(coordinates + i * Dim, static_cast<std::uint32_t>(i));
  }
  /// Weight of point `id`.
  [[nodiscard]] std::uint64_t weight(std::uint32_t id) const { return weights ? weights[id] : 1; }
};

/// Refuses, by support::InputError, leaves that n points cannot have, too many points, and a side tolerance that is
/// none; wrong_weights: what is to be said of their number, empty where that is right.
void check_orb_options(const OrbOptions& options, std::uint64_t n, const std::string& wrong_weights);

/// Smallest box around n > 0 points. support::InputError with the index (from `first`) of the first point that has a
/// coordinate which is NaN or infinite. Threads; the result does not depend on them.
template <class T, int Dim>
OrbBox<T, Dim> checked_bounding_box(const T* coordinates, std::uint64_t n, std::uint64_t first, int threads);

namespace detail {

/// Exactly n elements; memory that suffices is kept, for its pages have been touched.
template <class V>
void fit(support::PageBuffer<V>& buffer, std::size_t n) {
  buffer.grow(n);
  buffer.truncate(n);
}

}  // namespace detail

/// A point to its final place.
template <class T, int Dim>
void place_point(const OrbInput<T, Dim>& input, std::uint64_t at, const OrbPoint<T, Dim>& p,
                 OrbResult<T, Dim>& result) {
  if (input.placed) input.placed[at] = p;
  if (input.options.permutation) result.permutation[at] = p.id;
  if (input.options.points) std::copy_n(p.x, Dim, result.points.data() + at * Dim);
}

/// Labels and places of points that stand by leaf. threads: at least 1.
template <class T, int Dim>
void write_leaves(const OrbInput<T, Dim>& input, const OrbPoint<T, Dim>* points, int threads,
                  OrbResult<T, Dim>& result) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 8)
  for (std::size_t leaf = 0; leaf < result.tree.leaf_cell.size(); ++leaf) {
    const OrbCell<T, Dim>& cell = result.tree.cells[result.tree.leaf_cell[leaf]];
    for (std::uint64_t i = cell.begin; i < cell.begin + cell.count; ++i) {
      if (input.options.labels) result.labels[points[i].id] = cell.first_leaf;
      place_point(input, i, points[i], result);
    }
  }
}

// The methods but `sort`. Each fills tree, labels, permutation, points and levels of `result`, whose tree is made and
// whose buffers have their sizes.
template <class T, int Dim>
void orb_by_bisection(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result);
template <class T, int Dim>
void orb_multiway(const OrbInput<T, Dim>& input, OrbResult<T, Dim>& result);

}  // namespace amrbench::partitioners
