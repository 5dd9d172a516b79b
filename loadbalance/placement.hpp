#pragma once
// Placement: which rank a block belongs on (table [partition]). It decides and moves nothing.
//
// Any method of the registry of partitioners works on the centres of the blocks that exist now, or on their graph, with
// the same result as `amrbench partition` gives on the same centres. For morton, hilbert and gensfc with the splitter
// "octree" the keys of the mesh follow the method's curve: the parts are then slices of the keys, nothing but the cuts
// is computed, and few blocks move when they shift. No placement shows in the mesh or in the values of its blocks.
//
// With partition.nodes blocks are placed in two levels: over nodes of consecutive ranks, then over the ranks of each
// (partitioners/two_level.hpp). Slices of keys are as they are without: the ranks of a node have slices that follow one
// another, so a node is one stretch of the curve in any case.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "amr/config.hpp"
#include "loadbalance/block_table.hpp"
#include "loadbalance/config.hpp"
#include "partitioners/partitioner.hpp"
#include "sfc/key.hpp"

namespace amrbench::loadbalance {

/// Where blocks go: rank r gets the blocks at positions [cuts[r], cuts[r + 1]), counted by rank, then by key; or, where
/// there are no cuts, local block i goes to rank destinations[i].
struct Destinations {
  std::vector<std::int64_t> cuts;
  std::vector<std::int32_t> ranks;
};

class Placement {
 public:
  /// Throws support::InputError for an unknown method, splitter or rule of slices. config.nodes: a number of nodes, or
  /// one level, to place blocks (loadbalance/nodes.hpp finds out about kNodesOfRun).
  explicit Placement(const PartitionConfig& config);

  /// Are parts slices of the keys? Then neither centres nor a graph are needed.
  [[nodiscard]] bool follows_keys() const { return follows_keys_; }
  [[nodiscard]] bool needs_graph() const { return !follows_keys_ && partitioner_->needs_graph(); }
  /// Does the method work on one rank, so that all blocks are gathered there?
  [[nodiscard]] bool gathers() const {
    return !follows_keys_ && (!partitioner_->runs_on_ranks(options_) || (in_levels() && partitioner_->serves_nodes()));
  }
  /// Are blocks placed over nodes first?
  [[nodiscard]] bool in_levels() const { return !follows_keys_ && nodes_ != 0; }

  /// All blocks of the tables of all ranks placed anew by their loads, which rank r of `parts` gets each. Rows stand in
  /// the order of the keys where follows_keys(), else the table has centres. heaviest: the largest load of a row on any
  /// rank; graph: of the rows in rank order, on rank 0, where one is needed. owners: the rank that has each row now;
  /// needed where partition.rename is on. Throws support::InputError where nodes do not divide `parts`. Collective.
  [[nodiscard]] Destinations place(const support::Communicator& comm, const BlockTable& table, int parts,
                                   double heaviest, std::span<const std::int32_t> owners,
                                   const partitioners::Graph* graph = nullptr) const;
  /// The rows in the order in which ranks hold them, cut anew by their loads. shares: what of all loads each part is to
  /// get (Policy::rank_shares); not with partition.slices "exact". Families stay together with partition.group_blocks.
  /// Collective.
  [[nodiscard]] Destinations slice(const support::Communicator& comm, const BlockTable& table, int parts,
                                   double heaviest, std::span<const double> shares = {}) const;
  /// The same where all rows weigh the same: needs only their number on all ranks; `keys`, of this rank's rows, with
  /// partition.group_blocks, where it is collective. Else local.
  [[nodiscard]] Destinations slice_evenly(const support::Communicator& comm, std::int64_t blocks,
                                          std::span<const amr::Key> keys, int parts,
                                          std::span<const double> shares = {}) const;

 private:
  [[nodiscard]] std::vector<std::int32_t> assign(const support::Communicator& comm,
                                                 const partitioners::Problem& problem, int parts) const;

  partitioners::PartitionOptions options_;
  std::unique_ptr<partitioners::Partitioner> partitioner_;
  bool follows_keys_;
  bool renames_;
  bool groups_;
  int nodes_;
};

/// The curve of a run's keys: the method's own where Placement follows it, else Hilbert's for the method "hilbert" and
/// Morton's for the others. Throws support::InputError as Placement does.
[[nodiscard]] std::string key_curve(const PartitionConfig& partition);
/// The keys of a run's blocks over mesh.root, along that curve.
template <int Dim>
[[nodiscard]] sfc::KeySpace<Dim> make_key_space(const amr::MeshConfig& mesh, const PartitionConfig& partition);

}  // namespace amrbench::loadbalance
