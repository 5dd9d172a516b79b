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
#include "kernels/surroundings.hpp"

namespace amrbench::amr {

class Octets {
 public:
  /// In the order of kernels::Octet::index; those of the blocks themselves are blocks.
  using Sources = std::array<kernels::PieceSource, 64>;

  /// Finds those of a settled mesh; `sources`: WideSources::sources() of it. Local work, O(blocks), shared by threads.
  void rebuild(const Mesh<3>& mesh, std::span<const kernels::PieceSource> sources);
  /// Does one begin with block i?
  [[nodiscard]] bool begins(std::int32_t i) const { return !numbers_.empty() && numbers_[std::size_t(i)] >= 0; }
  [[nodiscard]] const Sources& sources(std::int32_t i) const { return sources_[std::size_t(numbers_[std::size_t(i)])]; }
  [[nodiscard]] std::span<const Sources> all() const { return sources_; }  ///< in the order of their first blocks
  [[nodiscard]] std::size_t memory_bytes() const {
    return numbers_.capacity() * sizeof(std::int32_t) + sources_.capacity() * sizeof(Sources);
  }

 private:
  std::vector<std::int32_t> numbers_;  ///< by first block, or -1
  std::vector<Sources> sources_;
};

}  // namespace amrbench::amr
