#pragma once
// The halo exchange: faces of remote neighbours, one message a neighbour rank and stage.
//
// A message to rank r holds one piece for every pair (local block, block of r) that share a face, sorted by (sender's
// key, sender's face, receiver's key); both sides make the same list from their own links, so no header travels. A
// piece is a packed face between blocks of one level, else a packed quarter: restricted by a fine sender, cut out and
// divided by 4 by a coarse one. So no more bytes travel than the receiver needs, and a face of a block of the same
// level is read by the stencil where the message put it. The plan is rebuilt when the mesh changes and only then.
#include <array>
#include <cstdint>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/mesh.hpp"
#include "support/mpi.hpp"

namespace amrbench::amr {

class Halo {
 public:
  /// Buffers and lists for `mesh`, which must outlive the next call. Local work only.
  void rebuild(const Mesh<3>& mesh, const kernels::BlockLayout& layout);

  /// Packs all pieces (threads) and starts the exchange. Collective over neighbours.
  void start(const FieldStore& fields);
  /// Waits until the faces have come.
  void finish();

  /// The piece that block i received for part `part` of its face `face`; only for links to ghosts, after finish().
  [[nodiscard]] const double* received(std::int32_t i, int face, int part) const {
    return receive_buffer_.data() + receive_at_[border_index_[i]][face][part];
  }
  /// Blocks without and with ghost neighbours, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& interior() const { return interior_; }
  [[nodiscard]] const std::vector<std::int32_t>& border() const { return border_; }

  [[nodiscard]] std::int64_t bytes_sent_each() const {
    return static_cast<std::int64_t>(send_values_ * sizeof(double));
  }
  [[nodiscard]] std::int64_t pieces() const { return static_cast<std::int64_t>(sends_.size()); }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  enum class Transfer : std::uint8_t { whole, quarter, restricted };
  /// A piece to send: from `block` across `face`; for a quarter, which one.
  struct Send {
    std::int32_t block;
    std::int8_t face;
    std::int8_t part;
    Transfer transfer;
    std::size_t at;  ///< offset in the send buffer
  };
  struct Piece;
  void list_sends(const Mesh<3>& mesh, const std::vector<std::size_t>& neighbor_of_ghost);
  void list_receives(const Mesh<3>& mesh, const std::vector<std::size_t>& neighbor_of_ghost);
  [[nodiscard]] std::size_t piece_values(Transfer transfer, int axis) const;

  kernels::BlockLayout layout_;
  const support::DistGraph* graph_ = nullptr;
  std::vector<std::int32_t> interior_, border_;
  std::vector<std::int32_t> border_index_;  ///< position in border_ of a block, -1 inside
  std::vector<std::array<std::array<std::size_t, 4>, 6>> receive_at_;
  std::vector<Send> sends_;
  std::size_t send_values_ = 0;
  support::PageBuffer<double> send_buffer_, receive_buffer_;
  std::vector<int> send_counts_, send_starts_, receive_counts_, receive_starts_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace amrbench::amr
