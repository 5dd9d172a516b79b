#pragma once
// Nodes of a branch as words: the plane, then the axis above the count. Only branch.cpp and tree_branch.hpp include
// this.
#include <bit>
#include <cstddef>
#include <cstdint>

#include "partitioners/dynamic/branch.hpp"
#include "partitioners/dynamic/subtree.hpp"
#include "partitioners/kd/preorder.hpp"

namespace amrbench::partitioners::dynamic {

inline constexpr std::size_t kNodeWords = 2;

inline kd::PreNode<std::uint32_t> packed_node(WordView nodes, std::size_t at) {
  return {std::bit_cast<double>(nodes[at]), static_cast<std::uint32_t>(nodes[at + 1]),
          static_cast<std::uint32_t>(nodes[at + 1] >> 32U)};
}

inline void pack_node(const kd::PreNode<std::uint32_t>& node, Words& nodes) {
  nodes.push_back(std::bit_cast<std::uint64_t>(node.split));
  nodes.push_back(std::uint64_t{node.axis} << 32U | node.count);
}

}  // namespace amrbench::partitioners::dynamic
