#pragma once
// The halo exchange: faces of remote neighbours, one message a neighbour rank and stage.
//
// amr/halo_plan.hpp says what a message holds: packed faces between blocks of one level, else packed quarters,
// restricted by a fine sender, divided by 4 by a coarse one. So no more bytes travel than the receiver needs, and a
// face of a block of the same level is read by the stencil where the message put it.
#include <array>
#include <cstdint>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/halo_plan.hpp"
#include "amr/mesh.hpp"
#include "support/mpi.hpp"

namespace amrbench::amr {

class Halo {
 public:
  /// Buffers and lists for `mesh`, which must outlive the next call. Local work only.
  void rebuild(const Mesh<3>& mesh, const kernels::BlockLayout& layout);

  /// Packs all pieces (threads) and starts the exchange. Collective over neighbours.
  void start(const FieldStore& fields);
  /// Waits until the faces have come; the seconds that took.
  double finish();

  /// The piece that block i received for part `part` of its face `face`, 0 unless fine blocks lie behind it; only for
  /// links to ghosts, after finish().
  [[nodiscard]] const double* received(std::int32_t i, int face, int part) const {
    return receive_buffer_.data() + receive_at_[border_index_[i]][face][part];
  }
  /// Blocks without and with ghost neighbours, ascending.
  [[nodiscard]] const std::vector<std::int32_t>& interior() const { return blocks_.interior; }
  [[nodiscard]] const std::vector<std::int32_t>& border() const { return blocks_.border; }

  /// Of one exchange of this rank.
  [[nodiscard]] HaloSize size() const {
    HaloSize size;
    add_sends(plan_.sends, size);
    return size;
  }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  kernels::BlockLayout layout_;
  const support::DistGraph* graph_ = nullptr;
  HaloPlan plan_;
  MessageCounts send_counts_, receive_counts_;
  BlockLists blocks_;
  std::vector<std::int32_t> border_index_;  ///< position among border blocks of a block, -1 inside
  std::vector<std::array<std::array<std::size_t, 4>, 6>> receive_at_;
  support::PageBuffer<double> send_buffer_, receive_buffer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace amrbench::amr
