#pragma once
// What kernels of faces do once they know which cells a job reads and where they go. Included by faces_cuda.cu and
// wide_faces_cuda.cu.
//
// A job of one chunk has few values, from some ten to some thousand, and the next one others: a warp takes a stretch of
// a job, divides by multiplication, and has several loads on their way at a time.
#include "kernels/divider.hpp"

namespace amrbench::kernels::face_move {

inline constexpr int kWarp = 32, kWarps = 4, kStretch = 8 * kWarp, kResident = 8;

/// Cells a row, and all, of a piece.
struct Cells {
  Cells() = default;
  Cells(int na, int nb) : a(na), all(na * nb), by_a(na) {}
  int a = 0, all = 0;
  Divider by_a;
};

/// Cells in a plane, from one on.
template <class Value>
struct alignas(16) Plane {
  Value* at;
  int a, b;  ///< steps
  [[nodiscard]] __device__ Value* cell(int ia, int ib) const { return at + ia * a + ib * b; }
};
using From = Plane<const double>;

/// Fine values before a coarse cell.
struct Four {
  double v00, v01, v10, v11;
};

/// What a thread moves: values [begin, end) of so many cells from its warp's stretch, to the target.
struct Stretch {
  int begin, end, thread;
  Cells cells;
  Divider by_lanes;
  Plane<double> to;
};

/// Puts finish(load(a, b, lane)) there. AtOnce loads of a thread are on their way at a time.
template <int AtOnce, class Load, class Finish>
__device__ void move(const Stretch& s, const Load& load, const Finish& finish) {
#pragma unroll 1
  for (int k = s.begin; k < s.end; k += AtOnce * kWarp) {
    decltype(load(0, 0, 0)) loaded[AtOnce];
    double* at[AtOnce];
#pragma unroll
    for (int j = 0; j < AtOnce; ++j) {
      if (k + j * kWarp >= s.end) break;
      const int here = min(k + j * kWarp + s.thread, s.end - 1), cell = s.by_lanes(here);
      const int lane = here - cell * s.by_lanes.divisor, b = s.cells.by_a(cell), a = cell - b * s.cells.a;
      loaded[j] = load(a, b, lane);
      at[j] = s.to.cell(a, b) + lane;
    }
#pragma unroll
    for (int j = 0; j < AtOnce; ++j)
      if (k + j * kWarp + s.thread < s.end) *at[j] = finish(loaded[j]);
  }
}

/// Thread blocks for so many jobs, each of so many chunks of at most `most` values: blockIdx.y is the chunk, blockIdx.z
/// the stretch.
inline dim3 grid_of(int jobs, int chunks, int most) {
  return {static_cast<unsigned int>((jobs + kWarps - 1) / kWarps), static_cast<unsigned int>(chunks),
          static_cast<unsigned int>((most + kStretch - 1) / kStretch)};
}

}  // namespace amrbench::kernels::face_move
