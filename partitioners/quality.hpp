#pragma once
// Measures of a partition: balance, and what its parts would have to say to each other.
//
// Take a part p, its points, and the graph's edges. Then
//   load            the sum of its points' weights
//   degree          the number of other parts that a point of p has an edge to
//   edge cut        the edges from a point of p to a point of another part
//   volume          the sum, over its points, of the distinct other parts each has an edge to: what p sends when every
//                   part needs a copy of the points next to its own
//   boundary        its points that have an edge to another part
//   pieces          the connected components of the graph on its points; 0 for a part without points
// Source: document 001, section 2.2; METIS 5.1 manual for the volume.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioners/graph.hpp"

namespace amrbench::partitioners {

struct PartitionQuality {
  int parts = 0;
  int empty_parts = 0;  ///< parts without points
  double load_max = 0;
  double load_mean = 0;  ///< over all parts, empty ones too
  double load_min = 0;

  bool has_graph = false;  ///< false: what follows is 0
  std::int64_t degree_max = 0;
  double degree_mean = 0;
  std::int64_t edge_cut_max = 0;
  std::int64_t edge_cut_total = 0;  ///< each cut edge once: half the sum over parts
  std::int64_t comm_volume_max = 0;
  std::int64_t comm_volume_total = 0;
  std::int64_t boundary_max = 0;
  std::int64_t boundary_total = 0;
  std::int64_t pieces_max = 0;
  std::int64_t pieces_total = 0;
};

/// Measures `part`, the part of each point, all in [0, parts). weights: one a point, or empty for 1 each. graph: its
/// vertices are the points, or null. Loads are sums without rounding, rounded once; so the result does not depend on
/// `threads` (0: all that OpenMP offers), which share out the parts. Throws support::InputError for sizes that differ
/// or a part out of range. O(points + edges) time; memory 5 bytes a point, and 8 a part and thread.
PartitionQuality measure_quality(std::span<const std::int32_t> part, int parts, std::span<const double> weights,
                                 const Graph* graph, int threads = 0);

/// What one part computes and sends.
struct PartShare {
  double load = 0;
  std::int64_t degree = 0, edge_cut = 0;
};
/// Of every part; otherwise as measure_quality(). graph must not be null.
std::vector<PartShare> measure_shares(std::span<const std::int32_t> part, int parts, std::span<const double> weights,
                                      const Graph& graph, int threads = 0);

/// What computing and sending cost, in the model of document 001, section 2.2.
struct CostRates {
  double work_s = 0;                                         ///< C: a unit of weight
  double latency_s = 0;                                      ///< alpha: a message, one to each neighbour part
  double byte_s = 0;                                         ///< beta: a byte
  double edge_bytes = 8;                                     ///< sent across a cut edge
  int comp_phases = 1, comm_phases = 1, overlap_phases = 1;  ///< a, b and r
  int threads = 0;                                           ///< T: of a part; 0: equation 2.6 is left out, and this:
  double cache_bytes = 0;                                    ///< all threads' together, > 0
  double touched_bytes = 0;                                  ///< distinct ones, by a unit of weight
  double fill_s = 0;  ///< beta c: to fill the cache of a thread, which has cache_bytes / T
  double syncs = 0;   ///< K: points at which threads wait for each other
  double sync_s = 0;  ///< k: for a thread at one of them
};
/// Seconds, equations 2.1 to 2.6.
struct ModelledCost {
  double comp_s = 0;     ///< the most that a part computes in a phase
  double comm_s = 0;     ///< the most that a part sends in a phase
  double bsp_s = 0;      ///< a phases of the one, then b of the other, each as long as its slowest part
  double overlap_s = 0;  ///< r phases in which a part does both at once
  double total_s = 0;    ///< the last two together
  /// The most that a part computes in a phase with T threads of ceil(load / T) each, those fills and waits included.
  double threads_s = 0;
};
/// O(parts).
[[nodiscard]] ModelledCost modelled_cost(std::span<const PartShare> parts, const CostRates& rates);

/// The two-level form: parts that share a node speak through its memory, the others by messages.
struct NodeQuality {
  int nodes = 0;
  PartitionQuality across;  ///< the partition into nodes: degree, cut and volume between nodes
  /// Messages a node sends: the sum, over its parts, of the parts on other nodes each one has an edge to. Most of any
  /// node. (The seed's inter-node degree; its inter-node volume is across.edge_cut_max.)
  std::int64_t messages_max = 0;
};

/// The node of each part: runs of consecutive parts, as even as can be, the larger ones first. parts, nodes >= 1.
std::vector<std::int32_t> group_parts(int parts, int nodes);

/// Measures parts grouped into nodes; node_of[p] in [0, nodes). Otherwise as measure_quality; graph must not be null.
NodeQuality measure_nodes(std::span<const std::int32_t> part, int parts, std::span<const std::int32_t> node_of,
                          int nodes, std::span<const double> weights, const Graph& graph, int threads = 0);

/// Weight of the points whose part differs from their previous one: exact, rounded once. Sizes must agree.
double moved_weight(std::span<const std::int32_t> part, std::span<const std::int32_t> previous,
                    std::span<const double> weights);

}  // namespace amrbench::partitioners
