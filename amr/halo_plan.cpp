#include "amr/halo_plan.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "support/thread_lists.hpp"

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

/// An entry that is sent, and the one that is received across the same face.
struct Exchange {
  Entry send, receive;
  std::int32_t ghost;
};

/// Entries in the order of their messages: by buckets, which are in that order but for entries of one sender, which
/// stand together then. O(n), but for the entries of a sender.
template <class Bucket, class Of>
std::vector<Entry> in_message_order(const std::vector<Exchange>& exchanges, std::size_t buckets, const Bucket& bucket,
                                    const Of& entry_of) {
  std::vector<std::size_t> next(buckets + 1, 0);
  for (const Exchange& x : exchanges) ++next[bucket(x) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Entry> entries(exchanges.size());
  for (const Exchange& x : exchanges) entries[next[bucket(x)]++] = entry_of(x);
  const auto by_order = [](const Entry& a, const Entry& b) { return a.order() < b.order(); };
  for (auto begin = entries.begin(); begin != entries.end();) {
    const auto of_sender = [&](const Entry& e) { return e.sender == begin->sender && e.neighbor == begin->neighbor; };
    const auto end = std::find_if_not(begin, entries.end(), of_sender);
    std::sort(begin, end, by_order);
    begin = end;
  }
  return entries;
}

HaloMessages lay_out(std::vector<Entry> entries, const PieceSizes& sizes, std::size_t neighbors) {
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

template <int Dim>
int own_part(const sfc::Coord<Dim>& coord, int axis) {
  int part = 0, bit = 0;
  for (int d = 0; d < Dim; ++d) {
    if (d != axis) part |= static_cast<int>(coord[d] & 1) << bit++;
  }
  return part;
}

template <int Dim>
HaloPlan make_halo_plan(const Mesh<Dim>& mesh, const PieceSizes& sizes, int axis_begin, int axis_end) {
  const auto neighbors = mesh.neighbors();
  if (neighbors.empty()) return {};
  std::vector<std::size_t> neighbor_of_ghost(mesh.ghost_count());
  for (std::size_t k = 0; k < neighbors.size(); ++k)
    std::fill(neighbor_of_ghost.begin() + neighbors[k].ghosts_begin,
              neighbor_of_ghost.begin() + neighbors[k].ghosts_end, k);
  std::vector<Exchange> exchanges;  // by ascending local blocks
  const auto list = [&](std::size_t begin, std::size_t end, std::vector<Exchange>& mine) {
    for (const std::int32_t i : mesh.border().subspan(begin, end - begin)) {
      const auto& links = mesh.links(i);
      for (int face = 2 * axis_begin; face < 2 * axis_end; ++face) {
        const FaceKind kind = links.kind[face];
        for (int q = 0; q < Mesh<Dim>::Links::kParts; ++q) {
          const std::int32_t j = links.index[face][q];
          if (j < mesh.size()) continue;
          const auto part =
              static_cast<std::int8_t>(kind == FaceKind::coarse ? own_part<Dim>(mesh.coord(i), face / 2) : q);
          const auto f = static_cast<std::int8_t>(face);
          const std::int32_t ghost = j - mesh.size();
          const std::size_t neighbor = neighbor_of_ghost[ghost];
          mine.push_back({{neighbor, mesh.keys()[i], face, mesh.key_of(j), {i, f, part, sent(kind), 0}},
                          {neighbor, mesh.key_of(j), face ^ 1, mesh.keys()[i], {i, f, part, received(kind), 0}},
                          ghost});
        }
      }
    }
  };
  constexpr std::size_t kSerial = 512;  // fewer blocks are not worth waking a team
  support::append_by_threads(exchanges, mesh.border().size(), list, kSerial);
  HaloPlan plan;
#pragma omp parallel sections if (exchanges.size() > kSerial)
  {
    // Senders of what goes to a neighbour are local blocks, in order already; those of what comes are ghosts.
#pragma omp section
    plan.sends = lay_out(in_message_order(
                             exchanges, neighbors.size(), [](const Exchange& x) { return x.send.neighbor; },
                             [](const Exchange& x) { return x.send; }),
                         sizes, neighbors.size());
#pragma omp section
    plan.receives =
        lay_out(in_message_order(
                    exchanges, neighbor_of_ghost.size(), [](const Exchange& x) { return std::size_t(x.ghost); },
                    [](const Exchange& x) { return x.receive; }),
                sizes, neighbors.size());
  }
  return plan;
}

void add_sends(const HaloMessages& sends, HaloSize& size) {
  size.messages.resize(sends.counts.size());
  size.neighbors = static_cast<int>(sends.counts.size());
  size.bytes_sent += static_cast<std::int64_t>(sends.values * sizeof(double));
  size.pieces += static_cast<std::int64_t>(sends.pieces.size());
  auto piece = sends.pieces.begin();
  for (std::size_t k = 0; k < sends.counts.size(); ++k) {
    const std::size_t end = sends.starts[k] + sends.counts[k];
    const auto next = std::find_if(piece, sends.pieces.end(), [&](const HaloPiece& p) { return p.at >= end; });
    size.messages[k].bytes += static_cast<std::int64_t>(sends.counts[k] * sizeof(double));
    size.messages[k].pieces += next - piece;
    piece = next;
  }
}

template <int Dim>
BlockLists list_blocks(const Mesh<Dim>& mesh) {
  BlockLists lists{{}, {mesh.border().begin(), mesh.border().end()}};
  const auto n = static_cast<std::size_t>(mesh.size());
  support::append_by_threads(
      lists.interior, n, [&](std::size_t begin, std::size_t end, std::vector<std::int32_t>& mine) {
        for (auto i = static_cast<std::int32_t>(begin); i < static_cast<std::int32_t>(end); ++i) {
          if (!mesh.has_ghost_neighbor(i)) mine.push_back(i);
        }
      });
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

template int own_part<2>(const sfc::Coord<2>&, int);
template int own_part<3>(const sfc::Coord<3>&, int);
template HaloPlan make_halo_plan(const Mesh<2>&, const PieceSizes&, int, int);
template HaloPlan make_halo_plan(const Mesh<3>&, const PieceSizes&, int, int);
template BlockLists list_blocks(const Mesh<2>&);
template BlockLists list_blocks(const Mesh<3>&);

}  // namespace amrbench::amr
