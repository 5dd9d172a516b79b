#pragma once
// Partitioner: points and weights in, an order and parts out (docs/architecture.md). A method is one file and one line
// in the registry.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioners/chart.hpp"
#include "partitioners/graph.hpp"
#include "partitioners/orb/rules.hpp"
#include "partitioners/points.hpp"
#include "partitioners/slices.hpp"
#include "support/error.hpp"

namespace amrbench::support {
class Communicator;
}

namespace amrbench::partitioners {

/// The mesh whose block centres the points are: root grid, each root cell an octree (quadtree). Points are in half
/// cells of the deepest level: the block of level l at integer coordinates c has its centre at (2c + 1) * 2^(max_level
/// - l).
struct BlockGrid {
  int dim = 3;
  std::array<std::uint32_t, 3> root{};  ///< root[2] does not count where dim is 2
  int max_level = 0;
};

/// What is to be cut into parts. Borrowed for the length of a call.
struct Problem {
  PointView<double> points;           ///< may be empty where the method is a graph method
  std::span<const double> weights;    ///< >= 0, one a point; empty: every point weighs 1
  const Graph* graph = nullptr;       ///< needed by graph methods only
  const BlockGrid* blocks = nullptr;  ///< needed by splitter "octree" only; the same on every rank
};

inline constexpr std::size_t kMessageBytes = std::size_t{1} << 20U;

struct PartitionOptions {
  int parts = 1;                           ///< >= 1; more parts than points leaves parts empty
  int threads = 0;                         ///< 0: all that OpenMP offers
  std::size_t bucket = 1;                  ///< most points in a tree's leaf
  std::string splitter = "midpoint";       ///< methods on a tree: how its nodes are split (splitter.hpp), or "octree"
  SliceRule slices = SliceRule::midpoint;  ///< methods along a curve, and linear: how the order is cut
  double side_tolerance = kOrbSideTolerance;  ///< orb: sides this near to a box's longest count as equally long
  Chart chart = Chart::none;                  ///< methods along a curve: what its plane is (chart.hpp)
  int nodes = 0;  ///< methods that serve nodes: parts lie on so many, in runs of parts / nodes; 0: on no nodes
  std::size_t message_bytes = kMessageBytes;  ///< points over ranks: most from one rank to another at once
  bool order = true;                          ///< false: `order` or `position` may stay empty where that saves work
};

struct PartitionResult {
  std::vector<std::int32_t> part;    ///< of each point
  std::vector<std::uint32_t> order;  ///< points along the method's curve; empty where there is none
  std::size_t memory_bytes = 0;      ///< most held at once besides the input and this result
};

/// What a method on a tree took over ranks, stage by stage, on this rank; waiting for other ranks included. All zero:
/// the method does not tell.
struct RankStages {
  double top_nodes_s = 0;  ///< upper nodes, decided by all ranks together
  double balancing_s = 0;  ///< the walk of the curve through them, cells dealt out to ranks
  double transfer_s = 0;   ///< packing points and moving them to the ranks of their cells
  double subtrees_s = 0;   ///< trees below the cells
  double traversal_s = 0;  ///< the walk of the curve through those, and slices
  double return_s = 0;     ///< places and parts back to where points came from
  std::uint64_t transfer_rounds = 0;
  [[nodiscard]] bool known() const { return top_nodes_s > 0; }
};

/// What a rank gets back for its own points.
struct RankResult {
  std::vector<std::int32_t> part;       ///< of each of this rank's points
  std::vector<std::uint64_t> position;  ///< their places along the method's curve, over all ranks
  std::size_t memory_bytes = 0;         ///< most held at once on this rank besides the input and this result
  RankStages stages;
};

class Partitioner {
 public:
  virtual ~Partitioner() = default;
  /// Whether partition_on_ranks() exists for these options. Throws support::InputError for options that are none.
  [[nodiscard]] virtual bool runs_on_ranks(const PartitionOptions& /*options*/) const { return false; }
  /// The partition of points that are spread over ranks: that of partition() on all points in rank order, whatever the
  /// number of ranks. mine: this rank's points and weights, no graph. Collective; throws support::InputError, the same
  /// on every rank.
  virtual RankResult partition_on_ranks(const support::Communicator& /*comm*/, const Problem& /*mine*/,
                                        const PartitionOptions& /*options*/) {
    throw support::InputError("the method works on one rank");
  }
  /// Whether the method works on Problem::graph rather than on points.
  [[nodiscard]] virtual bool needs_graph() const { return false; }
  /// Whether PartitionOptions::nodes counts; parts in two levels of other methods: two_level.hpp.
  [[nodiscard]] virtual bool serves_nodes() const { return false; }
  /// Whether PartitionOptions::order = false saves work.
  [[nodiscard]] virtual bool order_costs() const { return false; }
  /// Throws support::InputError for input that the method refuses (NaN or infinity with the index of the first,
  /// negative weights, no graph, a dimension it does not know). The same input gives the same result on any number of
  /// threads.
  virtual PartitionResult partition(const Problem& problem, const PartitionOptions& options) = 0;
};

/// The parts of points that are spread over ranks.
struct Assignment {
  std::vector<std::int32_t> part;  ///< of each of this rank's points
  bool gathered = false;           ///< everything went to rank 0, which worked alone, and back
};

/// The part of each of this rank's points: that of partition() on all points in rank order. By partition_on_ranks()
/// where the method has it, by partition() on one rank; else everything goes to rank 0 and back. A graph method needs
/// mine.graph, whole, on rank 0 only, its vertices numbered as the points are in rank order; points then tell no more
/// than their number. Collective. Throws support::InputError, the same on every rank.
Assignment assign(const support::Communicator& comm, Partitioner& partitioner, const Problem& mine,
                  const PartitionOptions& options);

/// A method by name.
struct PartitionerEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Partitioner> (*make)();
};
/// All methods of this build, geometric ones first; baselines only where their packages were found.
std::span<const PartitionerEntry> partitioner_registry();
/// Throws support::InputError that lists the names when there is none called `name`.
std::unique_ptr<Partitioner> make_partitioner(std::string_view name);

}  // namespace amrbench::partitioners
