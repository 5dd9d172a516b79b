#pragma once
// What a machine takes for the parts of a run: the cost model of a replay.
//
// After document 001, section 5.1 (equations 5.1 to 5.11): a rank computes C a block, and sends d messages of m bytes
// in all for alpha d + beta m; a blocking stage takes the longest computation and the longest communication of any
// rank, an overlapped one the longest of the larger of both. Here alpha and beta differ between ranks of one node and
// of several.
#include <algorithm>
#include <cstdint>
#include <string>

namespace amrbench::loadbalance {

struct Machine {
  std::string name = "one";
  bool overlap = true;           ///< is communication hidden behind computation?
  int ranks_per_node = 1;        ///< ranks 0 .. k - 1 share the first node, and so on
  double update_s = 1e-9;        ///< a value of a cell, one stage, on one rank with all its threads
  double block_s = 0.0;          ///< a block, one stage, besides
  double cache_bytes = 0.0;      ///< of a rank's two copies of the fields, what its caches hold from stage to stage
  double memory_update_s = 0.0;  ///< a value that they do not hold, besides
  double jump_cell_s = 0.0;      ///< a cell of a face that crosses a level (all lanes of a chunk), one stage, besides
  double node_latency_s = 1e-6, node_byte_s = 1e-10;  ///< a message within a node; a byte of it, sent or received
  double latency_s = 2e-6, byte_s = 1e-9;             ///< the same between nodes
  double face_cell_s = 0.0;  ///< a cell of a face (all lanes of a chunk), packed by the rank that sends it
  /// Part of a stage's computation that ranks wait for each other where their loads are even: the machine's own
  /// unevenness.
  double wait_fraction = 0.0;
  /// A byte of a block that moves within a node, at either end; between nodes byte_s - node_byte_s comes on top. Below
  /// 0: as a byte of a halo, which a stage packs in smaller pieces.
  double migrate_byte_s = -1.0;
  double migrate_block_s = 0.0;  ///< a block that moves, at either end, besides
  double migrate_s = 0.0;        ///< each time any moves
  double collective_s = 0.0;     ///< a collective on one rank
  /// And for each doubling of ranks. Below 0: latency_s, or node_latency_s on one node.
  double collective_latency_s = -1.0;
  double refine_block_s = 0.0;  ///< a block of the fullest rank, each pass of a refinement
  double refine_pass_s = 0.0;   ///< a pass of a refinement, besides a collective
  double change_byte_s = 0.0;   ///< a byte of a block that a split or a merge makes, on the rank with most of them
  double cut_block_s = 0.0;     ///< a block of the fullest rank, each time blocks are placed anew

  /// Computation of a rank, one stage: evaluations of blocks of `values` values, `blocks` different ones. Of fields
  /// that outgrow the caches the part beyond them comes from memory.
  [[nodiscard]] double compute(double evaluations, double blocks, double values) const {
    constexpr double kBytes = 2.0 * sizeof(double);
    const double beyond = blocks > 0.0 ? std::max(0.0, 1.0 - cache_bytes / (kBytes * values * blocks)) : 0.0;
    return evaluations * (values * update_s + block_s) + evaluations * values * memory_update_s * beyond;
  }
  /// What the machine's unevenness makes ranks wait in a stage whose computation takes the slowest `most` and all of
  /// them `mean`. Where loads are uneven, others wait for the fullest rank anyway, and it for nobody.
  [[nodiscard]] double waiting(double most, double mean) const {
    constexpr double kHides =
        20.0;  // 5 % above the mean hide all of it; of 0 to 40, 20 and 40 fitted runs on 2 ranks about alike
    return wait_fraction * std::max(0.0, most - kHides * (most - mean));
  }
  /// A small collective over so many ranks: latency a doubling.
  [[nodiscard]] double collective(int ranks) const {
    int doublings = 0;
    while ((std::int64_t{1} << doublings) < ranks) ++doublings;
    const double message = ranks > ranks_per_node ? latency_s : node_latency_s;
    return collective_s + doublings * (collective_latency_s < 0.0 ? message : collective_latency_s);
  }
};

}  // namespace amrbench::loadbalance
