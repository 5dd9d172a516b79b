#pragma once
// How the kernels of average7 find their way along the faces of a run of chunks. Included by average7*.hpp only.
#include <array>

#include "kernels/average7/average7.hpp"

namespace amrbench::kernels::detail {

/// Where the six faces lie, chunk by chunk and plane by plane; rows are found by adding, never by multiplying.
template <int Lanes>
class FaceWalk {
 public:
  FaceWalk(const ChunkInput& input, const BlockLayout& l) : ny_(l.cells[1]), nz_(l.cells[2]) {
    const std::size_t row = Lanes * std::size_t(l.cells[0]), plane = row * ny_;
    const std::array<std::size_t, 3> packed{Lanes, row, plane}, in_place{row, plane, plane * nz_};
    for (int f = 0; f < 6; ++f) {
      chunk_start_[f] = input.faces[f].values;
      step_[f] = input.faces[f].packed ? packed[f / 2] : in_place[f / 2];
    }
  }
  void start_chunk() {
    for (int f = 0; f < 6; ++f) at_[f] = chunk_start_[f];
    for (int f = 0; f < 6; ++f) chunk_start_[f] += step_[f] * (f < 2 ? ny_ * nz_ : f < 4 ? nz_ : 1);
  }
  /// In the present plane: the first cell of face f (0, 1), the row of face f (2, 3). At any time the first row of face
  /// 4, 5.
  [[nodiscard]] const double* at(int f) const { return at_[f]; }
  /// From a cell of face f (0, 1) to that of the next row.
  [[nodiscard]] std::size_t step_y(int f) const { return step_[f]; }
  void next_plane() {
    for (int f = 0; f < 4; ++f) at_[f] += step_[f] * (f < 2 ? ny_ : 1);
  }

 private:
  std::size_t ny_, nz_;
  std::array<const double*, 6> chunk_start_{}, at_{};
  /// Across x from row to row, across y from plane to plane, across z from chunk to chunk.
  std::array<std::size_t, 6> step_{};
};

}  // namespace amrbench::kernels::detail
