#include "amr/halo_plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace amrbench::amr {

namespace {

/// A piece with what orders it in its message.
struct Entry {
  std::size_t neighbor;  ///< index in mesh.neighbors()
  Key sender;
  int sender_face;
  Key receiver;
  HaloPiece piece;

  [[nodiscard]] auto order() const { return std::tie(neighbor, sender, sender_face, receiver); }
};

HaloMessages lay_out(std::vector<Entry> entries, const PieceSizes& sizes, std::size_t neighbors) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.order() < b.order(); });
  HaloMessages messages;
  messages.counts.assign(neighbors, 0);
  messages.pieces.reserve(entries.size());
  for (Entry& entry : entries) {
    const std::size_t values = sizes[static_cast<std::size_t>(entry.piece.transfer)][entry.piece.face / 2];
    entry.piece.at = messages.values;
    messages.pieces.push_back(entry.piece);
    messages.values += values;
    messages.counts[entry.neighbor] += values;
  }
  std::size_t at = 0;
  for (const std::size_t count : messages.counts) {
    messages.starts.push_back(at);
    at += count;
  }
  return messages;
}

Transfer sent(FaceKind kind) {
  return kind == FaceKind::same ? Transfer::whole : kind == FaceKind::coarse ? Transfer::restricted : Transfer::quarter;
}
Transfer received(FaceKind kind) {
  return kind == FaceKind::same ? Transfer::whole : kind == FaceKind::coarse ? Transfer::quarter : Transfer::restricted;
}

}  // namespace

PieceSizes face_piece_sizes(const kernels::BlockLayout& layout, std::size_t multiple) {
  PieceSizes sizes{};
  for (int axis = 0; axis < 3; ++axis) {
    const auto rounded = [&](std::size_t values) { return (values + multiple - 1) / multiple * multiple; };
    sizes[0][axis] = rounded(layout.face_values(axis));
    sizes[1][axis] = sizes[2][axis] = rounded(layout.quarter_values(axis));
  }
  return sizes;
}

PieceSizes tile_piece_sizes(const kernels::TileLayout& layout) {
  PieceSizes sizes{};
  for (const Transfer transfer : {Transfer::whole, Transfer::quarter, Transfer::restricted}) {
    for (int axis = 0; axis < 3; ++axis)
      sizes[static_cast<std::size_t>(transfer)][axis] = kernels::tile_piece_values(layout, transfer, axis);
  }
  return sizes;
}

std::size_t HaloPlan::memory_bytes() const {
  std::size_t bytes = 0;
  for (const HaloMessages* m : {&sends, &receives}) {
    bytes += m->pieces.capacity() * sizeof(HaloPiece);
    bytes += (m->counts.capacity() + m->starts.capacity()) * sizeof(std::size_t);
  }
  return bytes;
}

int own_part(const kernels::BlockLayout& layout, const Mesh<3>::Coord& coord, int axis) {
  return static_cast<int>((coord[layout.face_axis_a(axis)] & 1) | (coord[layout.face_axis_b(axis)] & 1) << 1);
}

HaloPlan make_halo_plan(const Mesh<3>& mesh, const kernels::BlockLayout& layout, const PieceSizes& sizes,
                        int axis_begin, int axis_end) {
  const auto neighbors = mesh.neighbors();
  if (neighbors.empty()) return {};
  std::vector<std::size_t> neighbor_of_ghost(mesh.ghost_count());
  for (std::size_t k = 0; k < neighbors.size(); ++k)
    std::fill(neighbor_of_ghost.begin() + neighbors[k].ghosts_begin,
              neighbor_of_ghost.begin() + neighbors[k].ghosts_end, k);
  std::vector<Entry> sends, receives;
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    if (!mesh.has_ghost_neighbor(i)) continue;
    const auto& links = mesh.links(i);
    for (int face = 2 * axis_begin; face < 2 * axis_end; ++face) {
      const FaceKind kind = links.kind[face];
      for (int q = 0; q < 4; ++q) {
        const std::int32_t j = links.index[face][q];
        if (j < mesh.size()) continue;
        const auto part =
            static_cast<std::int8_t>(kind == FaceKind::coarse ? own_part(layout, mesh.coord(i), face / 2) : q);
        const auto f = static_cast<std::int8_t>(face);
        const std::size_t neighbor = neighbor_of_ghost[j - mesh.size()];
        sends.push_back({neighbor, mesh.keys()[i], face, mesh.key_of(j), {i, f, part, sent(kind), 0}});
        receives.push_back({neighbor, mesh.key_of(j), face ^ 1, mesh.keys()[i], {i, f, part, received(kind), 0}});
      }
    }
  }
  return {lay_out(std::move(sends), sizes, neighbors.size()), lay_out(std::move(receives), sizes, neighbors.size())};
}

BlockLists list_blocks(const Mesh<3>& mesh) {
  BlockLists lists;
  if (mesh.ghost_count() == 0) {
    lists.interior.resize(mesh.size());
    std::iota(lists.interior.begin(), lists.interior.end(), 0);
    return lists;
  }
  for (std::int32_t i = 0; i < mesh.size(); ++i) {
    (mesh.has_ghost_neighbor(i) ? lists.border : lists.interior).push_back(i);
  }
  return lists;
}

MessageCounts mpi_counts(const HaloMessages& messages) {
  MessageCounts result;
  for (std::size_t k = 0; k < messages.counts.size(); ++k) {
    result.counts.push_back(support::mpi_count(messages.counts[k], "halo message"));
    result.starts.push_back(support::mpi_count(messages.starts[k], "halo message"));
  }
  return result;
}

}  // namespace amrbench::amr
