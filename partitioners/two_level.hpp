#pragma once
// Parts in two levels, as machines are made: nodes first, the tasks of a node inside it.
//
// The method cuts the points into as many parts as there are nodes, each of as many shares as a node has tasks, and
// then, on its own, the points of each node into its tasks. So a node is one part of the method, compact as such, and
// what crosses nodes is what that one cut costs, whatever the tasks do. A method that knows nodes itself
// (Partitioner::serves_nodes) does both at once.
// Source: document 001, section 3.2.3.
#include <cstdint>
#include <functional>
#include <span>

#include "partitioners/partitioner.hpp"

namespace amrbench::partitioners {

/// May change the node of each point, before nodes are cut into tasks: a refinement, for example.
using AfterNodes = std::function<void(std::span<std::int32_t> node)>;

/// Any method in two levels. Parts are numbered node by node: part p is task p % tasks of node p / tasks.
class TwoLevelPartitioner final : public Partitioner {
 public:
  /// inner: borrowed. nodes: >= 1. after_nodes: not called where the method serves nodes itself; may be empty.
  TwoLevelPartitioner(Partitioner& inner, int nodes, AfterNodes after_nodes = {});

  [[nodiscard]] bool needs_graph() const override { return inner_.needs_graph(); }
  [[nodiscard]] bool order_costs() const override { return inner_.order_costs(); }

  /// options.parts must be a multiple of the nodes; errors otherwise as of the method. Orders of nodes follow one
  /// another; there is none where the method has none. Time as of two calls of the method; memory besides those: a
  /// copy of the largest node's points, weights and, for graph methods, graph, and 8 bytes a point.
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override;

 private:
  Partitioner& inner_;
  int nodes_;
  AfterNodes after_nodes_;
};

}  // namespace amrbench::partitioners
