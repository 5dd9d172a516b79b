#include "amr/halo.hpp"

#include "kernels/faces.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

void Halo::rebuild(const Mesh<3>& mesh, const kernels::BlockLayout& layout) {
  layout_ = layout;
  graph_ = &mesh.graph();
  plan_ = make_halo_plan(mesh, face_piece_sizes(layout));
  send_counts_ = mpi_counts(plan_.sends);
  receive_counts_ = mpi_counts(plan_.receives);
  blocks_ = list_blocks(mesh);
  border_index_.assign(mesh.size(), -1);
  for (std::size_t k = 0; k < blocks_.border.size(); ++k)
    border_index_[blocks_.border[k]] = static_cast<std::int32_t>(k);
  receive_at_.assign(blocks_.border.size(), {});
  for (const HaloPiece& p : plan_.receives.pieces) {
    // Only behind a face of fine blocks are there several pieces.
    const int part = p.transfer == Transfer::restricted ? p.part : 0;
    receive_at_[border_index_[p.block]][p.face][part] = p.at;
  }
  send_buffer_.grow(plan_.sends.values + kernels::kPadding);
  receive_buffer_.grow(plan_.receives.values + kernels::kPadding);
}

void Halo::start(const FieldStore& fields) {
  double* const buffer = send_buffer_.data();
  const auto& pieces = plan_.sends.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const HaloPiece& p = pieces[k];
    const double* block = fields.block(p.block);
    double* out = buffer + p.at;
    switch (p.transfer) {
      case Transfer::whole:
        kernels::pack_face(layout_, block, p.face, out);
        break;
      case Transfer::quarter:
        kernels::pack_quarter(layout_, block, p.face, p.part & 1, p.part >> 1, out);
        break;
      case Transfer::restricted:
        kernels::pack_restricted(layout_, block, p.face, out);
        break;
    }
  }
  support::mpi_check(MPI_Ineighbor_alltoallv(
      buffer, send_counts_.counts.data(), send_counts_.starts.data(), MPI_DOUBLE, receive_buffer_.data(),
      receive_counts_.counts.data(), receive_counts_.starts.data(), MPI_DOUBLE, graph_->comm().get(), &request_));
}

double Halo::finish() {
  const double begin = support::Metrics::steady_seconds();
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  return support::Metrics::steady_seconds() - begin;
}

std::size_t Halo::memory_bytes() const {
  return send_buffer_.bytes() + receive_buffer_.bytes() + plan_.memory_bytes() +
         receive_at_.capacity() * sizeof(receive_at_[0]) +
         (blocks_.interior.capacity() + blocks_.border.capacity() + border_index_.capacity()) * sizeof(std::int32_t);
}

}  // namespace amrbench::amr
