#include "amr/wide_halo.hpp"

#include <omp.h>

#include <algorithm>

#include "support/metrics.hpp"

namespace amrbench::amr {

using kernels::TileTransfer;

void WideHalo::rebuild(const Mesh<3>& mesh) {
  graph_ = &mesh.graph();
  const PieceSizes sizes = tile_piece_sizes(layout_);
  for (int axis = 0; axis < 3; ++axis) {
    Plan& plan = plans_[axis];
    plan.pieces = make_halo_plan(mesh, layout_.block, sizes, axis, axis + 1);
    plan.sends = mpi_counts(plan.pieces.sends);
    plan.receives = mpi_counts(plan.pieces.receives);
    send_buffer_.grow(plan.pieces.sends.values + 1);
    receive_buffer_.grow(plan.pieces.receives.values + 1);
  }
}

void WideHalo::start(const Plan& plan, const double* tiles) {
  double* const buffer = send_buffer_.data();
  const auto& pieces = plan.pieces.sends.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const HaloPiece& p = pieces[k];
    kernels::pack_tile_piece(layout_, tiles + p.block * layout_.values(), p.face, p.transfer, p.part, buffer + p.at);
  }
  const MessageCounts &out = plan.sends, &in = plan.receives;
  support::mpi_check(MPI_Ineighbor_alltoallv(buffer, out.counts.data(), out.starts.data(), MPI_DOUBLE,
                                             receive_buffer_.data(), in.counts.data(), in.starts.data(), MPI_DOUBLE,
                                             graph_->comm().get(), &request_));
}

double WideHalo::finish(const Plan& plan, double* tiles) {
  const double begin = support::Metrics::steady_seconds();
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  const double waited = support::Metrics::steady_seconds() - begin;
  const double* const buffer = receive_buffer_.data();
  const auto& pieces = plan.pieces.receives.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const HaloPiece& p = pieces[k];
    kernels::unpack_tile_piece(layout_, buffer + p.at, p.face, p.transfer, p.part, tiles + p.block * layout_.values());
  }
  return waited;
}

void WideHalo::fill_face(const Mesh<3>& mesh, std::int32_t i, int face, double* tiles, double* scratch) const {
  const auto& links = mesh.links(i);
  const FaceKind kind = links.kind[face];
  double* const tile = tiles + i * layout_.values();
  if (kind == FaceKind::boundary) return kernels::close_face(layout_, tile, face);
  for (int q = 0; q < (kind == FaceKind::fine ? 4 : 1); ++q) {
    const std::int32_t j = links.index[face][q];
    if (j >= mesh.size()) continue;
    const double* const neighbor = tiles + j * layout_.values();
    if (kind == FaceKind::same) {
      kernels::copy_face(layout_, neighbor, tile, face);
      continue;
    }
    const TileTransfer transfer = kind == FaceKind::coarse ? TileTransfer::quarter : TileTransfer::restricted;
    const int part = kind == FaceKind::coarse ? own_part(layout_.block, mesh.coord(i), face / 2) : q;
    kernels::pack_tile_piece(layout_, neighbor, face ^ 1, transfer, part, scratch);
    kernels::unpack_tile_piece(layout_, scratch, face, transfer, part, tile);
  }
}

void WideHalo::fill_local(const Mesh<3>& mesh, int axis, double* tiles) {
  // Reads the outermost layers of cells across `axis`, writes ghosts beyond them: blocks do not disturb each other.
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    double* const scratch = scratch_[omp_get_thread_num()].data();
    fill_face(mesh, i, 2 * axis, tiles, scratch);
    fill_face(mesh, i, 2 * axis + 1, tiles, scratch);
  }
}

double WideHalo::exchange(const Mesh<3>& mesh, double* tiles, bool overlap) {
  std::size_t largest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    largest = std::max({largest, kernels::tile_piece_values(layout_, TileTransfer::quarter, axis),
                        kernels::tile_piece_values(layout_, TileTransfer::restricted, axis)});
  }
  scratch_.resize(std::max(scratch_.size(), std::size_t(omp_get_max_threads())));
  for (auto& scratch : scratch_) scratch.resize(largest);
  double waited = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    start(plans_[axis], tiles);
    if (overlap) fill_local(mesh, axis, tiles);
    waited += finish(plans_[axis], tiles);
    if (!overlap) fill_local(mesh, axis, tiles);
  }
  return waited;
}

std::int64_t WideHalo::bytes_sent_each() const {
  std::size_t values = 0;
  for (const Plan& plan : plans_) values += plan.pieces.sends.values;
  return static_cast<std::int64_t>(values * sizeof(double));
}

std::int64_t WideHalo::pieces() const {
  std::size_t count = 0;
  for (const Plan& plan : plans_) count += plan.pieces.sends.pieces.size();
  return static_cast<std::int64_t>(count);
}

std::size_t WideHalo::memory_bytes() const {
  std::size_t bytes = send_buffer_.bytes() + receive_buffer_.bytes();
  for (const Plan& plan : plans_) bytes += plan.pieces.memory_bytes();
  for (const auto& scratch : scratch_) bytes += scratch.capacity() * sizeof(double);
  return bytes;
}

}  // namespace amrbench::amr
