#pragma once
// Ranks that are not there: which of them owns each block of one process's mesh, what each has to do and to send.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "amr/mesh.hpp"
#include "amr/migrate.hpp"
#include "loadbalance/block_table.hpp"
#include "loadbalance/nodes.hpp"
#include "loadbalance/policy.hpp"
#include "loadbalance/replay/machine.hpp"
#include "loadbalance/replay/trace.hpp"

namespace amrbench::loadbalance {

/// Owner of each block.
using Owners = std::vector<std::int32_t>;

/// Positions in order of (owner, key), as ranks hold them: the identity where owners ascend, then empty. O(blocks).
[[nodiscard]] std::vector<std::int32_t> rank_order(std::span<const std::int32_t> owners, int ranks);

/// Load of each rank, as Balancer reduces it. `whole`: weights are all 1, and families that merge count once they are
/// whole. O(blocks + ranks).
[[nodiscard]] std::vector<double> rank_loads(const BlockTable& table, std::span<const std::int32_t> owners, int ranks,
                                             bool whole);

/// Bytes that a block sends across a face.
class FaceBytes {
 public:
  explicit FaceBytes(const TraceHeader& header);
  /// To a block of this kind; where it is fine, to each of them.
  [[nodiscard]] std::int64_t to(amr::FaceKind kind, int axis) const {
    return of_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(axis)];
  }
  /// Of a cell: 8 variables at a time where they lie together.
  [[nodiscard]] std::int64_t of_cell() const { return cell_; }

 private:
  std::array<std::array<std::int64_t, 3>, 4> of_{};
  std::int64_t cell_ = 0;
};

/// What ranks exchange in a stage.
struct HaloCost {
  std::vector<double> seconds;    ///< of each rank: its messages out, by the machine's latency and bytes
  std::int64_t degree_max = 0;    ///< neighbour ranks
  std::int64_t edge_cut_max = 0;  ///< faces, or quarters where levels differ, that a rank sends
  std::int64_t bytes_max = 0;     ///< that a rank sends
  std::int64_t bytes_total = 0;   ///< that all ranks send
  NodeTraffic nodes;              ///< between nodes of machine.ranks_per_node ranks; the last may have fewer
};
/// Of the mesh as it is. O(blocks), threads.
template <int Dim>
[[nodiscard]] HaloCost halo_cost(const amr::Mesh<Dim>& mesh, std::span<const std::int32_t> owners, int ranks,
                                 const TraceHeader& header, const Machine& machine);

/// Cells of faces of each rank's blocks behind which blocks are of another level, the lanes of a chunk at a time.
/// O(blocks).
template <int Dim>
[[nodiscard]] std::vector<double> jump_cells(const amr::Mesh<Dim>& mesh, std::span<const std::int32_t> owners,
                                             int ranks, const TraceHeader& header);

/// Blocks that change their owner.
struct MoveCost {
  amr::MigrationCount count;  ///< of all ranks
  double seconds = 0.0;       ///< of the rank that sends and receives most
};
[[nodiscard]] MoveCost move_cost(std::span<const std::int32_t> from, std::span<const std::int32_t> to, int ranks,
                                 std::int64_t block_bytes, const Machine& machine);

/// How often a stage evaluates the stencil of each block (amr/work.hpp), times its cost; entries that name a rank count
/// where `owners` has it. costs, owners: one a block, or none. O(blocks).
template <int Dim>
[[nodiscard]] std::vector<double> block_work(const amr::Mesh<Dim>& mesh, const TraceHeader& header,
                                             std::span<const double> costs, std::span<const std::int32_t> owners = {});

}  // namespace amrbench::loadbalance
