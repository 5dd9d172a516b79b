#pragma once
// The mesh of a trace: all blocks of all ranks in one process, without values.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "amr/consensus.hpp"
#include "amr/mesh.hpp"
#include "loadbalance/replay/trace.hpp"

namespace amrbench::loadbalance {

template <int Dim>
class TraceMesh {
 public:
  /// The root cells, in the order of `curve` (partitioners/block_keys.hpp). Throws support::InputError for a grid that
  /// keys do not hold. Uses MPI on this process alone.
  TraceMesh(const TraceHeader& header, std::string_view curve);

  /// The weights of its blocks are their costs.
  [[nodiscard]] const amr::Mesh<Dim>& mesh() const { return mesh_; }
  /// What a pass makes of each block. Throws support::InputError where it names a block that is not there. O(blocks).
  [[nodiscard]] std::vector<amr::Change> changes(const TracePass& pass) const;
  /// Splits and merges; `changes` must be those of whole families that keep the 2:1 balance, else support::InputError.
  /// Returns for each new block the old one it comes from, of a family the first along the curve. Costs are handed on
  /// as in a run. O(blocks).
  std::span<const std::int32_t> apply(std::span<const amr::Change> changes);
  /// Of each block; 1 where there are none. Throws support::InputError for those of another number of blocks. O(blocks
  /// log).
  [[nodiscard]] std::vector<double> costs(const CostRuns& runs) const;
  void set_costs(std::span<const double> costs) { mesh_.set_weights(costs); }

 private:
  amr::Mesh<Dim> mesh_;
  std::vector<std::int32_t> origin_;
};

extern template class TraceMesh<2>;
extern template class TraceMesh<3>;

}  // namespace amrbench::loadbalance
