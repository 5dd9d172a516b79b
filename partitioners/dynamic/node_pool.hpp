#pragma once
// Nodes of a dynamic tree: siblings are neighbours, pairs that are free are taken again.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace amrbench::partitioners::dynamic {

/// 16 bytes, so that a pair of siblings lies in one line of the cache.
struct Node {
  double plane;         ///< of inner nodes; leaves keep their number here
  std::uint32_t child;  ///< the lower one, the upper is child + 1; 0: a leaf
  std::uint32_t axis;   ///< 0 in leaves

  [[nodiscard]] bool leaf() const { return child == 0; }
  [[nodiscard]] std::uint32_t leaf_number() const {
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(plane));
  }
  static Node of_leaf(std::uint32_t number) { return {std::bit_cast<double>(std::uint64_t{number}), 0, 0}; }
};

/// What routing does not need.
struct NodeInfo {
  std::uint32_t parent = 0;  ///< the root's is 0
  std::uint32_t count = 0;   ///< points, as of the last adjust()
  std::uint32_t height = 0;  ///< levels below
  bool changed = false;      ///< a leaf below has changed since
  bool tied = false;         ///< cut away from the middle because coordinates tie
};

class NodePool {
 public:
  /// The root alone, node 0, to be filled. Node 1 is not used: pairs begin at even numbers.
  void reset() {
    nodes.assign(2, Node::of_leaf(0));
    info.assign(2, {});
    free_pairs_.clear();
  }
  /// The lower one of two nodes.
  std::uint32_t take_pair() {
    if (!free_pairs_.empty()) {
      const std::uint32_t pair = free_pairs_.back();
      free_pairs_.pop_back();
      return pair;
    }
    const auto pair = static_cast<std::uint32_t>(nodes.size());
    nodes.resize(nodes.size() + 2);
    info.resize(nodes.size());
    return pair;
  }
  void give_pair(std::uint32_t pair) { free_pairs_.push_back(pair); }

  [[nodiscard]] std::size_t bytes() const {
    return nodes.capacity() * sizeof(Node) + info.capacity() * sizeof(NodeInfo) +
           free_pairs_.capacity() * sizeof(std::uint32_t);
  }

  std::vector<Node> nodes;
  std::vector<NodeInfo> info;

 private:
  std::vector<std::uint32_t> free_pairs_;
};

}  // namespace amrbench::partitioners::dynamic
