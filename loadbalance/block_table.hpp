#pragma once
// BlockTable: a rank's blocks as plain arrays. All that a decision may look at.
//
// Row i is block i of the mesh, in the order of the keys. Before a refinement is applied a row stands for what its
// block will become: 8 children, itself, or an eighth of its parent. Levels and weights are then those of what there
// will be, and `share` says how many blocks that is; keys and centres are those of the block that is there now,
// because that one is moved.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amr/consensus.hpp"
#include "amr/mesh.hpp"
#include "partitioners/graph.hpp"
#include "partitioners/partitioner.hpp"

namespace amrbench::loadbalance {

struct BlockTable {
  std::vector<amr::Key> key;
  std::vector<std::int8_t> level;  ///< of the blocks there will be
  std::vector<double>
      centre;  ///< x, y (and z, in 3-D) of each, in half cells of the deepest level; empty where not asked for
  std::vector<double>
      share;  ///< blocks there will be: 8, 1 or 1/8 (in 2-D 4, 1 or 1/4); powers of 2, so that sums are exact
  std::vector<double> weight;       ///< of one of them, as it came with the block until a cost model weighs it
  std::vector<std::int32_t> owner;  ///< the rank that has it
  double seconds = 0.0;             ///< this rank has worked since its blocks were last weighed; 0 = not measured
  std::int64_t blocks = 0;          ///< rows of all ranks
  partitioners::BlockGrid grid;     ///< root cells and deepest level of the mesh
  /// A vertex a row, an edge where blocks share a face or a part of one; in a replay, where asked for.
  std::shared_ptr<const partitioners::Graph> graph;

  [[nodiscard]] std::size_t size() const { return key.size(); }
  /// Of the domain along axis d, in the units of `centre`.
  [[nodiscard]] double extent(int d) const {
    return static_cast<double>(std::int64_t{grid.root[static_cast<std::size_t>(d)]} << (grid.max_level + 1));
  }
  /// Weight times share of each row.
  [[nodiscard]] std::vector<double> loads() const;
};

/// Fills the table with this rank's blocks, but for their centres; its memory is used again. `changes`: what each is
/// about to become, or empty: nothing changes. Does not touch `seconds`. O(blocks), threads by OpenMP. Local.
template <int Dim>
void fill_block_table(const amr::Mesh<Dim>& mesh, std::span<const amr::Change> changes, BlockTable& table);
/// The centres of the blocks, where the table lacks them. O(blocks), threads by OpenMP. Local.
template <int Dim>
void fill_centres(const amr::Mesh<Dim>& mesh, BlockTable& table);

}  // namespace amrbench::loadbalance
