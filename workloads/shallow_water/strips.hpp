#pragma once
// What lies behind the faces of a block: two layers of raw cells, from neighbours of any level, other ranks and the
// boundary (kernels/shallow_water/block.hpp says how a block reads them).
//
// Cells travel as they are: what a change of level makes of them both sides compute alike, so fluxes match to the bit
// and no flux ever travels. One message a neighbour rank and stage. Interpolated is nothing.
#include <array>
#include <cstdint>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/halo_plan.hpp"
#include "amr/mesh.hpp"
#include "kernels/shallow_water/block.hpp"
#include "support/mpi.hpp"
#include "support/page_buffer.hpp"
#include "workloads/shallow_water/problem.hpp"

namespace amrbench::workloads::shallow_water {

namespace swe = kernels::shallow_water;

/// The strips of one block, and memory for those that have to be put together; one a thread.
class StripSet {
 public:
  explicit StripSet(int cells) : memory_(4 * swe::strip_values(swe::StripKind::fine, cells)), cells_(cells) {}
  [[nodiscard]] double* buffer(int face) {
    return memory_.data() + std::size_t(face) * swe::strip_values(swe::StripKind::fine, cells_);
  }
  std::array<swe::Strip<double>, 4> strips{};
  bool is_dry = true;  ///< no water behind any face, and none can come from the boundary

 private:
  std::vector<double> memory_;
  int cells_;
};

class StripHalo {
 public:
  explicit StripHalo(int cells) : cells_(cells) {}
  StripHalo(const StripHalo&) = delete;
  StripHalo& operator=(const StripHalo&) = delete;

  /// Buffers and lists for `mesh`, which must outlive the next call. Local.
  void rebuild(const amr::Mesh<2>& mesh);

  /// Packs what others need and starts the exchange. Collective over neighbours.
  void start(const amr::FieldStore& fields);
  /// Waits until all has come; the seconds that took.
  double finish();

  /// The strips of block i at the time of `problem`'s boundary; of one with ghost neighbours only after finish().
  void gather(const amr::Mesh<2>& mesh, const amr::FieldStore& fields, const Problem& problem, double time,
              std::int32_t i, StripSet& set) const;

  /// Blocks without and with ghost neighbours, ascending.
  [[nodiscard]] const amr::BlockLists& blocks() const { return blocks_; }
  [[nodiscard]] std::int64_t bytes_sent_each() const {
    return static_cast<std::int64_t>(plan_.sends.values * sizeof(double));
  }
  [[nodiscard]] std::int64_t pieces() const { return static_cast<std::int64_t>(plan_.sends.pieces.size()); }
  [[nodiscard]] std::size_t memory_bytes() const {
    return send_buffer_.bytes() + receive_buffer_.bytes() + plan_.memory_bytes();
  }

 private:
  [[nodiscard]] const double* received(std::int32_t i, int face, int part) const {
    return receive_buffer_.data() + receive_at_[std::size_t(border_index_[std::size_t(i)])][std::size_t(face)][part];
  }
  void gather_fine(const amr::Mesh<2>& mesh, const amr::FieldStore& fields, std::int32_t i, int face,
                   double* strip) const;

  int cells_;
  const support::DistGraph* graph_ = nullptr;
  amr::HaloPlan plan_;
  amr::MessageCounts send_counts_, receive_counts_;
  amr::BlockLists blocks_;
  std::vector<std::int32_t> border_index_;  ///< place among border blocks, -1 inside
  std::vector<std::array<std::array<std::size_t, 2>, 4>> receive_at_;
  support::PageBuffer<double> send_buffer_, receive_buffer_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace amrbench::workloads::shallow_water
