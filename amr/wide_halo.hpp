#pragma once
// The halo exchange of stencils that need edges and corners: ghosts of tiles, axis by axis (kernels/tile.hpp says what
// each ghost holds).
//
// For each of the axes x, y, z in turn: pieces for remote neighbours across that axis are packed and sent, one message
// a neighbour rank, ghosts from local neighbours are filled (while the messages fly, if asked for), received pieces are
// put in place. The next axis begins when the one before is complete, because its faces pass on the ghosts just filled.
// amr/halo_plan.hpp says what a message holds; plans are rebuilt when the mesh changes and only then.
#include <array>
#include <cstdint>
#include <vector>

#include "amr/halo_plan.hpp"
#include "amr/mesh.hpp"
#include "kernels/tile.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

class WideHalo {
 public:
  explicit WideHalo(const kernels::TileLayout& layout) : layout_(layout) {}

  /// Plans and buffers for `mesh`, which must outlive the next call. Local work only.
  void rebuild(const Mesh<3>& mesh);

  /// Fills all ghosts of all tiles; tile i lies at tiles + i * layout.values(), its inside holds the block's values.
  /// `overlap`: fill from local neighbours before waiting for the messages, else after. The same bits either way.
  /// The seconds that it waited. Collective over neighbours.
  double exchange(const Mesh<3>& mesh, double* tiles, bool overlap);

  /// Per exchange, all axes together.
  [[nodiscard]] std::int64_t bytes_sent_each() const;
  [[nodiscard]] std::int64_t pieces() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// Of one axis.
  struct Plan {
    HaloPlan pieces;
    MessageCounts sends, receives;
  };
  void start(const Plan& plan, const double* tiles);
  double finish(const Plan& plan, double* tiles);
  void fill_local(const Mesh<3>& mesh, int axis, double* tiles);
  void fill_face(const Mesh<3>& mesh, std::int32_t i, int face, double* tiles, double* scratch) const;

  kernels::TileLayout layout_;
  const support::DistGraph* graph_ = nullptr;
  std::array<Plan, 3> plans_;
  support::PageBuffer<double> send_buffer_, receive_buffer_;  ///< of one axis at a time
  std::vector<std::vector<double>> scratch_;                  ///< one piece a thread
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace amrbench::amr
