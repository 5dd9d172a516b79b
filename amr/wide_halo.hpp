#pragma once
// What lies around every block, for stencils that need edges and corners: where the 27 pieces of a block's surroundings
// are, and the exchange that fills those which lie in no block of this rank.
//
// Where a block and the blocks around it have one level and one rank, the pieces are parts of those blocks; at the
// domain's boundary they are the block's own outermost cells again. Behind a face that crosses a rank or a change of
// level stands an extended face (kernels/tile.hpp says what each ghost holds), and whatever is reached through such a
// face comes from it: through z first, then y, then x, since a face passes on the ghosts of the axes before its own.
// Extended faces are filled axis by axis: pieces for remote neighbours across that axis are packed and sent, one
// message a neighbour rank, those from local neighbours are filled (while the messages fly, if asked for), received
// pieces are put in place. The next axis begins when the one before is complete. Sources and plans are made when the
// mesh changes and only then.
#include <array>
#include <cstdint>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/halo_plan.hpp"
#include "amr/mesh.hpp"
#include "kernels/surroundings.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

class WideHalo {
 public:
  explicit WideHalo(const kernels::BlockLayout& layout);
  WideHalo(const WideHalo&) = delete;
  WideHalo& operator=(const WideHalo&) = delete;

  /// Sources, plans and buffers for `mesh`, which must outlive the next call. Local work only, O(blocks).
  void rebuild(const Mesh<3>& mesh);

  /// Fills all extended faces from the fields. `overlap`: from local neighbours before waiting for the messages, else
  /// after. The same bits either way. The seconds that it waited. Collective over neighbours.
  double exchange(const Mesh<3>& mesh, const FieldStore& fields, bool overlap);
  /// What lies around block i, good until the fields change.
  [[nodiscard]] kernels::Surroundings around(const FieldStore& fields, std::int32_t i) const;

  /// Per exchange, all axes together.
  [[nodiscard]] std::int64_t bytes_sent_each() const;
  [[nodiscard]] std::int64_t pieces() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kBlock = 3;  ///< kind of a source that is no face across axis 0, 1 or 2
  /// A piece: in block or face number `index`, from `offset` on.
  struct Source {
    std::int32_t index;
    std::uint32_t kind : 2, offset : 30;
  };
  /// A face that crosses a rank or a level.
  struct Crossing {
    std::int32_t block;
    int face;
  };
  /// Of one axis.
  struct Axis {
    kernels::TileLayout tiles;  ///< of its extended faces
    HaloPlan pieces;
    MessageCounts sends, receives;
    std::vector<Crossing> crossings;    ///< in the order of their tiles
    support::PageBuffer<double> faces;  ///< their tiles
  };
  /// A thread's.
  struct Scratch {
    std::vector<double> tile, piece;
  };
  void list_crossings(const Mesh<3>& mesh);
  [[nodiscard]] Source find_source(const Mesh<3>& mesh, std::int32_t i, const std::array<int, 3>& d) const;
  [[nodiscard]] double* face_tile(const Crossing& c);
  void pack(const FieldStore& fields, std::int32_t i, int face, kernels::TileTransfer transfer, int part, double* out,
            Scratch& scratch) const;
  void start(const Axis& axis, const FieldStore& fields);
  double finish(const Axis& axis);
  void fill_local(const Mesh<3>& mesh, const Axis& axis, const FieldStore& fields);

  kernels::BlockLayout layout_;
  std::array<Axis, 3> axes_;
  std::array<kernels::PieceSteps, 4> steps_;  ///< by kind of source
  std::vector<std::int32_t> crossing_;        ///< of face 6 i + face, or -1
  support::PageBuffer<Source> sources_;       ///< 27 a block
  const support::DistGraph* graph_ = nullptr;
  support::PageBuffer<double> send_buffer_, receive_buffer_;  ///< of one axis at a time
  std::vector<Scratch> scratch_;                              ///< one a thread
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace amrbench::amr
