#pragma once
// Orthogonal recursive bisection on CPU threads: points and weights in; tree, the leaf of each point, and the points
// grouped by leaf out. The rules stand in rules.hpp; the methods differ in speed only.
//
//   sort       the reference: sorts every cell by rule 1. O(n log n log d), one thread.
//   bisection  the document's: each level copies the cut coordinate of every cell to a column and bisects its value,
//              one counting pass over the column a guess, all cells and threads at once; then one two-way partition.
//   multiway   up to 6 levels (64 cells) a round: a sample brackets every cut of the round, one pass sorts out which of
//              the 64 cells a point belongs to or in which bracket it lies, the few points in brackets are resolved
//              exactly, one pass moves the points. Two rounds for 4096 leaves.
// `auto` is the fastest: multiway.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "partitioners/orb/rules.hpp"
#include "partitioners/points.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::partitioners {

/// A node of the tree. Points of a cell stand at begin .. begin + count of the permutation.
template <class T, int Dim>
struct OrbCell {
  OrbBox<T, Dim> box;
  T cut = 0;                     ///< inner cells: the plane; points on it may be on either side (rule 1)
  std::int32_t axis = -1;        ///< -1: a leaf
  std::uint32_t leaves = 1;      ///< in its subtree
  std::uint32_t first_leaf = 0;  ///< number of the subtree's first leaf
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t weight = 0;  ///< in units of OrbTree::weight_unit; `count` without weights
};

template <class T, int Dim>
struct OrbTree {
  std::uint32_t leaves = 0;
  double weight_unit = 1;                ///< value of one unit of OrbCell::weight
  std::vector<OrbCell<T, Dim>> cells;    ///< heap: [1] is the root, [2i] and [2i + 1] the children of [i]; [0] unused
  std::vector<std::uint32_t> leaf_cell;  ///< heap index of each leaf, by leaf number
};

struct OrbOptions {
  std::uint32_t leaves = 1;
  int threads = 0;  ///< 0: all that OpenMP offers
  std::string_view method = "auto";
  double side_tolerance = kOrbSideTolerance;  ///< in [0, 1)
  bool labels = true;
  bool permutation = true;
  bool points = false;  ///< reordered points too
};

/// What one level of the tree took, where the method goes level by level; else one round of several levels.
struct OrbLevel {
  int level = 0;   ///< first level that was cut
  int levels = 1;  ///< how many
  int passes = 0;  ///< over the coordinates, counting ones included
  double cut_s = 0;
  double move_s = 0;
  double bytes = 0;  ///< read and written in memory by the method's own count, caches ignored
};

/// Reusing a result for another call of the same size saves the first touch of its memory.
template <class T, int Dim>
struct OrbResult {
  OrbTree<T, Dim> tree;
  support::PageBuffer<std::uint32_t> labels;       ///< leaf of each point; empty unless asked for
  support::PageBuffer<std::uint32_t> permutation;  ///< points by leaf, ascending within a leaf; empty unless asked for
  support::PageBuffer<T> points;                   ///< coordinates in the permutation's order; empty unless asked for
  std::vector<OrbLevel> levels;
  double time_s = 0;  ///< the method alone: no checks of the input, no conversion of weights

  /// Memory that methods keep between calls.
  support::PageBuffer<std::byte> scratch[3];
  std::shared_ptr<void> memory;
};

struct OrbMethod {
  std::string_view name;
  std::string_view description;
};
std::span<const OrbMethod> orb_methods();

/// points.dim must be Dim. weights: empty (every point weighs 1) or one a point, finite and >= 0. domain: box of the
/// root; must hold all points. Throws support::InputError: NaN or infinity (index of the first), a point outside the
/// domain (its index), negative or not finite weight (index of the first), no leaves, more leaves than points, more
/// than 2^32 - 1 points on one process, an unknown method. RunError when there is no memory.
template <class T, int Dim>
void orb(PointView<T> points, std::span<const double> weights, const OrbOptions& options, OrbResult<T, Dim>& result,
         const std::optional<OrbBox<T, Dim>>& domain = {});

/// Hash of shape, axes, planes, counts and weights, in heap order.
template <class T, int Dim>
std::uint64_t tree_hash(const OrbTree<T, Dim>& tree);

/// Hash of the leaf of each point, point `first` being labels[0]: sums of parts of the input modulo 2^64 give the
/// whole's.
std::uint64_t labels_hash(std::span<const std::uint32_t> labels, std::uint64_t first = 0);

}  // namespace amrbench::partitioners
