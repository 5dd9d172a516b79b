#include "amr/wide_halo.hpp"

#include <omp.h>

#include <algorithm>
#include <tuple>

namespace amrbench::amr {

using kernels::TileTransfer;

/// A piece with what orders it in its message.
struct WideHalo::Entry {
  std::size_t neighbor;  ///< index in mesh.neighbors()
  Key sender;
  int sender_face;
  Key receiver;
  Piece piece;

  [[nodiscard]] auto order() const { return std::tie(neighbor, sender, sender_face, receiver); }
};

namespace {

/// Which quarter of the coarse face across `axis` a fine block at `c` covers.
int own_part(const kernels::TileLayout& layout, const Mesh<3>::Coord& c, int axis) {
  const int a = layout.block.face_axis_a(axis), b = layout.block.face_axis_b(axis);
  return int(c[a] & 1) | int(c[b] & 1) << 1;
}

}  // namespace

WideHalo::Messages WideHalo::lay_out(std::vector<Entry> entries, std::size_t neighbors) const {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.order() < b.order(); });
  Messages messages;
  std::vector<std::size_t> counts(neighbors, 0);
  for (Entry& entry : entries) {
    const std::size_t values = kernels::tile_piece_values(layout_, entry.piece.transfer, entry.piece.face / 2);
    entry.piece.at = messages.values;
    messages.pieces.push_back(entry.piece);
    messages.values += values;
    counts[entry.neighbor] += values;
  }
  std::size_t at = 0;
  for (const std::size_t count : counts) {
    messages.starts.push_back(support::mpi_count(at, "halo message"));
    messages.counts.push_back(support::mpi_count(count, "halo message"));
    at += count;
  }
  return messages;
}

WideHalo::Plan WideHalo::make_plan(const Mesh<3>& mesh, int axis,
                                   const std::vector<std::size_t>& neighbor_of_ghost) const {
  std::vector<Entry> sends, receives;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    if (!mesh.has_ghost_neighbor(i)) continue;
    const auto& links = mesh.links(i);
    for (int face = 2 * axis; face < 2 * axis + 2; ++face) {
      for (int q = 0; q < 4; ++q) {
        const std::int32_t j = links.index[face][q];
        if (j < mesh.size()) continue;
        const FaceKind kind = links.kind[face];
        // The part is always that of the coarse one of the two faces.
        const int part = kind == FaceKind::coarse ? own_part(layout_, mesh.coord(i), axis) : q;
        const TileTransfer out = kind == FaceKind::same     ? TileTransfer::whole
                                 : kind == FaceKind::coarse ? TileTransfer::restricted
                                                            : TileTransfer::quarter;
        const TileTransfer in = kind == FaceKind::same     ? TileTransfer::whole
                                : kind == FaceKind::coarse ? TileTransfer::quarter
                                                           : TileTransfer::restricted;
        const std::size_t neighbor = neighbor_of_ghost[j - mesh.size()];
        const auto f = static_cast<std::int8_t>(face), p = static_cast<std::int8_t>(part);
        sends.push_back({neighbor, mesh.keys()[i], face, mesh.key_of(j), {i, f, p, out, 0}});
        receives.push_back({neighbor, mesh.key_of(j), face ^ 1, mesh.keys()[i], {i, f, p, in, 0}});
      }
    }
  }
  return {lay_out(std::move(sends), mesh.neighbors().size()), lay_out(std::move(receives), mesh.neighbors().size())};
}

void WideHalo::rebuild(const Mesh<3>& mesh) {
  graph_ = &mesh.graph();
  std::vector<std::size_t> neighbor_of_ghost(mesh.ghost_count());
  for (std::size_t k = 0; k < mesh.neighbors().size(); ++k) {
    for (std::int32_t g = mesh.neighbors()[k].ghosts_begin; g < mesh.neighbors()[k].ghosts_end; ++g)
      neighbor_of_ghost[g] = k;
  }
  for (int axis = 0; axis < 3; ++axis) {
    plans_[axis] = make_plan(mesh, axis, neighbor_of_ghost);
    send_buffer_.grow(plans_[axis].sends.values + 1);
    receive_buffer_.grow(plans_[axis].receives.values + 1);
  }
}

void WideHalo::start(const Plan& plan, const double* tiles) {
  double* const buffer = send_buffer_.data();
  const auto& pieces = plan.sends.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Piece& p = pieces[k];
    kernels::pack_tile_piece(layout_, tiles + p.block * layout_.values(), p.face, p.transfer, p.part, buffer + p.at);
  }
  const Messages &out = plan.sends, &in = plan.receives;
  support::mpi_check(MPI_Ineighbor_alltoallv(buffer, out.counts.data(), out.starts.data(), MPI_DOUBLE,
                                             receive_buffer_.data(), in.counts.data(), in.starts.data(), MPI_DOUBLE,
                                             graph_->comm().get(), &request_));
}

void WideHalo::finish(const Plan& plan, double* tiles) {
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  const double* const buffer = receive_buffer_.data();
  const auto& pieces = plan.receives.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Piece& p = pieces[k];
    kernels::unpack_tile_piece(layout_, buffer + p.at, p.face, p.transfer, p.part, tiles + p.block * layout_.values());
  }
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
    const int part = kind == FaceKind::coarse ? own_part(layout_, mesh.coord(i), face / 2) : q;
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

void WideHalo::exchange(const Mesh<3>& mesh, double* tiles, bool overlap) {
  std::size_t largest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    largest = std::max({largest, kernels::tile_piece_values(layout_, TileTransfer::quarter, axis),
                        kernels::tile_piece_values(layout_, TileTransfer::restricted, axis)});
  }
  scratch_.resize(std::max(scratch_.size(), std::size_t(omp_get_max_threads())));
  for (auto& scratch : scratch_) scratch.resize(largest);
  for (int axis = 0; axis < 3; ++axis) {
    start(plans_[axis], tiles);
    if (overlap) fill_local(mesh, axis, tiles);
    finish(plans_[axis], tiles);
    if (!overlap) fill_local(mesh, axis, tiles);
  }
}

std::int64_t WideHalo::bytes_sent_each() const {
  std::size_t values = 0;
  for (const Plan& plan : plans_) values += plan.sends.values;
  return static_cast<std::int64_t>(values * sizeof(double));
}

std::int64_t WideHalo::pieces() const {
  std::size_t count = 0;
  for (const Plan& plan : plans_) count += plan.sends.pieces.size();
  return static_cast<std::int64_t>(count);
}

std::size_t WideHalo::memory_bytes() const {
  std::size_t bytes = send_buffer_.bytes() + receive_buffer_.bytes();
  for (const Plan& plan : plans_) {
    for (const Messages* m : {&plan.sends, &plan.receives}) {
      bytes += m->pieces.capacity() * sizeof(Piece) + (m->counts.capacity() + m->starts.capacity()) * sizeof(int);
    }
  }
  for (const auto& scratch : scratch_) bytes += scratch.capacity() * sizeof(double);
  return bytes;
}

}  // namespace amrbench::amr
