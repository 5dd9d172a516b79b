#pragma once
// The exchange of raw layers of cells behind faces, for stencils that are a cross one or two cells wide and make of a
// change of level what they like.
//
// Cells travel as they are, whatever their level: nothing is averaged or interpolated on the way. What lies behind a
// face is handed out as
//
//   [variable][layer, the nearest first][b][a]      a, b: the face's in-plane axes, ascending; in 2-D a alone
//
// with n cells along an in-plane axis of n for a neighbour of the same level, n/2 for a coarser one (those before this
// block), 2n for finer ones (all of them side by side). Edges and corners do not travel. One message a neighbour rank.
//
// A stage is start(), finish(), and gather() for each block and face; without ghost neighbours also before finish().
// Ownership: buffers of its own; fields and mesh belong to the caller. Source: amr/halo_plan.hpp for who sends what.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/halo_plan.hpp"
#include "amr/mesh.hpp"
#include "amr/stage.hpp"
#include "support/metrics.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

template <int Dim>
class LayerHalo {
 public:
  /// For blocks of `layout`, any lanes, in 2-D with one layer of cells. The first `variables` travel, `layers` cells
  /// deep. Throws std::logic_error where the blocks hold fewer of either.
  LayerHalo(const kernels::BlockLayout& layout, int variables, int layers);
  LayerHalo(const LayerHalo&) = delete;
  LayerHalo& operator=(const LayerHalo&) = delete;

  /// Buffers and lists for `mesh`, which must live until the next call. Local, O(border blocks log).
  void rebuild(const Mesh<Dim>& mesh);

  /// Packs what others need, by all threads, and starts the exchange. Until finish() the fields may be read only.
  /// Collective over neighbours.
  void start(const FieldStore& fields);
  /// Waits until all has come; the seconds that took.
  double finish();

  /// What lies behind a face of block i that is no boundary: in `buffer` (values() doubles), or where it was received.
  /// Several threads may ask at once. Good until start() or the next change of the fields. Local.
  [[nodiscard]] const double* gather(const Mesh<Dim>& mesh, const FieldStore& fields, std::int32_t i, int face,
                                     double* buffer) const;

  /// Cells along the in-plane axes a and b of what lies behind a face; of a boundary, as of the same level.
  [[nodiscard]] const std::array<int, 2>& cells(int face, FaceKind kind) const {
    return cells_[std::size_t(face / 2)][std::size_t(kind)];
  }
  /// Doubles of it, and of the largest there is.
  [[nodiscard]] std::size_t values(int face, FaceKind kind) const;
  [[nodiscard]] std::size_t most_values() const;

  /// Blocks without and with ghost neighbours, ascending.
  [[nodiscard]] const BlockLists& blocks() const { return blocks_; }
  /// Of one exchange of this rank.
  [[nodiscard]] HaloSize size() const {
    HaloSize size;
    add_sends(plan_.sends, size);
    return size;
  }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr int kFaces = 2 * Dim, kParts = 1 << (Dim - 1);
  /// Where the pieces of a border block begin in the receive buffer, by face and part.
  using Places = std::array<std::array<std::size_t, kParts>, kFaces>;
  /// A rectangle of cells in a face or behind one: its first cell and its extent, along a and b.
  struct Window {
    std::array<int, 2> first, cells;
  };
  /// Distances between values of a block: from cell to cell along a and b, from layer to layer inwards; and where the
  /// first cell of the face lies.
  struct FaceSteps {
    std::ptrdiff_t a, b, inwards, first;
  };
  [[nodiscard]] FaceSteps face_steps(int face) const;
  [[nodiscard]] Window part_window(int axis, int part, bool of_coarse) const;
  void copy(const double* block, int face, const Window& from, std::array<int, 2> to_first, std::array<int, 2> to_cells,
            double* to) const;
  void gather_fine(const Mesh<Dim>& mesh, const FieldStore& fields, std::int32_t i, int face, double* to) const;
  [[nodiscard]] const double* received(std::int32_t i, int face, int part) const {
    return receive_buffer_.data() +
           places_[std::size_t(border_index_[std::size_t(i)])][std::size_t(face)][std::size_t(part)];
  }

  kernels::BlockLayout layout_;
  int layers_;
  std::vector<std::size_t> variables_;  ///< where each of those that travel begins in a block
  std::array<FaceSteps, kFaces> steps_;
  std::array<std::array<std::array<int, 2>, 4>, Dim> cells_;  ///< by axis and kind
  const support::DistGraph* graph_ = nullptr;
  HaloPlan plan_;
  MessageCounts send_counts_, receive_counts_;
  BlockLists blocks_;
  std::vector<std::int32_t> border_index_;  ///< place among border blocks, -1 inside
  std::vector<Places> places_;              ///< of border blocks
  support::PageBuffer<double> send_buffer_, receive_buffer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// A stage's exchange and its computation, with their times: compute(blocks) for all blocks, `all`, or with `overlap`
/// for those without ghost neighbours while messages fly. `halo`: a LayerHalo, or what has its start, finish and
/// blocks. Collective over neighbours.
template <class Halo, class Compute>
void compute_around_exchange(Halo& halo, const FieldStore& fields, bool overlap, std::span<const std::int32_t> all,
                             support::Metrics& metrics, const Compute& compute) {
  const auto timed = [&](support::Phase phase, const auto& work) {
    const support::PhaseTimer timer(metrics, phase);
    work();
  };
  timed(support::Phase::halo, [&] { halo.start(fields); });
  if (overlap) timed(support::Phase::stencil, [&] { compute(std::span<const std::int32_t>(halo.blocks().interior)); });
  timed(support::Phase::halo, [&] { count_wait(metrics, halo.finish()); });
  timed(support::Phase::stencil, [&] { compute(overlap ? std::span<const std::int32_t>(halo.blocks().border) : all); });
}

extern template class LayerHalo<2>;
extern template class LayerHalo<3>;

}  // namespace amrbench::amr
