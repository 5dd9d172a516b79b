#include "amr/wide_halo.hpp"

#include <omp.h>

#include <algorithm>

#include "kernels/extensive.hpp"
#include "support/metrics.hpp"

namespace amrbench::amr {

using kernels::PieceSource;
using kernels::TileTransfer;

WideHalo::WideHalo(const kernels::BlockLayout& layout) : layout_(layout), sources_(layout) {
  for (int axis = 0; axis < 3; ++axis) steps_[axis] = kernels::piece_steps(sources_.tiles(axis));
  steps_[PieceSource::kBlock] = kernels::piece_steps(layout);
}

void WideHalo::rebuild(const Mesh<3>& mesh) {
  graph_ = &mesh.graph();
  const PieceSizes sizes = tile_piece_sizes(kernels::make_tile_layout(layout_));
  for (int a = 0; a < 3; ++a) {
    Axis& axis = axes_[a];
    axis.pieces = make_halo_plan(mesh, sizes, a, a + 1);
    axis.sends = mpi_counts(axis.pieces.sends);
    axis.receives = mpi_counts(axis.pieces.receives);
    send_buffer_.grow(axis.pieces.sends.values + 1);
    receive_buffer_.grow(axis.pieces.receives.values + 1);
  }
  sources_.rebuild(mesh);
  places_.resize(std::size_t(mesh.size()));
  first_place_[PieceSource::kBlock] = 0;
  for (int a = 0; a < 3; ++a) {
    const std::size_t faces = sources_.crossings(a).size(), values = sources_.tiles(a).values();
    axes_[a].faces.grow(faces * values + kernels::kPadding);
    first_place_[a] = places_.size();
    for (std::size_t k = 0; k < faces; ++k) places_.push_back(axes_[a].faces.data() + k * values);
  }
}

kernels::Surroundings WideHalo::around(std::int32_t i, int first, int last, const BlockRange& near) const {
  kernels::Surroundings around;
  around.far = 0;
  const PieceSource* const sources = sources_.sources().data() + std::size_t(i) * 27;
  for (int k = first; k < last; ++k) {
    const PieceSource s = sources[k];
    around.pieces[k] = piece(s);
    const bool is_near = s.kind == PieceSource::kBlock && s.index >= near.begin && s.index < near.end;
    around.far |= (is_near ? 0U : 1U) << k;
  }
  return around;
}

kernels::Octet WideHalo::around(const Octets::Sources& sources, const BlockRange& near) const {
  kernels::Octet octet;
  for (std::size_t k = 0; k < 64; ++k) {
    const PieceSource s = sources[k];
    octet.pieces[k] = piece(s);
    const bool is_near = s.kind == PieceSource::kBlock && s.index >= near.begin && s.index < near.end;
    octet.far |= std::uint64_t{is_near ? 0U : 1U} << k;
  }
  return octet;
}

double* WideHalo::face_tile(std::int32_t block, int face) {
  return axes_[face / 2].faces.data() + sources_.number(block, face) * sources_.tiles(face / 2).values();
}

/// What block i sends across `face`: its outermost layer with the ghosts that extend it, or the quarter of that. Only
/// what is to be restricted goes through a tile.
void WideHalo::pack(std::int32_t i, int face, TileTransfer transfer, int part, double* out, Scratch& scratch) const {
  const int axis = face / 2, layer = face % 2 ? layout_.cells[axis] - 1 : 0;
  const kernels::TileLayout& tiles = sources_.tiles(axis);
  const bool quarter = transfer == TileTransfer::quarter;
  kernels::CellBox box{{}, layout_.cells};
  for (const int a : {layout_.face_axis_a(axis), layout_.face_axis_b(axis)}) {
    const int extension = kernels::TileLayout::extension(axis, a), half = layout_.cells[a] / 2;
    const bool upper = quarter && ((a == layout_.face_axis_a(axis) ? part : part >> 1) & 1) != 0;
    box.low[a] = (upper ? half : 0) - extension;
    box.high[a] = (quarter && !upper ? half : layout_.cells[a]) + extension;
  }
  box.low[axis] = layer;
  box.high[axis] = layer + 1;
  constexpr std::array<int, 3> kReach{0, 1, 4};  // ghosts lie across the axes before: 1, 3 or 9 pieces
  constexpr int kCentre = kernels::Surroundings::index(0, 0, 0);
  const kernels::Surroundings pieces = around(i, kCentre - kReach[axis], kCentre + kReach[axis] + 1, {});
  if (transfer == TileTransfer::restricted) {
    std::array<int, 3> to = box.low;
    to[axis] = face % 2 ? -1 : 0;
    scratch.tile.resize(tiles.values());
    kernels::gather_cells(layout_, pieces, box, steps_[axis], tiles.lanes,
                          scratch.tile.data() + tiles.cell(to[0], to[1], to[2]));
    return kernels::pack_tile_piece(tiles, scratch.tile.data(), face, transfer, part, out);
  }
  kernels::PieceSteps packed{{}, std::size_t(layout_.lanes)};
  for (int a = 0; a < 3; ++a) {
    packed.cell[a] = packed.chunk;
    packed.chunk *= std::size_t(box.high[a] - box.low[a]);
  }
  kernels::gather_cells(layout_, pieces, box, packed, layout_.lanes, out);
  if (!quarter) return;
  for (std::size_t k = 0; k < packed.chunk * layout_.chunks; ++k) out[k] = kernels::face_quarter(out[k]);
}

void WideHalo::start(const Axis& axis) {
  double* const buffer = send_buffer_.data();
  const auto& pieces = axis.pieces.sends.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const HaloPiece& p = pieces[k];
    pack(p.block, p.face, p.transfer, p.part, buffer + p.at, scratch_[omp_get_thread_num()]);
  }
  const MessageCounts &out = axis.sends, &in = axis.receives;
  support::mpi_check(MPI_Ineighbor_alltoallv(buffer, out.counts.data(), out.starts.data(), MPI_DOUBLE,
                                             receive_buffer_.data(), in.counts.data(), in.starts.data(), MPI_DOUBLE,
                                             graph_->comm().get(), &request_));
}

double WideHalo::finish(const Axis& axis) {
  const double begin = support::Metrics::steady_seconds();
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  const double waited = support::Metrics::steady_seconds() - begin;
  const double* const buffer = receive_buffer_.data();
  const auto& pieces = axis.pieces.receives.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const HaloPiece& p = pieces[k];
    kernels::unpack_tile_piece(sources_.tiles(p.face / 2), buffer + p.at, p.face, p.transfer, p.part,
                               face_tile(p.block, p.face));
  }
  return waited;
}

/// Reads blocks and faces across the axes before, writes faces across this one: faces do not disturb each other.
void WideHalo::fill_local(const Mesh<3>& mesh, int axis) {
  const kernels::TileLayout& tiles = sources_.tiles(axis);
  const std::span<const WideSources::Crossing> crossings = sources_.crossings(axis);
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < crossings.size(); ++k) {
    const auto [i, face] = crossings[k];
    Scratch& scratch = scratch_[omp_get_thread_num()];
    const bool coarse = mesh.links(i).kind[face] == FaceKind::coarse;
    const TileTransfer transfer = coarse ? TileTransfer::quarter : TileTransfer::restricted;
    scratch.piece.resize(kernels::tile_piece_values(tiles, transfer, axis));
    for (int q = 0; q < (mesh.links(i).kind[face] == FaceKind::fine ? 4 : 1); ++q) {
      const std::int32_t j = mesh.links(i).index[face][q];
      if (j >= mesh.size()) continue;
      const int part = coarse ? own_part<3>(mesh.coord(i), axis) : q;
      pack(j, face ^ 1, transfer, part, scratch.piece.data(), scratch);
      kernels::unpack_tile_piece(tiles, scratch.piece.data(), face, transfer, part, face_tile(i, face));
    }
  }
}

double WideHalo::exchange(const Mesh<3>& mesh, const FieldStore& fields, bool overlap) {
  scratch_.resize(std::max(scratch_.size(), std::size_t(omp_get_max_threads())));
#pragma omp parallel for schedule(static)
  for (std::int32_t i = 0; i < mesh.size(); ++i) places_[std::size_t(i)] = fields.block(i);
  double waited = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    start(axes_[axis]);
    if (overlap) fill_local(mesh, axis);
    waited += finish(axes_[axis]);
    if (!overlap) fill_local(mesh, axis);
  }
  return waited;
}

HaloSize WideHalo::size() const {
  HaloSize size;
  for (const Axis& axis : axes_) add_sends(axis.pieces.sends, size);
  return size;
}

std::size_t WideHalo::memory_bytes() const {
  std::size_t bytes = send_buffer_.bytes() + receive_buffer_.bytes() + sources_.memory_bytes();
  bytes += places_.capacity() * sizeof(places_[0]);
  for (const Axis& axis : axes_) bytes += axis.pieces.memory_bytes() + axis.faces.bytes();
  for (const Scratch& scratch : scratch_)
    bytes += (scratch.tile.capacity() + scratch.piece.capacity()) * sizeof(double);
  return bytes;
}

}  // namespace amrbench::amr
