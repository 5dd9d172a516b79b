#include "amr/halo.hpp"

#include <algorithm>
#include <tuple>

#include "kernels/faces.hpp"

namespace amrbench::amr {

/// An entry of a message's table of contents, from either side.
struct Halo::Piece {
  std::size_t neighbor;  ///< index in mesh.neighbors()
  Key sender;
  int sender_face;
  Key receiver;
  Transfer transfer;
  std::int32_t block;  ///< local block
  int part;            ///< sender: quarter to cut; receiver: part of the face it fills

  [[nodiscard]] auto order() const { return std::tie(neighbor, sender, sender_face, receiver); }
};

namespace {

int opposite(int face) {
  return face ^ 1;
}

}  // namespace

std::size_t Halo::piece_values(Transfer transfer, int axis) const {
  return transfer == Transfer::whole ? layout_.face_values(axis) : layout_.quarter_values(axis);
}

void Halo::list_sends(const Mesh<3>& mesh, const std::vector<std::size_t>& neighbor_of_ghost) {
  std::vector<Piece> pieces;
  for (const std::int32_t i : border_) {
    const auto& links = mesh.links(i);
    for (int face = 0; face < 6; ++face) {
      for (int part = 0; part < 4; ++part) {
        const std::int32_t j = links.index[face][part];
        if (j < mesh.size()) continue;
        const Transfer transfer = links.kind[face] == FaceKind::same     ? Transfer::whole
                                  : links.kind[face] == FaceKind::coarse ? Transfer::restricted
                                                                         : Transfer::quarter;
        pieces.push_back({neighbor_of_ghost[j - mesh.size()], mesh.keys()[i], face, mesh.key_of(j), transfer, i, part});
      }
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.order() < b.order(); });
  sends_.clear();
  send_counts_.assign(mesh.neighbors().size(), 0);
  std::size_t at = 0;
  std::vector<std::size_t> counts(mesh.neighbors().size(), 0);
  for (const Piece& p : pieces) {
    sends_.push_back(
        {p.block, static_cast<std::int8_t>(p.sender_face), static_cast<std::int8_t>(p.part), p.transfer, at});
    const std::size_t values = piece_values(p.transfer, p.sender_face / 2);
    counts[p.neighbor] += values;
    at += values;
  }
  send_values_ = at;
  send_starts_.clear();
  at = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    send_starts_.push_back(support::mpi_count(at, "halo message"));
    send_counts_[k] = support::mpi_count(counts[k], "halo message");
    at += counts[k];
  }
  send_buffer_.grow(send_values_ + kernels::kPadding);
}

void Halo::list_receives(const Mesh<3>& mesh, const std::vector<std::size_t>& neighbor_of_ghost) {
  std::vector<Piece> pieces;
  for (const std::int32_t i : border_) {
    const auto& links = mesh.links(i);
    for (int face = 0; face < 6; ++face) {
      for (int part = 0; part < 4; ++part) {
        const std::int32_t j = links.index[face][part];
        if (j < mesh.size()) continue;
        const Transfer transfer = links.kind[face] == FaceKind::same ? Transfer::whole : Transfer::quarter;
        pieces.push_back(
            {neighbor_of_ghost[j - mesh.size()], mesh.key_of(j), opposite(face), mesh.keys()[i], transfer, i, part});
      }
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.order() < b.order(); });
  receive_at_.assign(border_.size(), {});
  std::vector<std::size_t> counts(mesh.neighbors().size(), 0);
  std::size_t at = 0;
  for (const Piece& p : pieces) {
    receive_at_[border_index_[p.block]][opposite(p.sender_face)][p.part] = at;
    const std::size_t values = piece_values(p.transfer, p.sender_face / 2);
    counts[p.neighbor] += values;
    at += values;
  }
  receive_buffer_.grow(at + kernels::kPadding);
  receive_counts_.clear();
  receive_starts_.clear();
  at = 0;
  for (const std::size_t count : counts) {
    receive_starts_.push_back(support::mpi_count(at, "halo message"));
    receive_counts_.push_back(support::mpi_count(count, "halo message"));
    at += count;
  }
}

void Halo::rebuild(const Mesh<3>& mesh, const kernels::BlockLayout& layout) {
  layout_ = layout;
  graph_ = &mesh.graph();
  interior_.clear();
  border_.clear();
  border_index_.assign(mesh.size(), -1);
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    if (mesh.has_ghost_neighbor(i)) {
      border_index_[i] = static_cast<std::int32_t>(border_.size());
      border_.push_back(i);
    } else {
      interior_.push_back(i);
    }
  }
  std::vector<std::size_t> neighbor_of_ghost(mesh.ghost_count());
  for (std::size_t k = 0; k < mesh.neighbors().size(); ++k) {
    for (std::int32_t g = mesh.neighbors()[k].ghosts_begin; g < mesh.neighbors()[k].ghosts_end; ++g)
      neighbor_of_ghost[g] = k;
  }
  list_sends(mesh, neighbor_of_ghost);
  list_receives(mesh, neighbor_of_ghost);
}

void Halo::start(const FieldStore& fields) {
  double* const buffer = send_buffer_.data();
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < sends_.size(); ++k) {
    const Send& s = sends_[k];
    const double* block = fields.block(s.block);
    double* out = buffer + s.at;
    switch (s.transfer) {
      case Transfer::whole:
        kernels::pack_face(layout_, block, s.face, out);
        break;
      case Transfer::quarter:
        kernels::pack_quarter(layout_, block, s.face, s.part & 1, s.part >> 1, out);
        break;
      case Transfer::restricted:
        kernels::pack_restricted(layout_, block, s.face, out);
        break;
    }
  }
  support::mpi_check(MPI_Ineighbor_alltoallv(buffer, send_counts_.data(), send_starts_.data(), MPI_DOUBLE,
                                             receive_buffer_.data(), receive_counts_.data(), receive_starts_.data(),
                                             MPI_DOUBLE, graph_->comm().get(), &request_));
}

void Halo::finish() {
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
}

std::size_t Halo::memory_bytes() const {
  return send_buffer_.bytes() + receive_buffer_.bytes() + sends_.capacity() * sizeof(Send) +
         receive_at_.capacity() * sizeof(receive_at_[0]) +
         (interior_.capacity() + border_.capacity() + border_index_.capacity()) * sizeof(std::int32_t);
}

}  // namespace amrbench::amr
