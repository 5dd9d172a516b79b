#pragma once
// Where everything around a block lies, for stencils that need edges and corners: a table for all back ends.
//
// Where a block and the blocks around it have one level and one rank, the 27 pieces of its surroundings are parts of
// those blocks; at the domain's boundary they are the block's own outermost cells again. Behind a face that crosses a
// rank or a change of level ("crossing") stands an extended face (kernels/tile.hpp says what each ghost holds), and
// whatever is reached through such a face comes from it: through z first, then y, then x, since a face passes on the
// ghosts of the axes before its own. Plain data of the mesh alone; local work, O(blocks), shared by threads.
#include <array>
#include <cstdint>
#include <span>

#include "amr/mesh.hpp"
#include "kernels/beside.hpp"
#include "support/order_by_key.hpp"
#include "support/page_buffer.hpp"

namespace amrbench::amr {

class WideSources {
 public:
  /// A face that crosses a rank or a level.
  struct Crossing {
    std::int32_t block;
    int face;
  };

  explicit WideSources(const kernels::BlockLayout& layout);
  /// What stands beside the faces of a settled mesh.
  void rebuild(const Mesh<3>& mesh);
  /// The pieces, too, from that.
  void find_pieces();

  /// Of the extended faces across an axis, which stand in the order of crossings(axis).
  [[nodiscard]] const kernels::FaceLayout& faces(int axis) const { return faces_[axis]; }
  [[nodiscard]] std::span<const Crossing> crossings(int axis) const {
    const auto begin = static_cast<std::size_t>(starts_[axis]), end = static_cast<std::size_t>(starts_[axis + 1]);
    return {crossings_.data() + begin, end - begin};
  }
  /// The number of a block's extended face among those across its axis; it must be a crossing.
  [[nodiscard]] std::int32_t number(std::int32_t block, int face) const {
    return beside_[std::size_t(block) * 6 + static_cast<std::size_t>(face)].face_number();
  }
  /// 6 a block; what finds pieces out of them.
  [[nodiscard]] std::span<const kernels::Beside> beside() const { return {beside_.data(), blocks_ * 6}; }
  [[nodiscard]] const kernels::PieceFinder& finder() const { return finder_; }
  /// 27 a block, in the order of kernels::Surroundings::index, as find_pieces() left them.
  [[nodiscard]] std::span<const kernels::PieceSource> sources() const { return {sources_.data(), blocks_ * 27}; }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  std::array<kernels::FaceLayout, 3> faces_;
  kernels::PieceFinder finder_;
  support::PageBuffer<Crossing> crossings_;
  support::KeyStarts<3> starts_{};  ///< where those of each axis begin
  support::PageBuffer<kernels::Beside> beside_;
  support::PageBuffer<kernels::PieceSource> sources_;
  std::size_t blocks_ = 0;
};

}  // namespace amrbench::amr
