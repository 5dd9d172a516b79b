#pragma once
// Parts in two levels, as machines are made: nodes first, the tasks of a node inside it.
//
// The method cuts the points into as many parts as there are nodes, each of as many shares as a node has tasks, and
// then, on its own, the points of each node into its tasks. So a node is one part of the method, compact as such, and
// what crosses nodes is what that one cut costs, whatever the tasks do. A method that knows nodes itself
// (Partitioner::serves_nodes) does both at once.
//
// Over ranks: each node's points go to its share of the ranks, or, with fewer ranks than nodes, each rank gets a few
// nodes whole; all nodes are cut at the same time, and the parts go back.
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
  /// Where the method does, unless it serves nodes itself or something happens to nodes in between.
  [[nodiscard]] bool runs_on_ranks(const PartitionOptions& options) const override {
    return !after_nodes_ && !inner_.serves_nodes() && inner_.runs_on_ranks(options);
  }
  /// As partition() on all points. Memory besides the method's: the points of a rank's share of the nodes, with weights
  /// and numbers, 16 bytes a point and 32 a node. Collective; errors are the same on every rank.
  RankResult partition_on_ranks(const support::Communicator& comm, const Problem& mine,
                                const PartitionOptions& options) override;

  /// options.parts must be a multiple of the nodes; other errors as of the method. Orders of nodes follow one
  /// another; there is none where the method has none. Time as of two calls of the method; memory besides those: a
  /// copy of the largest node's points, weights and, for graph methods, graph, and 8 bytes a point.
  PartitionResult partition(const Problem& problem, const PartitionOptions& options) override;

 private:
  [[nodiscard]] int tasks_of(const PartitionOptions& options) const;
  RankResult cut_nodes(const support::Communicator& comm, const Problem& mine, std::span<const std::int32_t> node,
                       const PartitionOptions& options);

  Partitioner& inner_;
  int nodes_;
  AfterNodes after_nodes_;
};

}  // namespace amrbench::partitioners
