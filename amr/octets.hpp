#pragma once
// Octets: eight blocks of one level that stand together on the curve and make a cube, and neither they nor the blocks
// of their level beside them have finer neighbours.
//
// All that lies around such a cube is seen alike by its blocks: the piece that one of them finds behind an edge or a
// corner has the values of the piece that its sibling finds behind a face. (Through a finer face a block sees values
// restricted with its own ghosts, and its sibling others; so it is with what a neighbour hands on of its finer faces.)
// So the pieces of the blocks at its corners are the cube's.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "amr/mesh.hpp"
#include "kernels/beside.hpp"

namespace amrbench::amr {

class Octets {
 public:
  /// In the order of kernels::Octet::index; those of the blocks themselves are blocks.
  using Sources = std::array<kernels::PieceSource, 64>;

  /// Finds those of a settled mesh. Local work, O(blocks), shared by threads.
  void rebuild(const Mesh<3>& mesh);
  /// What lies around them, too. `sources`: of the same mesh, as WideSources::sources().
  void find_pieces(std::span<const kernels::PieceSource> sources);

  /// In the order of their first blocks.
  [[nodiscard]] std::span<const kernels::OctetPlace> places() const { return places_; }
  /// Does one begin with block i? As find_pieces() left it.
  [[nodiscard]] bool begins(std::int32_t i) const { return !numbers_.empty() && numbers_[std::size_t(i)] >= 0; }
  /// Of the one that begins with block i, as find_pieces() left them.
  [[nodiscard]] const Sources& sources(std::int32_t i) const { return sources_[std::size_t(numbers_[std::size_t(i)])]; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::vector<std::int32_t> numbers_;  ///< by first block, or -1
  std::vector<kernels::OctetPlace> places_;
  std::vector<Sources> sources_;
};

}  // namespace amrbench::amr
