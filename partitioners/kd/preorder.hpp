#pragma once
// Subtrees as they are built, depth first, and their renumbering breadth first.
//
// A builder emits nodes in preorder, lower child first. Preorder needs no links: levels, offsets into the order and
// children's numbers follow while one reads along. Only this folder,
// kd_tree.cpp and parts/parts_tree.cpp include this.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "partitioners/kd_tree.hpp"

namespace amrbench::partitioners::kd {

inline constexpr std::uint32_t kLeaf = ~std::uint32_t{0};

template <class Index>
struct PreNode {
  double split;
  Index count;
  std::uint32_t axis;  ///< kLeaf: no children
};

/// Nodes of one subtree in preorder.
template <class Index>
struct Preorder {
  std::vector<PreNode<Index>> nodes;
  std::vector<std::size_t> per_level;  ///< how many of them on each level, the subtree's root on level 0

  void add(int level, std::size_t count, std::uint32_t axis, double split) {
    if (per_level.size() <= static_cast<std::size_t>(level)) per_level.resize(static_cast<std::size_t>(level) + 1);
    ++per_level[static_cast<std::size_t>(level)];
    nodes.push_back({split, static_cast<Index>(count), axis});
  }
};

/// A stretch of the whole tree's preorder: a single node of the top, or a subtree.
template <class Index>
struct Piece {
  int level;          ///< of its (first) node
  std::size_t first;  ///< offset of its (first) node's points
  Preorder<Index> nodes;
};

/// Numbers all nodes breadth first and fills tree.nodes, split and level. Pieces stand in preorder and are freed one by
/// one. Throws support::InputError when there are more nodes than Index counts. O(nodes).
template <class Index>
void assemble(std::vector<Piece<Index>> pieces, int threads, KdTree<Index>& tree);

extern template void assemble(std::vector<Piece<std::uint32_t>>, int, KdTree<std::uint32_t>&);
extern template void assemble(std::vector<Piece<std::uint64_t>>, int, KdTree<std::uint64_t>&);

}  // namespace amrbench::partitioners::kd
