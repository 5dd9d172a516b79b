#include "workloads/shallow_water/strips.hpp"

#include <algorithm>

#include "kernels/shallow_water/boundary.hpp"
#include "support/metrics.hpp"

namespace amrbench::workloads::shallow_water {

namespace {

/// Roughness behind a face is not read, so it does not travel.
constexpr int kTravelling = swe::kVariables - 1;

/// Cells [begin, begin + count) along face `face` of a block, two layers, to a strip of `along` cells from `offset` on.
void copy_cells(int n, int face, const double* block, int begin, int count, int offset, int along, double* strip) {
  const std::size_t plane = std::size_t(n) * std::size_t(n);
  for (int v = 0; v < kTravelling; ++v) {
    for (int layer = 0; layer < 2; ++layer) {
      const double* const from = block + std::size_t(v) * plane;
      double* const to = strip + std::size_t(v * 2 + layer) * std::size_t(along) + offset;
      if (face >= 2) {
        std::copy_n(from + swe::cell_at_face(n, face, layer, begin), count, to);
      } else {
        for (int m = 0; m < count; ++m) to[m] = from[swe::cell_at_face(n, face, layer, begin + m)];
      }
    }
  }
}

bool is_dry_strip(const double* strip, int along) {
  return std::all_of(strip, strip + 2 * along, [](double depth) { return depth == 0.0; });
}

}  // namespace

void StripHalo::rebuild(const amr::Mesh<2>& mesh) {
  const auto n = static_cast<std::size_t>(cells_);
  amr::PieceSizes sizes{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    sizes[std::size_t(amr::Transfer::whole)][axis] = kTravelling * 2 * n;
    sizes[std::size_t(amr::Transfer::quarter)][axis] = kTravelling * n;         // half a face of a coarse block
    sizes[std::size_t(amr::Transfer::restricted)][axis] = kTravelling * 2 * n;  // a face of a fine one as it is
  }
  graph_ = &mesh.graph();
  plan_ = amr::make_halo_plan(mesh, sizes);
  send_counts_ = amr::mpi_counts(plan_.sends);
  receive_counts_ = amr::mpi_counts(plan_.receives);
  blocks_ = amr::list_blocks(mesh);
  border_index_.assign(std::size_t(mesh.size()), -1);
  for (std::size_t k = 0; k < blocks_.border.size(); ++k)
    border_index_[std::size_t(blocks_.border[k])] = static_cast<std::int32_t>(k);
  receive_at_.assign(blocks_.border.size(), {});
  for (const amr::HaloPiece& p : plan_.receives.pieces) {
    const int part = p.transfer == amr::Transfer::restricted ? p.part : 0;
    receive_at_[std::size_t(border_index_[std::size_t(p.block)])][std::size_t(p.face)][std::size_t(part)] = p.at;
  }
  send_buffer_.grow(plan_.sends.values + 1);
  receive_buffer_.grow(plan_.receives.values + 1);
}

void StripHalo::start(const amr::FieldStore& fields) {
  double* const buffer = send_buffer_.data();
  const auto& pieces = plan_.sends.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const amr::HaloPiece& p = pieces[k];
    const int count = p.transfer == amr::Transfer::quarter ? cells_ / 2 : cells_;
    const int begin = p.transfer == amr::Transfer::quarter ? p.part * count : 0;
    copy_cells(cells_, p.face, fields.block(p.block), begin, count, 0, count, buffer + p.at);
  }
  support::mpi_check(MPI_Ineighbor_alltoallv(
      buffer, send_counts_.counts.data(), send_counts_.starts.data(), MPI_DOUBLE, receive_buffer_.data(),
      receive_counts_.counts.data(), receive_counts_.starts.data(), MPI_DOUBLE, graph_->comm().get(), &request_));
}

double StripHalo::finish() {
  const double begin = support::Metrics::steady_seconds();
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  return support::Metrics::steady_seconds() - begin;
}

/// Two fine blocks beside each other, wherever each of them is.
void StripHalo::gather_fine(const amr::Mesh<2>& mesh, const amr::FieldStore& fields, std::int32_t i, int face,
                            double* strip) const {
  for (int part = 0; part < 2; ++part) {
    const std::int32_t j = mesh.links(i).index[std::size_t(face)][std::size_t(part)];
    if (j < mesh.size()) {
      copy_cells(cells_, face ^ 1, fields.block(j), 0, cells_, part * cells_, 2 * cells_, strip);
      continue;
    }
    const double* const from = received(i, face, part);
    for (int row = 0; row < 2 * kTravelling; ++row)
      std::copy_n(from + row * cells_, cells_, strip + row * 2 * cells_ + part * cells_);
  }
}

void StripHalo::gather(const amr::Mesh<2>& mesh, const amr::FieldStore& fields, const Problem& problem, double time,
                       std::int32_t i, StripSet& set) const {
  const auto& links = mesh.links(i);
  set.is_dry = true;
  for (int face = 0; face < 4; ++face) {
    double* const buffer = set.buffer(face);
    swe::Strip<double>& strip = set.strips[std::size_t(face)];
    strip = {buffer, swe::StripKind::same};
    const amr::FaceKind kind = links.kind[std::size_t(face)];
    const std::int32_t j = links.index[std::size_t(face)][0];
    if (kind == amr::FaceKind::boundary) {
      problem.fill_boundary(mesh, i, face, time, fields.block(i), buffer);
    } else if (kind == amr::FaceKind::fine) {
      strip.kind = swe::StripKind::fine;
      gather_fine(mesh, fields, i, face, buffer);
    } else {
      if (kind == amr::FaceKind::coarse) strip.kind = swe::StripKind::coarse;
      if (j >= mesh.size()) {
        strip.values = received(i, face, 0);
      } else if (kind == amr::FaceKind::same) {
        copy_cells(cells_, face ^ 1, fields.block(j), 0, cells_, 0, cells_, buffer);
      } else {
        const int part = amr::own_part<2>(mesh.coord(i), face / 2);
        copy_cells(cells_, face ^ 1, fields.block(j), part * cells_ / 2, cells_ / 2, 0, cells_ / 2, buffer);
      }
    }
    set.is_dry = set.is_dry && is_dry_strip(strip.values, swe::strip_cells(strip.kind, cells_));
  }
}

}  // namespace amrbench::workloads::shallow_water
