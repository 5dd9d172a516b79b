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

class TraceMesh {
 public:
  /// The root cells, in the order of `curve` (partitioners/block_keys.hpp). Throws support::InputError for a grid that
  /// keys do not hold. Uses MPI on this process alone.
  TraceMesh(const TraceHeader& header, std::string_view curve);

  [[nodiscard]] const amr::Mesh<3>& mesh() const { return mesh_; }
  /// What a pass makes of each block. Throws support::InputError where it names a block that is not there. O(blocks).
  [[nodiscard]] std::vector<amr::Change> changes(const TracePass& pass) const;
  /// Splits and merges; `changes` must be those of whole families that keep the 2:1 balance, else support::InputError.
  /// Returns for each new block the old one it comes from, of eight the first along the curve. O(blocks).
  std::span<const std::int32_t> apply(std::span<const amr::Change> changes);

 private:
  amr::Mesh<3> mesh_;
  std::vector<std::int32_t> origin_;
};

}  // namespace amrbench::loadbalance
