#pragma once
// What lies behind the faces of a block: two layers of raw cells, from neighbours of any level, other ranks and the
// boundary (kernels/shallow_water/block.hpp says how a block reads them).
//
// Cells travel as they are: what a change of level makes of them both sides compute alike, so fluxes match to the bit
// and no flux ever travels (amr/layer_halo.hpp).
#include <array>
#include <cstdint>
#include <vector>

#include "amr/field_store.hpp"
#include "amr/halo_shape.hpp"
#include "amr/layer_halo.hpp"
#include "amr/mesh.hpp"
#include "kernels/shallow_water/block.hpp"
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
  /// Roughness behind a face is not read, so it does not travel.
  static constexpr amr::HaloShape kShape{swe::kVariables - 1, 2};
  /// Blocks of cells x cells.
  explicit StripHalo(int cells)
      : cells_(cells),
        layers_(kernels::make_layout({cells, cells, 1}, swe::kVariables), kShape.variables, kShape.layers) {}

  /// Buffers and lists for `mesh`, which must outlive the next call. Local.
  void rebuild(const amr::Mesh<2>& mesh) { layers_.rebuild(mesh); }

  /// Packs what others need and starts the exchange. Collective over neighbours.
  void start(const amr::FieldStore& fields) { layers_.start(fields); }
  /// Waits until all has come; the seconds that took.
  double finish() { return layers_.finish(); }

  /// The strips of block i at the moment of `problem`'s boundary; of one with ghost neighbours only after finish().
  void gather(const amr::Mesh<2>& mesh, const amr::FieldStore& fields, const Problem& problem, const Moment& moment,
              std::int32_t i, StripSet& set) const;

  /// Blocks without and with ghost neighbours, ascending.
  [[nodiscard]] const amr::BlockLists& blocks() const { return layers_.blocks(); }
  [[nodiscard]] amr::HaloSize size() const { return layers_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const { return layers_.memory_bytes(); }

 private:
  int cells_;
  amr::LayerHalo<2> layers_;
};

}  // namespace amrbench::workloads::shallow_water
