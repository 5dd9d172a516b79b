#pragma once
// The halo exchange of stencils that need edges and corners: ghosts of tiles, axis by axis (kernels/tile.hpp says what
// each ghost holds).
//
// For each of the axes x, y, z in turn: pieces for remote neighbours across that axis are packed and sent, one message
// a neighbour rank, ghosts from local neighbours are filled (while the messages fly, if asked for), received pieces are
// put in place. The next axis begins when the one before is complete, because its faces pass on the ghosts just filled.
// A message holds one piece for every pair of blocks that share a face across the axis, sorted by (sender's key,
// sender's face, receiver's key); both sides make the same list from their own links, so no header travels. Plans are
// rebuilt when the mesh changes and only then.
#include <array>
#include <cstdint>
#include <vector>

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
  /// Collective over neighbours.
  void exchange(const Mesh<3>& mesh, double* tiles, bool overlap);

  /// Per exchange, all axes together.
  [[nodiscard]] std::int64_t bytes_sent_each() const;
  [[nodiscard]] std::int64_t pieces() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  /// A piece in a message: what `block` sends or receives across `face`.
  struct Piece {
    std::int32_t block;
    std::int8_t face;
    std::int8_t part;
    kernels::TileTransfer transfer;
    std::size_t at;  ///< offset in the message buffer
  };
  /// Pieces in message order, with counts and starts by neighbour.
  struct Messages {
    std::vector<Piece> pieces;
    std::vector<int> counts, starts;
    std::size_t values = 0;
  };
  struct Plan {
    Messages sends, receives;
  };
  struct Entry;
  [[nodiscard]] Messages lay_out(std::vector<Entry> entries, std::size_t neighbors) const;
  [[nodiscard]] Plan make_plan(const Mesh<3>& mesh, int axis, const std::vector<std::size_t>& neighbor_of_ghost) const;
  void start(const Plan& plan, const double* tiles);
  void finish(const Plan& plan, double* tiles);
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
