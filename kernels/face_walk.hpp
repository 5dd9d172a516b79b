#pragma once
// How the kernels of average7 find their way along the faces of a run of chunks. Included by average7*.hpp only.
#include <array>

#include "kernels/average7.hpp"

namespace amrbench::kernels::detail {

/// Where the six faces lie, chunk by chunk and plane by plane; rows are found by adding, never by multiplying.
template <int Lanes>
class FaceWalk {
 public:
  FaceWalk(const ChunkInput& input, const BlockLayout& l) {
    const std::size_t row = Lanes * std::size_t(l.cells[0]), plane = row * l.cells[1];
    const std::array<std::size_t, 3> packed{Lanes * std::size_t(l.cells[1]) * l.cells[2], row * l.cells[2], plane};
    for (int f = 0; f < 6; ++f) {
      const FaceView& face = input.faces[f];
      chunk_start_[f] = face.values;
      step_chunk_[f] = face.packed ? packed[f / 2] : plane * l.cells[2];
      if (f < 4) step_z_[f] = !face.packed ? plane : f < 2 ? std::size_t(Lanes) * l.cells[1] : row;
      if (f < 2) step_y_[f] = face.packed ? Lanes : row;
    }
  }
  void start_chunk() {
    for (int f = 0; f < 6; ++f) at_[f] = chunk_start_[f];
    for (int f = 0; f < 6; ++f) chunk_start_[f] += step_chunk_[f];
  }
  /// In the present plane: the first cell of face f (0, 1), the row of face f (2, 3). At any time the first row of face
  /// 4, 5.
  [[nodiscard]] const double* at(int f) const { return at_[f]; }
  /// From a cell of face f (0, 1) to that of the next row.
  [[nodiscard]] std::size_t step_y(int f) const { return step_y_[f]; }
  void next_plane() {
    for (int f = 0; f < 4; ++f) at_[f] += step_z_[f];
  }

 private:
  std::array<const double*, 6> chunk_start_{}, at_{};
  std::array<std::size_t, 2> step_y_{};
  std::array<std::size_t, 4> step_z_{};
  std::array<std::size_t, 6> step_chunk_{};
};

}  // namespace amrbench::kernels::detail
