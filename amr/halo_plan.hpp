#pragma once
// What travels between ranks when faces are exchanged: one list for all back ends and stencils.
//
// A message to rank r holds one piece for every pair (local block, block of r) that share a face, sorted by (sender's
// key, sender's face, receiver's key); both sides make the same list from their own links, so no header travels. A
// piece is a face between blocks of one level, else a quarter: restricted by a fine sender, cut out of the face of a
// coarse one. The plan depends on the mesh alone and is made anew when it changes. Local work, O(border blocks log).
#include <array>
#include <cstdint>
#include <vector>

#include "amr/halo_size.hpp"
#include "amr/mesh.hpp"
#include "kernels/tile.hpp"

namespace amrbench::amr {

/// What a piece carries, seen from the data: the same for sender and receiver.
using Transfer = kernels::TileTransfer;

/// Values of a piece in a message, by transfer and axis.
using PieceSizes = std::array<std::array<std::size_t, 3>, 3>;
/// Of packed faces and quarters (kernels/faces.hpp), each rounded up to a multiple of `multiple`.
[[nodiscard]] PieceSizes face_piece_sizes(const kernels::BlockLayout& layout, std::size_t multiple = 1);
/// Of faces of tiles (kernels/tile.hpp).
[[nodiscard]] PieceSizes tile_piece_sizes(const kernels::TileLayout& layout);

/// A piece in a message: what `block` sends or receives across `face`. `part`: quarter of the coarse one of the two
/// faces; 0 between blocks of one level.
struct HaloPiece {
  std::int32_t block = 0;
  std::int8_t face = 0;
  std::int8_t part = 0;
  Transfer transfer = Transfer::whole;
  std::size_t at = 0;  ///< offset in the message buffer
};

/// Pieces in message order; counts and starts by neighbour, in values.
struct HaloMessages {
  std::vector<HaloPiece> pieces;
  std::vector<std::size_t> counts, starts;
  std::size_t values = 0;
};

struct HaloPlan {
  HaloMessages sends, receives;
  [[nodiscard]] std::size_t memory_bytes() const;
};

/// Which part (a quarter, in 2-D a half) of the coarse face across `axis` a fine block at `coord` covers.
template <int Dim>
[[nodiscard]] int own_part(const sfc::Coord<Dim>& coord, int axis);

/// The plan for faces across the axes [axis_begin, axis_end).
template <int Dim>
[[nodiscard]] HaloPlan make_halo_plan(const Mesh<Dim>& mesh, const PieceSizes& sizes, int axis_begin = 0,
                                      int axis_end = Dim);

/// Adds what one exchange of these messages sends; of plans for the axes of one mesh, one after another.
void add_sends(const HaloMessages& sends, HaloSize& size);

/// Blocks without and with ghost neighbours, ascending.
struct BlockLists {
  std::vector<std::int32_t> interior, border;
};
template <int Dim>
[[nodiscard]] BlockLists list_blocks(const Mesh<Dim>& mesh);

/// Counts and starts as MPI wants them.
struct MessageCounts {
  std::vector<int> counts, starts;
};
[[nodiscard]] MessageCounts mpi_counts(const HaloMessages& messages);

}  // namespace amrbench::amr
