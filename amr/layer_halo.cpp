#include "amr/layer_halo.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "support/metrics.hpp"

namespace amrbench::amr {

namespace {

/// Rows are short and mostly of whole vectors: inline, four at a time.
inline void copy_row(const double* from, std::ptrdiff_t count, double* to) {
  std::ptrdiff_t a = 0;
  for (; a + 4 <= count; a += 4) std::memcpy(to + a, from + a, 4 * sizeof(double));
  for (; a < count; ++a) to[a] = from[a];
}

}  // namespace

template <int Dim>
LayerHalo<Dim>::LayerHalo(const kernels::BlockLayout& layout, int variables, int layers)
    : layout_(layout), layers_(layers) {
  const bool is_flat = Dim == 3 || layout.cells[2] == 1;
  const int thinnest = *std::min_element(layout.cells.begin(), layout.cells.begin() + Dim);
  if (!is_flat || variables < 1 || variables > layout.variables || layers < 1 || layers > thinnest)
    throw std::logic_error("layers of cells that the blocks do not hold");
  for (int v = 0; v < variables; ++v) variables_.push_back(layout.offset(v, 0, 0, 0));
  for (int face = 0; face < kFaces; ++face) steps_[std::size_t(face)] = face_steps(face);
  for (int axis = 0; axis < Dim; ++axis) {
    const std::array<int, 2> n{layout.cells[std::size_t(layout.face_axis_a(axis))],
                               layout.cells[std::size_t(layout.face_axis_b(axis))]};
    auto& by_kind = cells_[std::size_t(axis)];
    by_kind.fill(n);
    for (std::size_t k = 0; k < Dim - 1; ++k) {
      by_kind[std::size_t(FaceKind::coarse)][k] = n[k] / 2;
      by_kind[std::size_t(FaceKind::fine)][k] = 2 * n[k];
    }
  }
}

template <int Dim>
typename LayerHalo<Dim>::FaceSteps LayerHalo<Dim>::face_steps(int face) const {
  const std::array<std::size_t, 3> step{std::size_t(layout_.lanes), layout_.row_values(), layout_.plane_values()};
  const int axis = face / 2;
  const auto along = [&](int d) { return static_cast<std::ptrdiff_t>(step[std::size_t(d)]); };
  const std::ptrdiff_t last = (layout_.cells[std::size_t(axis)] - 1) * along(axis);
  return {along(layout_.face_axis_a(axis)), along(layout_.face_axis_b(axis)),
          face % 2 == 0 ? along(axis) : -along(axis), face % 2 == 0 ? 0 : last};
}

template <int Dim>
std::size_t LayerHalo<Dim>::values(int face, FaceKind kind) const {
  const std::array<int, 2> n = cells(face, kind);
  return variables_.size() * std::size_t(layers_) * std::size_t(n[0]) * std::size_t(n[1]);
}

template <int Dim>
std::size_t LayerHalo<Dim>::most_values() const {
  std::size_t most = 0;
  for (int face = 0; face < kFaces; face += 2) most = std::max(most, values(face, FaceKind::fine));
  return most;
}

template <int Dim>
void LayerHalo<Dim>::rebuild(const Mesh<Dim>& mesh) {
  PieceSizes sizes{};
  for (std::size_t axis = 0; axis < Dim; ++axis) {
    const int face = 2 * static_cast<int>(axis);
    sizes[std::size_t(Transfer::whole)][axis] = values(face, FaceKind::same);
    sizes[std::size_t(Transfer::quarter)][axis] =
        values(face, FaceKind::coarse);  // of a coarse block, before a fine one
    sizes[std::size_t(Transfer::restricted)][axis] = values(face, FaceKind::same);  // a fine block's face as it is
  }
  graph_ = &mesh.graph();
  plan_ = make_halo_plan(mesh, sizes);
  send_counts_ = mpi_counts(plan_.sends);
  receive_counts_ = mpi_counts(plan_.receives);
  blocks_ = list_blocks(mesh);
  border_index_.assign(std::size_t(mesh.size()), -1);
  for (std::size_t k = 0; k < blocks_.border.size(); ++k)
    border_index_[std::size_t(blocks_.border[k])] = static_cast<std::int32_t>(k);
  places_.assign(blocks_.border.size(), {});
  for (const HaloPiece& p : plan_.receives.pieces) {
    const int part = p.transfer == Transfer::restricted ? p.part : 0;
    places_[std::size_t(border_index_[std::size_t(p.block)])][std::size_t(p.face)][std::size_t(part)] = p.at;
  }
  send_buffer_.grow(plan_.sends.values + 1);
  receive_buffer_.grow(plan_.receives.values + 1);
}

/// A part of a face: of the coarse one (half as many cells each way), or where a fine block's whole face goes.
template <int Dim>
typename LayerHalo<Dim>::Window LayerHalo<Dim>::part_window(int axis, int part, bool of_coarse) const {
  Window window{{}, cells(2 * axis, of_coarse ? FaceKind::coarse : FaceKind::same)};
  for (std::size_t k = 0; k < Dim - 1; ++k) window.first[k] = (part >> k & 1) * window.cells[k];
  return window;
}

/// Cells `from` of a face of a block, all layers, into an array of `to_cells` cells each layer, from `to_first` on.
template <int Dim>
void LayerHalo<Dim>::copy(const double* block, int face, const Window& from, std::array<int, 2> to_first,
                          std::array<int, 2> to_cells, double* to) const {
  const FaceSteps steps = steps_[std::size_t(face)];
  const std::ptrdiff_t width = to_cells[0], layer_values = width * to_cells[1], count = from.cells[0];
  const std::ptrdiff_t rows = Dim == 2 ? 1 : from.cells[1];
  const int layers = layers_;
  block += steps.first + from.first[0] * steps.a + from.first[1] * steps.b;
  to += to_first[1] * width + to_first[0];
  for (const std::size_t variable : variables_) {
    for (std::ptrdiff_t b = 0; b < rows; ++b) {
      const double* const row = block + variable + b * steps.b;
      double* const out = to + b * width;
      if (steps.a == 1) {
        for (int k = 0; k < layers; ++k) copy_row(row + k * steps.inwards, count, out + k * layer_values);
      } else if (layers == 2) {  // both of a cell lie in one cache line
        for (std::ptrdiff_t a = 0; a < count; ++a) {
          out[a] = row[a * steps.a];
          out[layer_values + a] = row[a * steps.a + steps.inwards];
        }
      } else {
        for (int k = 0; k < layers; ++k)
          for (std::ptrdiff_t a = 0; a < count; ++a) out[k * layer_values + a] = row[k * steps.inwards + a * steps.a];
      }
    }
    to += layers * layer_values;
  }
}

template <int Dim>
void LayerHalo<Dim>::start(const FieldStore& fields) {
  double* const buffer = send_buffer_.data();
  const auto& pieces = plan_.sends.pieces;
#pragma omp parallel for schedule(static)
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const HaloPiece& p = pieces[k];
    const bool is_part = p.transfer == Transfer::quarter;
    const Window from = part_window(p.face / 2, is_part ? p.part : 0, is_part);
    copy(fields.block(p.block), p.face, from, {}, from.cells, buffer + p.at);
  }
  support::mpi_check(MPI_Ineighbor_alltoallv(
      buffer, send_counts_.counts.data(), send_counts_.starts.data(), MPI_DOUBLE, receive_buffer_.data(),
      receive_counts_.counts.data(), receive_counts_.starts.data(), MPI_DOUBLE, graph_->comm().get(), &request_));
}

template <int Dim>
double LayerHalo<Dim>::finish() {
  const double begin = support::Metrics::steady_seconds();
  support::mpi_check(MPI_Wait(&request_, MPI_STATUS_IGNORE));
  return support::Metrics::steady_seconds() - begin;
}

/// Fine blocks beside each other, wherever each of them is.
template <int Dim>
void LayerHalo<Dim>::gather_fine(const Mesh<Dim>& mesh, const FieldStore& fields, std::int32_t i, int face,
                                 double* to) const {
  const std::array<int, 2> all = cells(face, FaceKind::fine);
  const std::size_t layer_values = std::size_t(all[0]) * std::size_t(all[1]);
  const std::size_t layers = variables_.size() * std::size_t(layers_);
  for (int part = 0; part < kParts; ++part) {
    const Window window = part_window(face / 2, part, false);
    const std::int32_t j = mesh.links(i).index[std::size_t(face)][std::size_t(part)];
    if (j < mesh.size()) {
      copy(fields.block(j), face ^ 1, {{}, window.cells}, window.first, all, to);
      continue;
    }
    const double* from = received(i, face, part);
    for (std::size_t layer = 0; layer < layers; ++layer) {
      for (int b = 0; b < window.cells[1]; ++b, from += window.cells[0])
        std::copy_n(from, window.cells[0],
                    to + layer * layer_values + std::size_t(window.first[1] + b) * std::size_t(all[0]) +
                        std::size_t(window.first[0]));
    }
  }
}

template <int Dim>
const double* LayerHalo<Dim>::gather(const Mesh<Dim>& mesh, const FieldStore& fields, std::int32_t i, int face,
                                     double* buffer) const {
  const FaceKind kind = mesh.links(i).kind[std::size_t(face)];
  if (kind == FaceKind::fine) {
    gather_fine(mesh, fields, i, face, buffer);
    return buffer;
  }
  const std::int32_t j = mesh.links(i).index[std::size_t(face)][0];
  if (j >= mesh.size()) return received(i, face, 0);
  const bool is_part = kind == FaceKind::coarse;
  const int part = is_part ? own_part<Dim>(mesh.coord(i), face / 2) : 0;
  const Window from = part_window(face / 2, part, is_part);
  copy(fields.block(j), face ^ 1, from, {}, from.cells, buffer);
  return buffer;
}

template <int Dim>
std::size_t LayerHalo<Dim>::memory_bytes() const {
  return send_buffer_.bytes() + receive_buffer_.bytes() + plan_.memory_bytes() +
         border_index_.capacity() * sizeof(border_index_[0]) + places_.capacity() * sizeof(Places);
}

template class LayerHalo<2>;
template class LayerHalo<3>;

}  // namespace amrbench::amr
